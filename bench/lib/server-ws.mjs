// The counterpart of the socket figures: an echo, and a fan-out, written with the
// `ws` package and nothing else.

import { WebSocketServer } from "ws";
import { action } from "./sockets.mjs";

const BURST = /"burst","args":\[(\d+)\]/;
const ANSWER = action(0, "ActionResponse");

const server = new WebSocketServer({
  port: 0,
  host: "127.0.0.1",
  perMessageDeflate: false,
  handleProtocols: () => "rivet",
});

server.on("connection", (socket) => {
  socket.on("message", (data) => {
    const burst = BURST.exec(data);
    if (burst === null) {
      socket.send(data.toString());
      return;
    }
    for (let at = 0; at < Number(burst[1]); at++) {
      const event = JSON.stringify({ body: { tag: "Event", val: { name: "tick", args: [at] } } });
      for (const client of server.clients) client.send(event);
    }
    socket.send(ANSWER);
  });
});
server.on("listening", () => process.send({ url: `ws://127.0.0.1:${server.address().port}/` }));
process.on("message", () => {
  for (const client of server.clients) client.terminate();
  server.close(() => process.disconnect());
});
