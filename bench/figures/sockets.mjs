import { runOnce, startServer, temporaryFolder } from "../lib/processes.mjs";
import { connectUrl } from "../lib/sockets.mjs";

const SECONDS = 3;
const IN_FLIGHT = 64;
const LISTENERS = 50;
const BURST = 200;

async function prepare() {
  const folder = temporaryFolder("sockets");
  const subject = await startServer("server-greenroom.mjs", [folder.path]);
  const bare = await startServer("server-ws.mjs");
  return { folder, subject, bare };
}

async function finish({ folder, subject, bare }) {
  await Promise.all([subject.stop(), bare.stop()]);
  folder.remove();
}

const measured = async (...args) => (await runOnce("socket-load.mjs", args)).perSecond;

export default [
  {
    name: "websocket",
    title: `WebSocket action, ${IN_FLIGHT} in flight, one actor`,
    unit: "/s",
    baseline: "bare `ws` echo server",
    ratio: "subject",
    atLeast: 0.5,
    warmUp: 2,
    prepare,
    finish,
    async round({ subject, bare }) {
      return {
        baseline: await measured("calls", bare.url, SECONDS, IN_FLIGHT),
        subject: await measured("calls", connectUrl(subject.url, "counter", "calls"), SECONDS, IN_FLIGHT),
      };
    },
  },
  {
    name: "broadcast",
    title: `Broadcast to ${LISTENERS} sockets, events delivered`,
    unit: "/s",
    baseline: "the same fan-out with bare `ws`",
    ratio: "subject",
    atLeast: 0.8,
    prepare,
    finish,
    async round({ subject, bare }) {
      return {
        baseline: await measured("fanout", bare.url, SECONDS, LISTENERS, BURST),
        subject: await measured("fanout", connectUrl(subject.url, "counter", "fan"), SECONDS, LISTENERS, BURST),
      };
    },
  },
];
