// Serves the page and the rooms from one process until it is told to stop.
// `GREENROOM_PORT` and `CHAT_PORT` pick other ports (0: any free one),
// `GREENROOM_DATA_DIR` another data directory.

import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { registry } from "./registry.mjs";

const here = (path) => new URL(path, import.meta.url);
const client = createRequire(import.meta.url).resolve("greenroom/package.json");
const PAGES = {
  "/": [here("public/index.html"), "text/html; charset=utf-8"],
  "/chat.mjs": [here("public/chat.mjs"), "text/javascript"],
  "/client/browser.mjs": [new URL("lib/client/browser.mjs", `file://${client}`), "text/javascript"],
};
// What the client loads when it needs it lies beside it.
const chunks = new URL("lib/client/browser/", `file://${client}`);
for (const name of await readdir(chunks)) {
  PAGES[`/client/browser/${name}`] = [new URL(name, chunks), "text/javascript"];
}

const { url } = await registry.listen({
  port: Number(process.env.GREENROOM_PORT ?? 6420),
  dataDir: process.env.GREENROOM_DATA_DIR ?? ".greenroom-chat",
});

const pages = createServer(async (request, response) => {
  const { pathname } = new URL(request.url, "http://page");
  if (pathname === "/config.json") {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ rooms: url }));
    return;
  }
  const [file, type] = PAGES[pathname] ?? [];
  if (file === undefined) response.writeHead(404).end();
  else response.writeHead(200, { "content-type": type }).end(await readFile(file));
});

pages.listen(Number(process.env.CHAT_PORT ?? 8080), "127.0.0.1", () => {
  console.log(`The chat is at http://127.0.0.1:${pages.address().port} (open it twice), its rooms at ${url}`);
});

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    pages.close();
    pages.closeAllConnections();
    await registry.shutdown();
  });
}
