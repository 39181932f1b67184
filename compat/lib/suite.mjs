// What every test file of the suite shares: one server, one client per encoding.

import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { createClient } from "rivetkit/client";
import { CAME_TOO_LATE, onEngine } from "./host.mjs";
import { startServer } from "./server.mjs";

/** `undefined` stands for what a client does that names no encoding. */
export const ENCODINGS = [undefined, "bare", "cbor", "json"];

/**
 * Runs `define` once per encoding inside one `describe` each, with a function
 * that gives the client once the tests run, and one that makes keys unlike
 * those of any other test.
 */
export function inEachEncoding(title, define) {
  describe(title, () => {
    let server;
    before(async () => {
      server = await startServer();
    });
    after(async () => {
      assert.equal(await server.stop(), 0, "the server leaves with exit code 0");
    });
    for (const encoding of ENCODINGS) {
      describe(encoding ?? "default encoding", () => {
        let client;
        let keys = 0;
        before(() => {
          client = createClient({ endpoint: server.url, ...(encoding ? { encoding } : {}) });
        });
        after(() => client.dispose());
        define({
          encoding,
          client: () => client,
          key: () => [`${encoding ?? "default"}-${keys++}`],
          url: () => server.url,
        });
      });
    }
  });
}

/** Asserts that `promise` rejects with an error of this group and code, and gives it. */
export async function rejection(promise, group, code) {
  const error = await promise.then(
    (value) => assert.fail(`expected ${group}.${code}, but the call answered ${JSON.stringify(value)}`),
    (reason) => reason,
  );
  assert.equal(`${error.group}.${error.code}`, `${group}.${code}`, error.stack);
  return error;
}

/** Calls again, so often in all, while the call fails for a reason that passes. */
async function again(call, { times, pause = 0 }, passes) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (!passes(error) || attempt === times) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

const cameTooLate = ({ group, code }) => group === "envoy" && CAME_TOO_LATE.includes(code);

/** The handle of an actor that sleeps early, which asks again what came too late. */
export const patient = (handle) =>
  new Proxy(handle, {
    get(target, name) {
      return (...args) => again(async () => target[name](...args), { times: 20, pause: 100 }, cameTooLate);
    },
  });

/**
 * Calls an actor whose program was killed a moment ago. An engine that has not noticed
 * yet sends the call where nobody is, and answers with an error after a while.
 */
export const afterKillOnEngine = (call) => again(call, { times: 3 }, ({ code }) => code === "internal_error");

/** The same on either host: the embedded one has no such while. */
export const afterKill = onEngine ? afterKillOnEngine : (call) => call();
