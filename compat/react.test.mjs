// The published React hooks on a page of ours: two tabs, one counter.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium, startBrowser } from "./lib/browser.mjs";
import { startServer } from "./lib/server.mjs";

const { build } = createRequire(new URL("../package.json", import.meta.url))("esbuild");

const APP = `
  import { createElement as h, useState } from "react";
  import { createRoot } from "react-dom/client";
  import { createRivetKit } from "@rivetkit/react";

  const { useActor } = createRivetKit({ endpoint: window.ENDPOINT, encoding: window.ENCODING });

  function Counter() {
    const [count, setCount] = useState("?");
    const counter = useActor({ name: "ledger", key: ["react", window.ENCODING] });
    counter.useEvent("count", (now) => setCount(String(now)));
    return h("main", null,
      h("output", { id: "count" }, count),
      h("span", { id: "status" }, counter.connStatus),
      h("button", { id: "add", onClick: () => counter.connection?.add() }, "+"));
  }
  createRoot(document.getElementById("root")).render(h(Counter));
`;

async function bundle() {
  const { outputFiles } = await build({
    stdin: { contents: APP, resolveDir: fileURLToPath(new URL(".", import.meta.url)), loader: "js" },
    bundle: true,
    write: false,
    platform: "browser",
    format: "iife",
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "error",
  });
  return outputFiles[0].text;
}

/** Serves the page; its query says which encoding it speaks. */
async function servePage(t, endpoint) {
  const script = await bundle();
  const pages = createServer((request, response) => {
    const { searchParams } = new URL(request.url, "http://page");
    const globals = { ENDPOINT: endpoint, ENCODING: searchParams.get("encoding") };
    const assign = Object.entries(globals).map(([name, value]) => `window.${name}=${JSON.stringify(value)};`);
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    response.end(
      `<div id="root"></div><script>${assign.join("")}${script.replaceAll("</script", "<\\/script")}</script>`,
    );
  });
  pages.listen(0, "127.0.0.1");
  await once(pages, "listening");
  t.after(() => {
    pages.closeAllConnections();
    pages.close();
  });
  return `http://127.0.0.1:${pages.address().port}/`;
}

const text = (id) => `document.getElementById('${id}').textContent`;
const skip = !chromium && "no Chromium on this machine";

for (const encoding of ["bare", "cbor", "json"]) {
  test(`two tabs share a counter through the React hooks (${encoding})`, { skip, timeout: 120_000 }, async (t) => {
    const browser = await startBrowser(t);
    const server = await startServer();
    t.after(async () => assert.equal(await server.stop(), 0));
    const page = `${await servePage(t, server.url)}?encoding=${encoding}`;
    const tabs = [await browser.tab(page), await browser.tab(page)];
    for (const tab of tabs) await tab.until(text("status"), "connected");
    await tabs[0].run("document.getElementById('add').click()");
    for (const tab of tabs) await tab.until(text("count"), "1");
    await tabs[1].run("document.getElementById('add').click()");
    for (const tab of tabs) await tab.until(text("count"), "2");
  });
}
