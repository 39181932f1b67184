// Load on one server's sockets, in a process of its own; sends what it measured.
//   calls URL SECONDS IN_FLIGHT     actions per second on one socket
//   fanout URL SECONDS SOCKETS N    events delivered per second, N a burst

import { action, answered, open, openMany, subscribe } from "./sockets.mjs";

const [kind, url, seconds, ...rest] = process.argv.slice(2);
const WARM_MS = 1_000;
const LOAD = { calls, fanout };

async function calls(inFlight) {
  const socket = await open(url);
  let done = 0;
  let id = 0;
  const send = () => socket.send(action(id++, "increment", 1));
  socket.on("message", () => {
    done++;
    send();
  });
  for (let at = 0; at < inFlight; at++) send();
  await new Promise((resolve) => setTimeout(resolve, WARM_MS));
  done = 0;
  const since = performance.now();
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  const perSecond = done / ((performance.now() - since) / 1_000);
  socket.terminate();
  return perSecond;
}

async function fanout(count, burst) {
  const sockets = await openMany(count, () => url);
  let wanted = 0;
  let all;
  for (const socket of sockets) {
    socket.on("message", () => {
      if (--wanted === 0) all();
    });
    if (url.includes("/gateway/")) socket.send(subscribe("tick"));
  }
  // Subscriptions have no answer; an action behind them has.
  if (url.includes("/gateway/")) {
    await Promise.all(
      sockets.map((socket) => {
        const there = answered(socket);
        socket.send(action(0, "get"));
        return there;
      }),
    );
  }
  const once = () =>
    new Promise((resolve) => {
      all = resolve;
      wanted = count * burst + 1;
      sockets[0].send(action(1, "burst", burst));
    });
  await once();
  let bursts = 0;
  const since = performance.now();
  while (performance.now() - since < seconds * 1_000) {
    await once();
    bursts++;
  }
  const perSecond = (bursts * count * burst) / ((performance.now() - since) / 1_000);
  for (const socket of sockets) socket.terminate();
  return perSecond;
}

process.send({ perSecond: await LOAD[kind](...rest.map(Number)) });
process.disconnect();
