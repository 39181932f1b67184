import { readdirSync, readFileSync } from "node:fs";
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

const chunks = join(import.meta.dirname, "../lib/client/browser");

/** A file and all that it imports, statically. */
function withImports(path: string, seen = new Map<string, Buffer>()): Map<string, Buffer> {
  if (seen.has(path)) return seen;
  const code = readFileSync(path);
  seen.set(path, code);
  for (const [, name] of code.toString().matchAll(/(?:from|import)"([^"]+)"/g)) {
    withImports(join(path, "..", name as string), seen);
  }
  return seen;
}

const chunk = (name: string) => join(chunks, readdirSync(chunks).find((file) => file.startsWith(`${name}-`)) as string);

const sizes = (files: Map<string, Buffer>) => ({
  minified: [...files.values()].reduce((sum, code) => sum + code.length, 0),
  gzipped: gzipSync(Buffer.concat([...files.values()]), { level: 9 }).length,
});

test("what a page loads of the client names nothing of Node.js and stays small", () => {
  const all = new Map<string, Buffer>();
  for (const path of [file, ...readdirSync(chunks).map((name) => join(chunks, name))]) withImports(path, all);
  expect(Buffer.concat([...all.values()]).toString()).not.toMatch(/node:|require\(/);
  const entry = sizes(withImports(file));
  const usual = sizes(withImports(chunk("bare"), withImports(file)));
  const everything = sizes(all);
  // Kilobytes as users read them, of 1,000 bytes. What docs/connections.md says.
  expect(entry.minified, "the entry").toBeLessThan(25_000);
  expect(usual.minified, "with the default encoding").toBeLessThan(42_000);
  expect(everything.minified, "all of it").toBeLessThan(46_000);
  expect(usual.gzipped, "on the wire").toBeLessThan(15_000);
});

test("a page loads the encoding that it uses, and no other", () => {
  const entry = Buffer.concat([...withImports(file).values()]).toString();
  // Words of the codecs: a `$` tag, and a message of the connection protocol.
  expect(entry).not.toContain("$BigInt");
  expect(entry).not.toContain("SubscriptionRequest");
  expect(Buffer.concat([...withImports(chunk("bare")).values()]).toString()).not.toContain("SubscriptionRequest");
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
