// The client as one file for pages that have no bundler: lib/client/browser.mjs.

import { build } from "esbuild";

await build({
  entryPoints: ["ts/client/index.ts"],
  outfile: "lib/client/browser.mjs",
  bundle: true,
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
