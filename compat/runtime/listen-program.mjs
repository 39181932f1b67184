// The published package with a server of its runtime's. The folder beside the data
// holds static files; the mode comes from the environment.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setup } from "rivetkit";
import { counter } from "./counter.mjs";

const publicDir = join(process.env.RIVETKIT_STORAGE_PATH, "public");
mkdirSync(publicDir, { recursive: true });
writeFileSync(join(publicDir, "page.html"), "<h1>page</h1>");

let gone;
const leaving = new Promise((resolve) => {
  gone = resolve;
});

async function application(request) {
  const { pathname, search, host, protocol } = new URL(request.url);
  if (pathname === "/echo") {
    const body = await request.text();
    const headers = { "x-seen": `${request.method} ${protocol}//${host}${search}` };
    return new Response(body, { status: 201, headers });
  }
  if (pathname === "/forever") {
    request.signal.addEventListener("abort", () => gone("the client left"));
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("first")) });
    return new Response(body);
  }
  if (pathname === "/left") return new Response(await leaving);
  if (pathname === "/throws") throw new Error("not today");
  return new Response("application");
}

const registry = setup({ use: { counter }, noWelcome: true, startServices: false });
const port = Number(process.env.LISTEN_PORT);
const listening = registry.listen({ port, host: "127.0.0.1", publicDir, application: { fetch: application } });
const up = async () => (await fetch(`http://127.0.0.1:${port}/anything`).catch(() => undefined))?.ok;
while (!(await up())) await new Promise((resolve) => setTimeout(resolve, 20));
process.send({ port });

process.on("message", async () => {
  process.disconnect();
  await registry.shutdown();
  await listening;
});
