// Waiting for what connections of the published client and the actors under them do.

import assert from "node:assert/strict";

/** Past this a test waits for something that will not come. */
const PATIENCE_MS = 10_000;

/** Resolves with what `start(resolve)` gives it, or fails with `what` after a while. */
export function eventually(what, start) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`nothing came of: ${what}`)), PATIENCE_MS);
    start((value) => {
      clearTimeout(timer);
      resolve(value);
    });
  });
}

/** The arguments of the next event of this name. */
export const nextEvent = (conn, name) =>
  eventually(`event ${name}`, (done) => conn.once(name, (...args) => done(args)));

/** Resolves once the connection has this status. */
export function status(conn, wanted) {
  if (conn.connStatus === wanted) return Promise.resolve();
  return eventually(`status ${wanted}`, (done) => {
    const stop = conn.onStatusChange((now) => {
      if (now !== wanted) return;
      stop();
      done();
    });
  });
}

export const nextError = (conn) => eventually("an error", (done) => conn.onError(done));

/** Calls until the answer satisfies the predicate, and gives it. */
export async function until(what, call, satisfies) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await call();
    if (satisfies(answer)) return answer;
    assert.ok(Date.now() < end, `${what}: still ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Resolves once the endpoint at `url` says that the actor sleeps. */
export const asleep = (url, id) =>
  until(
    "the actor sleeps",
    async () => (await fetch(`${url}/actors?namespace=default&actor_ids=${id}`)).json(),
    ({ actors }) => typeof actors[0].sleep_ts === "number",
  );

/** Ends connections when the test does, whatever it came to. */
export function closing(t, conn) {
  t.after(() => conn.dispose());
  return conn;
}

/** Counts how often a connection was lost since now. */
export function countCloses(conn) {
  let closes = 0;
  conn.onClose(() => closes++);
  return () => closes;
}
