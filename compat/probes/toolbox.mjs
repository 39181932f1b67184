// What probes are written with: a client of one encoding, keys of their own, and
// answers turned into values that can be written down.

import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "rivetkit/client";

/** The one argument of every probe. */
export function toolbox(endpoint, encoding) {
  const client = createClient({ endpoint, encoding });
  let keys = 0;
  return {
    endpoint,
    encoding,
    client,
    port: new URL(endpoint).port,
    key: () => [`probe-${encoding}-${++keys}`],
    /** Resolves with the time at which the actor fell asleep. */
    asleep: (id) =>
      until(
        async () => {
          const response = await fetch(`${endpoint}/actors?namespace=default&actor_ids=${id}`);
          return (await response.json()).actors?.[0]?.sleep_ts;
        },
        (time) => typeof time === "number",
      ),
    /** Address of an actor as the client makes it for a key. */
    url: (name, key, path) =>
      `${endpoint}/gateway/${name}${path}?rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default&rvt-key=${key}&rvt-crash-policy=sleep`,
    dispose: () => client.dispose(),
  };
}

/** What every actor's inspector asks for where the registry is set up for tests. */
export const INSPECTOR_TOKEN = "token";

export const err = (error) => ({
  error: [error?.group ?? error?.constructor?.name, error?.code ?? null, error?.message, error?.metadata ?? null],
});

/** What a promise resolves with, or its rejection as a value. */
export const catching = (promise) => Promise.resolve(promise).then((value) => value, err);

/** Asks `probe` until its answer is `good`; an answer that never is shows as `timedOut`. */
export async function until(probe, good, patience = 20_000) {
  for (const end = Date.now() + patience; ; await pause(25)) {
    const value = await probe();
    if (good(value)) return value;
    if (Date.now() > end) return { timedOut: value };
  }
}

/** A response as status, type and body. */
export async function httpJson(promise) {
  const response = await promise;
  const text = await response.text();
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    body = text.slice(0, 200);
  }
  return { status: response.status, ct: response.headers.get("content-type"), body };
}

/**
 * Disposes of a connection, and lets go of one that never says that it closed:
 * the WebSocket of Node.js 22 tells nobody that it was closed while connecting,
 * which a client that reconnects just now waits for.
 */
export const dispose = (connection) => Promise.race([catching(connection.dispose()), pause(1_000)]);

/** A raw WebSocket with what it heard. */
export async function wsOpen(handle, path, protocols) {
  const ws = await handle.webSocket(path, protocols);
  const msgs = [];
  let closed;
  ws.addEventListener("message", ({ data }) =>
    msgs.push(typeof data === "string" ? data : `bin${data.byteLength ?? data.size}`),
  );
  ws.addEventListener("close", ({ code, reason }) => {
    closed = [code, reason];
  });
  return { ws, msgs, closed: () => closed };
}

/** JSON of an answer without what differs from run to run. */
export function scrubbed(value) {
  const text = JSON.stringify(value ?? null, (_, each) => (typeof each === "bigint" ? `${each}n` : each));
  return JSON.parse(
    text
      .replace(/[a-z0-9]{27}l00/g, "ACTOR")
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}/g, "UUID")
      .replace(/probe-(bare|json)-\d+/g, "KEY")
      .replace(/127\.0\.0\.1:\d+/g, "HOST")
      .replace(/\b1[6-9]\d{11}\b/g, "0"),
  );
}
