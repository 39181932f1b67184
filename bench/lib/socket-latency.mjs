// One action after the other on one socket for `seconds`; sends the 99th
// percentile in milliseconds. With `ticks` it tells the actor to broadcast so
// many times a second meanwhile, over a socket of its own.

import { action, answered, connectUrl, open } from "./sockets.mjs";

const [base, seconds, ticks] = process.argv.slice(2);
const url = connectUrl(base, "counter", "crowd-0");
const socket = await open(url);
const other = await open(url);
const beat = Number(ticks) > 0 && setInterval(() => other.send(action(1, "burst", 1)), 1_000 / Number(ticks));

const spans = [];
const end = performance.now() + Number(seconds) * 1_000;
while (performance.now() < end) {
  const since = performance.now();
  const there = answered(socket);
  socket.send(action(0, "increment", 1));
  await there;
  spans.push(performance.now() - since);
}
clearInterval(beat || undefined);
socket.terminate();
other.terminate();
spans.sort((a, b) => a - b);
process.send({ p99: spans[Math.floor(spans.length * 0.99)] });
process.disconnect();
