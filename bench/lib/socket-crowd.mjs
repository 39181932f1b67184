// Holds `count` sockets spread over `actors` of greenroom until it is told to
// stop. Listens to nothing, or to ticks.

import { action, answered, connectUrl, openMany, subscribe } from "./sockets.mjs";

const [base, count, actors, listens] = process.argv.slice(2);
const sockets = await openMany(Number(count), (at) => connectUrl(base, "counter", `crowd-${at % Number(actors)}`));
if (listens === "yes") {
  const there = sockets.map(answered);
  for (const socket of sockets) {
    socket.send(subscribe("tick"));
    socket.send(action(0, "get"));
  }
  await Promise.all(there);
}
process.send({ url: base });
process.on("message", () => {
  for (const socket of sockets) socket.terminate();
  process.disconnect();
});
