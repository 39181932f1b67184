// Our own client on a page without a bundler, which is offline when it first needs a part of it.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium, startBrowser } from "./lib/browser.mjs";
import { startServer } from "./lib/server.mjs";

const CLIENT = fileURLToPath(new URL("../lib/client/", import.meta.url));

const PAGE = (endpoint, encoding) => `<output id="count"></output><script type="module">
  import { createClient } from "/browser.mjs";
  const client = createClient(${JSON.stringify(endpoint)}, { encoding: ${JSON.stringify(encoding)} });
  window.handle = client.ledger.getOrCreate(["page", ${JSON.stringify(encoding)}]);
  window.connection = handle.connect();
  connection.on("count", (count) => { document.getElementById("count").textContent = count; });
  window.added = connection.add();
</script>`;

/** Serves the page and the client; answers no part of it before `online()`. */
async function servePage(t, page) {
  let isOnline = false;
  const refused = new Set();
  const pages = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://page");
    const isPart = /^\/browser\/(sockets|bare|cbor|json)-/.test(pathname);
    if (isPart && !isOnline) {
      refused.add(pathname);
      return request.socket.destroy();
    }
    const body = pathname === "/" ? page : await readFile(CLIENT + pathname).catch(() => undefined);
    response.writeHead(body ? 200 : 404, { "content-type": pathname === "/" ? "text/html" : "text/javascript" });
    response.end(body);
  });
  pages.listen(0, "127.0.0.1");
  await once(pages, "listening");
  t.after(() => {
    pages.closeAllConnections();
    pages.close();
  });
  const online = () => {
    isOnline = true;
  };
  return { url: `http://127.0.0.1:${pages.address().port}/`, refused, online };
}

const skip = !chromium && "no Chromium on this machine";

for (const encoding of ["bare", "json"]) {
  test(`a page connects once its parts can be loaded (${encoding})`, { skip, timeout: 120_000 }, async (t) => {
    const browser = await startBrowser(t);
    const server = await startServer();
    t.after(async () => assert.equal(await server.stop(), 0));
    const page = await servePage(t, PAGE(server.url, encoding));
    const tab = await browser.tab(page.url);
    await tab.until("window.connection?.connStatus", "disconnected");
    assert.ok(
      [...page.refused].some((path) => path.startsWith("/browser/sockets-")),
      "sockets were asked for",
    );
    const failed = "handle.add().then(() => 'no error', (error) => error.code + ' ' + error.retryable)";
    assert.equal(await tab.run(failed), "network_error true");
    page.online();
    await tab.until("window.connection.connStatus", "connected");
    assert.equal(await tab.run("added"), 1);
    assert.equal(await tab.run("handle.add()"), 2);
    await tab.until("document.getElementById('count').textContent", "2");
    await tab.run("connection.dispose()");
    assert.equal(await tab.run("connection.connStatus"), "idle");
  });
}
