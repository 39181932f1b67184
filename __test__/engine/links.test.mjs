// What becomes of actors when processes, the engine and the way between them fail.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { clientOf, engine, eventually, member, persist, temporaryFolder } from "./pool.mjs";

/** A way to the engine that can be cut and mended. */
async function wayTo(t, endpoint, listen = createServer) {
  const { port } = new URL(endpoint);
  const open = new Set();
  let whole = true;
  const server = listen((near) => {
    if (!whole) return near.destroy();
    const far = connect(Number(port), "127.0.0.1");
    open.add(near);
    const end = () => {
      open.delete(near);
      near.destroy();
      far.destroy();
    };
    for (const [from, to] of [
      [near, far],
      [far, near],
    ]) {
      from.setNoDelay(true);
      from.on("error", end).on("close", end).pipe(to);
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    whole = false;
    for (const socket of open) socket.destroy();
  };
  t.after(() => {
    cut();
    server.close();
  });
  const mend = () => {
    whole = true;
  };
  return { endpoint: `http://127.0.0.1:${server.address().port}`, cut, mend };
}

test("a way that is cut for moments changes nothing but the time that calls take", async (t) => {
  const { endpoint } = await engine(t);
  const way = await wayTo(t, endpoint);
  const process = await member(t, way.endpoint);
  const handle = clientOf(t, endpoint).counter.getOrCreate("cut");
  await persist("an answer", () => handle.add(1));
  way.cut();
  const during = persist("a call that began meanwhile", () => handle.get());
  way.mend();
  assert.equal(await during, 1);
  // A save that was under way may have ended the generation; the next one knows.
  const before = await handle.get();
  assert.equal(await persist("it saves", () => handle.add(1)), before + 1);
  assert.equal(await process.leave(), 0);
});

test("an engine that dies and comes back finds its actors and what they saved", async (t) => {
  const { endpoint, kill, start } = await engine(t);
  const process = await member(t, endpoint);
  const handle = clientOf(t, endpoint).counter.getOrCreate("survives");
  await persist("an answer", () => handle.add(7));
  const writing = handle.write(process.pid).catch(() => {});
  await eventually("it writes", () => process.said.some(({ saved }) => saved > 20));
  await kill();
  await start();
  await eventually("the save that was under way fails", () => process.said.some(({ failed }) => failed));
  await writing;
  const acknowledged = Math.max(...process.said.map(({ saved }) => saved ?? 0));
  const found = await persist("it answers again", () => handle.get());
  assert(found === acknowledged || found === acknowledged + 1, `${found} of ${acknowledged}`);
  assert.equal(await handle.add(1), found + 1);
  assert.equal(await process.leave(), 0);
});

test("a process that was stopped writes nothing once its actor lives elsewhere", async (t) => {
  const { endpoint } = await engine(t);
  const first = await member(t, endpoint);
  const handle = clientOf(t, endpoint).counter.getOrCreate("moves");
  assert.equal(await persist("an answer", () => handle.where()), first.pid);
  handle.write(first.pid).catch(() => {});
  await eventually("it writes", () => first.said.some(({ saved }) => saved > 20));
  first.freeze();
  const acknowledged = Math.max(...first.said.map(({ saved }) => saved ?? 0));
  const second = await member(t, endpoint);
  assert.equal(await persist("it lives elsewhere", () => handle.where()), second.pid);
  const kept = await handle.get();
  assert(kept >= acknowledged, `${kept} of ${acknowledged}`);
  assert.equal(await handle.add(1_000_000_000), kept + 1_000_000_000);

  const before = first.said.length;
  first.thaw();
  await eventually("the first one hears of it", () => first.said.some(({ failed }) => failed));
  const late = first.said.slice(before).filter(({ saved }) => saved > kept);
  assert.deepEqual(late, [], "no save was acknowledged after the actor had moved");
  assert.equal(await handle.get(), kept + 1_000_000_000);
  assert.equal(await persist("it is where it was", () => handle.where()), second.pid);
  assert.equal(await first.leave(), 0);
  assert.equal(await second.leave(), 0);
});

test("after a minute without its engine a process takes part again", { timeout: 240_000 }, async (t) => {
  const { endpoint } = await engine(t);
  const way = await wayTo(t, endpoint);
  const process = await member(t, way.endpoint);
  const handle = clientOf(t, endpoint).counter.getOrCreate("long");
  await persist("an answer", () => handle.add(1));
  way.cut();
  await new Promise((resolve) => setTimeout(resolve, 60_000));
  way.mend();
  assert.equal(await persist("an answer", () => handle.add(1)), 2);
  assert.equal(await handle.where(), process.pid);
  assert.equal(await process.leave(), 0);
});

test("an endpoint with TLS is reached if its certificate is trusted, and only then", async (t) => {
  const { endpoint } = await engine(t);
  const folder = temporaryFolder(t);
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const subject = [...name, "-addext", "basicConstraints=critical,CA:FALSE"];
  const request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", cert];
  execFileSync("openssl", [...request, ...subject], { stdio: "ignore" });
  const options = { key: readFileSync(key), cert: readFileSync(cert) };
  const way = await wayTo(t, endpoint, (serve) => createTlsServer(options, serve));
  const secure = `https://localhost:${new URL(way.endpoint).port}`;
  await assert.rejects(member(t, secure), /ended with 1/);
  const process = await member(t, secure, { env: { SSL_CERT_FILE: cert } });
  const handle = clientOf(t, endpoint).counter.getOrCreate("secure");
  assert.equal(await persist("an answer", () => handle.add(1)), 1);
  assert.equal(await process.leave(), 0);
});
