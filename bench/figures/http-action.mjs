import { runOnce, startServer, temporaryFolder } from "../lib/processes.mjs";

const CONNECTIONS = 32;
const SECONDS = 3;
const BODY = '{"args":[1]}';
const QUERY = "rvt-namespace=default&rvt-method=getOrCreate&rvt-pool=default&rvt-key=bench";

export default {
  name: "http",
  title: `HTTP action, ${CONNECTIONS} in flight, one actor`,
  unit: "/s",
  baseline: "bare `node:http` JSON server",
  ratio: "subject",
  atLeast: 0.7,

  async prepare() {
    const folder = temporaryFolder("http");
    const subject = await startServer("server-greenroom.mjs", [folder.path]);
    const bare = await startServer("server-bare.mjs");
    return { folder, subject, bare };
  },

  async round({ subject, bare }) {
    const load = async (url) => (await runOnce("load.mjs", [url, CONNECTIONS, SECONDS, BODY])).perSecond;
    return {
      baseline: await load(bare.url),
      subject: await load(`${subject.url}/gateway/counter/action/increment?${QUERY}`),
    };
  },

  async finish({ folder, subject, bare }) {
    await Promise.all([subject.stop(), bare.stop()]);
    folder.remove();
  },
};
