// The client for browsers: the file that a page loads, browser.mjs, and beside it
// in browser/ what it loads when it needs it. Built by scripts/bundle.mjs, and
// by the test that watches its size.

import { resolve } from "node:path";
import { build } from "esbuild";

const root = resolve(import.meta.dirname, "../..");

/** Bundles it; esbuild's answer, with the files if they are not written. */
export function bundleBrowserClient({ write }) {
  return build({
    absWorkingDir: root,
    entryPoints: { browser: "ts/client/browser.ts" },
    outdir: "lib/client",
    outExtension: { ".js": ".mjs" },
    chunkNames: "browser/[name]-[hash]",
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    // What only Node.js has is not looked for.
    define: { "globalThis.Buffer": "undefined" },
    logLevel: "warning",
    metafile: true,
    write,
  });
}
