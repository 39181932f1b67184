import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { type BuildResult, build } from "esbuild";
import { beforeAll, describe, expect, test } from "vitest";
import { greenroom, served } from "./fixtures/greenroom";

const root = resolve(import.meta.dirname, "..");
const file = join(root, "lib/client/browser.mjs");
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

type Bundle = BuildResult<{ metafile: true; write: false }>;

/** The files a page has loaded that used these parts of a bundle; all of them without any. */
function files({ metafile: { outputs }, outputFiles }: Bundle, ...used: string[]): string[] {
  const paths = new Set<string>();
  const load = (path: string) => {
    if (paths.has(path)) return;
    paths.add(path);
    for (const { path: next, kind } of outputs[path]?.imports ?? []) if (kind === "import-statement") load(next);
  };
  for (const path of Object.keys(outputs)) {
    const isUsed = path.endsWith("/browser.mjs") || used.some((name) => path.includes(`/browser/${name}-`));
    if (used.length === 0 || isUsed) load(path);
  }
  return [...paths].map((path) => {
    const file = outputFiles.find((out) => out.path === join(root, path));
    if (!file) throw new Error(`${path} is missing`);
    return file.text;
  });
}

/** The same as one text. */
const loaded = (bundle: Bundle, ...used: string[]) => files(bundle, ...used).join("");

describe("what a page loads of the client", () => {
  let bundle: Bundle;
  beforeAll(async () => {
    const { bundleBrowserClient } = (await import(/* @vite-ignore */ join(root, "scripts/lib/browser-bundle.mjs"))) as {
      bundleBrowserClient(options: { write: false }): Promise<Bundle>;
    };
    bundle = await bundleBrowserClient({ write: false });
  });

  // Bytes: what docs/connections.md says, with room for a row of a table more, and for other versions
  // of zlib. Raise one only for what is worth it to every page; the client itself stays below 15,000.
  test.each([
    ["itself", ["browser"], 15_000, 6_650, 6_050],
    ["with JSON", ["json"], 21_950, 10_050, 9_050],
    ["with JSON and connections", ["json", "sockets"], 25_400, 12_000, 10_850],
    ["with CBOR and connections", ["cbor", "sockets"], 31_800, 14_700, 13_300],
    ["with its default encoding", ["bare"], 29_450, 13_150, 11_900],
    ["with its default encoding and connections", ["bare", "sockets"], 32_900, 15_100, 13_700],
    ["with everything there is", [], 39_000, 18_550, 16_750],
  ])("is small: the client %s", (_, used, minified, gzipped, brotli) => {
    const texts = files(bundle, ...used);
    const sum = (sizeOf: (text: string) => number) => texts.reduce((sum, text) => sum + sizeOf(text), 0);
    expect(sum(Buffer.byteLength), "minified").toBeLessThanOrEqual(minified);
    expect(
      sum((text) => gzipSync(text, { level: 9 }).length),
      "with gzip",
    ).toBeLessThanOrEqual(gzipped);
    expect(
      sum((text) => brotliCompressSync(text).length),
      "with Brotli",
    ).toBeLessThanOrEqual(brotli);
  });

  test("names nothing of Node.js", () => {
    expect(loaded(bundle)).not.toMatch(/node:|require\(|Buffer\.from|process/);
  });

  test("is the encoding that it uses, and no other; and neither sockets, raw requests nor the endpoint's API before they are used", () => {
    // Words of the codecs: a `$` tag, and a message of the connection protocol.
    const [itself, bare, json] = [["browser"], ["bare"], ["json"]].map((used) => loaded(bundle, ...used));
    expect(itself).not.toContain("$BigInt");
    expect(bare).toContain("$BigInt");
    expect(bare).not.toContain("SubscriptionRequest");
    expect(json).toContain("SubscriptionRequest");
    for (const text of [itself, bare, json]) {
      expect(text).not.toContain("crash_policy");
      expect(text).not.toContain("_conn_params");
      expect(text).not.toContain("connection_lost");
      expect(text).not.toContain("original-request-url");
    }
  });

  test("comes in two files, and an encoding in at most four more", () => {
    const count = (used: string) => loaded(bundle, used).match(/export\{/g)?.length;
    expect(count("browser")).toBe(2);
    for (const encoding of ["bare", "cbor", "json"]) expect(count(encoding)).toBeLessThanOrEqual(6);
  });

  test("stays small in a program's own bundle, whether that is split or not", async () => {
    const own = async (splitting: boolean) => {
      const { metafile, outputFiles } = await build({
        stdin: {
          contents: `import { createClient } from "./lib/client/browser.mjs"; createClient().counter.get("a").add(1);`,
          resolveDir: root,
        },
        bundle: true,
        minify: true,
        splitting,
        format: "esm",
        outdir: "out",
        absWorkingDir: root,
        metafile: true,
        write: false,
      });
      const outputs = Object.fromEntries(
        Object.entries(metafile.outputs).map(([path, output]) => [
          path.replace("out/stdin.js", "out/browser.mjs"),
          output,
        ]),
      );
      const files = outputFiles.map(({ path, text }) => ({ path: path.replace("stdin.js", "browser.mjs"), text }));
      return loaded({ metafile: { outputs }, outputFiles: files } as Bundle, "browser").length;
    };
    expect(await own(true)).toBeLessThan(14_950);
    expect(await own(false)).toBeLessThan(38_250);
  });
});

test("the client's file for pages calls and connects in every encoding", async () => {
  const { createClient } = (await import(/* @vite-ignore */ file)) as typeof import("../ts/client/index");
  const { url } = await served({ counter });
  for (const encoding of ["bare", "cbor", "json"] as const) {
    const client = createClient<any>(url, { encoding, WebSocket: NodeSocket });
    // A comma in the key: asked for by way of the endpoint's API.
    const handle = client.counter.getOrCreate([encoding, "a,b"], { createWithInput: { any: 1n } });
    expect(await handle.add(1), encoding).toBe(1);
    const conn = handle.connect();
    const counted = new Promise((resolve) => conn.once("count", resolve));
    expect(await conn.add(2)).toBe(3);
    expect(await counted).toBe(3);
    expect((await handle.fetch("/nowhere")).status).toBe(404);
    await client.dispose();
  }
});
