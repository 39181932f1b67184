// HTTP load over raw sockets: one request in flight on each of `connections`
// keep-alive connections, for `seconds`. Far cheaper than node:http as a client,
// so that the figure is the server's. Sends `{ perSecond }` to its parent.

import { connect } from "node:net";

const [address, connections, seconds, body] = process.argv.slice(2);
const url = new URL(address);
const REQUEST = Buffer.from(
  [
    `POST ${url.pathname}${url.search} HTTP/1.1`,
    `host: ${url.host}`,
    "content-type: application/json",
    "x-rivet-encoding: json",
    `content-length: ${Buffer.byteLength(body)}`,
    "",
    body,
  ].join("\r\n"),
);

/** Length of the first complete response in `text`, or 0 while it is incomplete. */
function responseLength(text) {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return 0;
  const headers = text.slice(0, head).toLowerCase();
  if (!headers.startsWith("http/1.1 200")) throw new Error(`unexpected answer: ${text}`);
  const length = /content-length: (\d+)/.exec(headers);
  const end = length ? head + 4 + Number(length[1]) : text.indexOf("0\r\n\r\n", head) + 5;
  return end > head + 4 && text.length >= end ? end : 0;
}

let answered = 0;
let deadline = Number.POSITIVE_INFINITY;

function connection() {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
    let text = "";
    socket.on("connect", () => socket.write(REQUEST));
    socket.on("error", reject);
    socket.on("close", resolve);
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      try {
        if (responseLength(text) === 0) return;
      } catch (error) {
        reject(error);
        return;
      }
      text = "";
      answered += 1;
      if (performance.now() >= deadline) socket.destroy();
      else socket.write(REQUEST);
    });
  });
}

const all = Promise.all(Array.from({ length: Number(connections) }, connection));
// The first second warms both sides up and is not counted.
await Promise.race([new Promise((resolve) => setTimeout(resolve, 1000)), all]);
answered = 0;
const since = performance.now();
deadline = since + Number(seconds) * 1000;
await all;
process.send({ perSecond: answered / ((performance.now() - since) / 1000) });
process.disconnect();
