import { readFileSync } from "node:fs";
import { createClient } from "greenroom";
import { whenAsleep } from "../../scripts/lib/host.mjs";
import { runOnce, startServer, temporaryFolder } from "../lib/processes.mjs";

const HELD = 10_000;
const ACTORS = 100;
const CROWD = 2_000;
const TICKS = 5;
const SECONDS = 5;

/** Resident size of a process in MB; Linux only. */
function residentOf(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;
}

async function withServer(work) {
  const folder = temporaryFolder("crowd");
  const server = await startServer("server-greenroom.mjs", [folder.path]);
  try {
    return await work(server);
  } finally {
    await server.stop();
    folder.remove();
  }
}

/** Every actor of the crowd asleep. */
async function allAsleep(url) {
  const client = createClient(url);
  for (let at = 0; at < ACTORS; at++) {
    const handle = client.counter.getOrCreate(`crowd-${at}`);
    await handle.nap();
    await whenAsleep(url, await handle.resolve());
  }
}

export default [
  {
    name: "held-sockets",
    title: `${HELD.toLocaleString("en-US")} sockets of ${ACTORS} sleeping actors, growth of the process`,
    unit: "MB",
    baseline: "the whole process before",
    ratio: "none",
    atMostSubject: 200,
    rounds: 1,
    round: () =>
      withServer(async ({ url, pid }) => {
        await allAsleep(url);
        const before = residentOf(pid);
        const crowds = [
          await startServer("socket-crowd.mjs", [url, HELD / 2, ACTORS, "no"]),
          await startServer("socket-crowd.mjs", [url, HELD / 2, ACTORS, "no"]),
        ];
        await allAsleep(url);
        const after = residentOf(pid);
        await Promise.all(crowds.map((crowd) => crowd.stop()));
        return { baseline: before, subject: after - before };
      }),
  },
  {
    name: "socket-latency",
    title: `99th percentile of an action while ${CROWD.toLocaleString("en-US")} sockets hear ${TICKS} broadcasts a second`,
    unit: "ms",
    baseline: "the same without broadcasts",
    ratio: "subject",
    atMost: 10,
    rounds: 3,
    round: () =>
      withServer(async ({ url }) => {
        const crowd = await startServer("socket-crowd.mjs", [url, CROWD, 1, "yes"]);
        const idle = await runOnce("socket-latency.mjs", [url, SECONDS, 0]);
        const busy = await runOnce("socket-latency.mjs", [url, SECONDS, TICKS]);
        await crowd.stop();
        return { baseline: idle.p99, subject: busy.p99 };
      }),
  },
];
