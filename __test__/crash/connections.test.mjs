// Connected clients come back to a server that was killed, by themselves, and
// nothing acknowledged is lost with their sockets.

import assert from "node:assert/strict";
import test from "node:test";
import { startServer, temporaryFolder } from "./harness.mjs";

const CLIENTS = 100;

/** Resolves when the connection has this status. */
function status(conn, wanted) {
  if (conn.connStatus === wanted) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = conn.onStatusChange((now) => {
      if (now !== wanted) return;
      stop();
      resolve();
    });
  });
}

test(`${CLIENTS} connections outlive kill -9 of their server`, { timeout: 120_000 }, async (t) => {
  const dataDir = temporaryFolder(t);
  let server = await startServer(dataDir);
  t.after(() => server.kill());
  const { client, url } = server;
  t.after(() => client.dispose());
  const handle = client.saving.getOrCreate("crowd");
  const conns = Array.from({ length: CLIENTS }, () => handle.connect());
  await Promise.all(conns.map((conn) => conn.ready));
  const ids = new Set(conns.map((conn) => conn.connectionId));
  assert.equal(ids.size, CLIENTS);

  const lost = conns.map((conn) => status(conn, "disconnected"));
  const calls = conns.map((conn) => conn.increment(1));
  await Promise.race(calls);
  await server.kill();
  await Promise.all(lost);
  const outcomes = await Promise.allSettled(calls);
  const answers = outcomes.filter(({ status }) => status === "fulfilled").map(({ value }) => value);
  for (const { status, reason } of outcomes) {
    if (status === "rejected") assert.equal(`${reason.group}/${reason.code}`, "client/connection_lost");
  }
  // Asked while nobody is there: sent once somebody is.
  const waiting = conns[0].get();

  server = await startServer(dataDir, new URL(url).port);
  await Promise.all(conns.map((conn) => status(conn, "connected")));
  const count = await waiting;
  assert.ok(count >= Math.max(...answers), `${count} on disk, ${Math.max(...answers)} answered`);
  assert.ok(count <= CLIENTS);
  assert.ok(conns.every((conn) => !ids.has(conn.connectionId)));
  assert.equal(await conns[0].connected(), CLIENTS, "the dead connections are gone");

  const heard = conns.map((conn) => new Promise((resolve) => conn.once("count", resolve)));
  // A subscription has no answer; an action behind it has.
  await Promise.all(conns.map((conn) => conn.get()));
  await conns[0].increment(1);
  assert.deepEqual(new Set(await Promise.all(heard)), new Set([count + 1]));
});
