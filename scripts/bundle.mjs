// The client for browsers, for pages that have no bundler, too: the file that a
// page loads, lib/client/browser.mjs, and beside it in lib/client/browser/ what
// it loads when it needs it, foremost the encodings.

import { rm } from "node:fs/promises";
import { build } from "esbuild";

// Chunks are named by what is in them: older ones would stay.
await rm("lib/client/browser", { recursive: true, force: true });
await build({
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
  logLevel: "warning",
  plugins: [
    {
      name: "no Node.js in a browser",
      setup({ onResolve, onLoad }) {
        onResolve({ filter: /node-socket/ }, ({ path }) => ({ path, namespace: "absent" }));
        onLoad({ filter: /.*/, namespace: "absent" }, () => ({ contents: "export {};" }));
      },
    },
  ],
});
