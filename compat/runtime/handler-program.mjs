// The published package behind a server of the program's own.

import { createServer } from "node:http";
import { Readable } from "node:stream";
import { setup } from "rivetkit";
import { counter } from "./counter.mjs";

const registry = setup({ use: { counter }, noWelcome: true, startServices: false });

/** Node's request as the web's. */
function webRequest(request) {
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
  const hasBody = !["GET", "HEAD", "OPTIONS"].includes(request.method);
  return new Request(`http://${request.headers.host}${request.url}`, {
    method: request.method,
    headers,
    ...(hasBody && { body: Readable.toWeb(request), duplex: "half" }),
  });
}

const server = createServer(async (request, response) => {
  const answer = await registry.serve().fetch(webRequest(request));
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.end(Buffer.from(await answer.arrayBuffer()));
});
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));

process.on("message", async () => {
  process.disconnect();
  server.close();
  server.closeAllConnections();
  await registry.shutdown();
});
