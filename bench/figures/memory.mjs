import { runOnce, temporaryFolder } from "../lib/processes.mjs";

const FEW = 1000;
const MANY = 3000;

export default {
  name: "memory",
  title: "Idle live actor with its database closed, native memory",
  unit: "KB",
  baseline: "JavaScript memory of the same actor",
  ratio: "none",
  atMostSubject: 40,
  rounds: 3,

  async round() {
    const folder = temporaryFolder("memory");
    process.env.GREENROOM_DATA_DIR = folder.path;
    try {
      const { resident, javascript } = await runOnce("memory-probe.mjs", [FEW, MANY], ["--expose-gc"]);
      return { baseline: javascript / 1024, subject: (resident - javascript) / 1024 };
    } finally {
      folder.remove();
    }
  },
};
