import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { greenroom, served } from "./fixtures/greenroom";

const file = join(import.meta.dirname, "../lib/client/browser.mjs");
const { NodeSocket } = createRequire(import.meta.url)("../lib/client/node-socket.js") as { NodeSocket: never };

const counter = greenroom.actor({
  state: { count: 0 },
  actions: {
    add: (c, by: number) => {
      c.state.count += by;
      c.broadcast("count", c.state.count);
      return c.state.count;
    },
  },
});

test("the client's file for pages names nothing of Node.js and stays small", () => {
  const code = readFileSync(file);
  expect(code.toString()).not.toMatch(/node:|require\(|import\(/);
  expect(code.length).toBeLessThan(45 * 1024);
  expect(gzipSync(code, { level: 9 }).length).toBeLessThan(15 * 1024);
});

test("the client's file for pages calls and connects in every encoding", async () => {
  const { createClient } = (await import(/* @vite-ignore */ file)) as typeof import("../ts/client/index");
  const { url } = await served({ counter });
  for (const encoding of ["bare", "cbor", "json"] as const) {
    const client = createClient<any>(url, { encoding, WebSocket: NodeSocket });
    const handle = client.counter.getOrCreate(encoding, { createWithInput: { any: 1n } });
    expect(await handle.add(1), encoding).toBe(1);
    const conn = handle.connect();
    const counted = new Promise((resolve) => conn.once("count", resolve));
    expect(await conn.add(2)).toBe(3);
    expect(await counted).toBe(3);
    await client.dispose();
  }
});
