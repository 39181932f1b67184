// What clients make of an actor that is away for a moment: a host between two
// generations refuses, and the next attempt finds the actor.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { test } from "node:test";
import { createClient } from "rivetkit/client";
import { inEachEncoding, rejection } from "./lib/suite.mjs";

/** A port before the host that refuses the first `times` requests to actors. */
async function refusing(t, host, times, code) {
  const { hostname, port } = new URL(host);
  const seen = [];
  const front = createServer((asked, reply) => {
    const isForActor = asked.url.startsWith("/gateway/");
    if (isForActor) seen.push(asked.url);
    if (isForActor && seen.length <= times) {
      asked.resume();
      reply.writeHead(503, { "content-type": "application/json" });
      return reply.end(JSON.stringify({ group: "actor", code, message: "The actor is away", metadata: null }));
    }
    const { method, url: path, headers } = asked;
    const forwarded = request({ hostname, port, path, method, headers }, (answer) => {
      reply.writeHead(answer.statusCode, answer.headers);
      answer.pipe(reply);
    });
    asked.pipe(forwarded);
  }).listen(0, "127.0.0.1");
  await once(front, "listening");
  t.after(() => {
    front.close();
    front.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${front.address().port}`, seen };
}

inEachEncoding("an actor that is away for a moment", ({ encoding, client, key, url }) => {
  const through = (t, front) => {
    const made = createClient({ endpoint: front.url, ...(encoding ? { encoding } : {}) });
    t.after(() => made.dispose());
    return made;
  };

  test("refused twice as restarting, an action succeeds at its third attempt", async (t) => {
    const front = await refusing(t, url(), 2, "restarting");
    assert.equal(await through(t, front).counter.getOrCreate(key()).increment(4), 4);
    assert.equal(front.seen.length, 3);
  });

  test("and so it does by the actor's id", async (t) => {
    const id = await client().counter.getOrCreate(key()).resolve();
    const front = await refusing(t, url(), 2, "restarting");
    assert.equal(await through(t, front).counter.getForId(id).increment(5), 5);
    assert.equal(front.seen.length, 3);
  });

  test("what is refused for good is not asked again", async (t) => {
    const front = await refusing(t, url(), 1_000, "not_authorized");
    await rejection(through(t, front).counter.getOrCreate(key()).increment(1), "actor", "not_authorized");
    assert.equal(front.seen.length, 1);
  });
});
