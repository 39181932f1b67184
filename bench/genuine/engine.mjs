// `npm run bench:engine [-- --rounds=5] [--write]`: the published package on this addon
// beside the same package on its own addon, in two pools of one engine that runs for
// both. Each is measured once with the engine's own settings and once with the one that
// docs/hosts.md asks for. `--write` puts the tables into bench/README.md.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { nodeBinary } from "../../compat/lib/nodes.mjs";
import { entry, must } from "../../scripts/lib/run.mjs";
import { build, installPackages } from "../../scripts/lib/steps.mjs";
import { figure, median } from "../lib/stats.mjs";
import { conditions } from "../run.mjs";

const README = fileURLToPath(new URL("../README.md", import.meta.url));
const FENCE = /<!-- engine -->[\s\S]*<!-- end of engine -->/;

/** What is measured, by its name in a round, and what is aimed at. */
const FIGURES = [
  { name: "socket", title: "Action over WebSocket, 1 in flight", atMost: 0.5 },
  { name: "http", title: "Action over HTTP, 1 in flight" },
  { name: "create", title: "New actor, created and answered" },
  { name: "wake", title: "Wake of a sleeping actor, answered", atMost: 0.7 },
];
const SETTINGS = [
  { title: "the engine as it comes", nodelay: "false" },
  { title: "`guard.tcp_nodelay`", nodelay: "true" },
];

/** One round under the Node.js that the package asks for: `{ ours, genuine }`, medians by name. */
async function measure(nodelay) {
  const script = fileURLToPath(new URL("engine-round.mjs", import.meta.url));
  const { output } = await must(nodeBinary(22), [script, nodelay], { output: "keep" });
  return JSON.parse(output.trim().split("\n").at(-1));
}

function summarise({ name, title, atMost }, setting, rounds) {
  const [ours, genuine] = ["ours", "genuine"].map((side) => rounds.map((round) => round[side][name]));
  const ratio = median(ours.map((value, round) => value / genuine[round]));
  const cells = [`${title}, ${setting}`, `${figure(median(ours))} ms`, `${figure(median(genuine))} ms`];
  const aim = atMost ? `≤ ${atMost} ×` : "–";
  return [...cells, `${figure(ratio)} ×`, aim, atMost ? (ratio <= atMost ? "yes" : "**no**") : "–"];
}

function table(rows) {
  const head = ["Work", "greenroom", "Genuine addon", "Ratio", "Aim", "Reached"];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

async function main() {
  const { values } = parseArgs({
    options: { rounds: { type: "string", default: "5" }, write: { type: "boolean", default: false } },
  });
  await build();
  await installPackages("compat");
  await installPackages("bench/genuine", { partial: true });
  await installPackages("compat/engine", { partial: true });
  const rounds = SETTINGS.map(() => []);
  for (let round = 1; round <= Number(values.rounds); round++) {
    for (const [at, { title, nodelay }] of SETTINGS.entries()) {
      rounds[at].push(await measure(nodelay));
      console.log(`  ${round}/${values.rounds} ${title}: ${JSON.stringify(rounds[at].at(-1))}`);
    }
  }
  const rows = FIGURES.flatMap((subject) => SETTINGS.map(({ title }, at) => summarise(subject, title, rounds[at])));
  const command = ["npm run bench:engine", ...(process.argv.length > 2 ? ["--", ...process.argv.slice(2)] : [])];
  const text = `${conditions(command.join(" "))}\n\n${table(rows)}`;
  console.log(`\n${text}`);
  if (values.write) {
    const page = readFileSync(README, "utf8");
    const fenced = `<!-- engine -->\n${text}\n<!-- end of engine -->`;
    writeFileSync(
      README,
      page.replace(FENCE, () => fenced),
    );
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await entry(main);
