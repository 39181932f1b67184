// The counterpart of the HTTP figure: node:http and JSON, nothing else.

import { createServer } from "node:http";

let count = 0;

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const { args } = JSON.parse(Buffer.concat(chunks).toString());
    count += args[0];
    const body = JSON.stringify({ output: count });
    response.writeHead(200, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    });
    response.end(body);
  });
});

server.listen(0, "127.0.0.1", () => {
  process.send({ url: `http://127.0.0.1:${server.address().port}/` });
});
process.on("message", () => {
  server.closeAllConnections();
  server.close(() => process.disconnect());
});
