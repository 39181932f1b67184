// `npm run bench:genuine [-- --rounds=5] [--write]`: the published package on this
// addon beside the same package on its own addon with its engine. Both sides run one
// program, start anew in each round and are measured in turn. `--write` puts the
// table into bench/README.md, below the other one.

import {
  closeSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { nodeBinary } from "../../compat/lib/nodes.mjs";
import { entry, must } from "../../scripts/lib/run.mjs";
import { build, installPackages } from "../../scripts/lib/steps.mjs";
import { figure, median } from "../lib/stats.mjs";
import { conditions } from "../run.mjs";

const README = fileURLToPath(new URL("../README.md", import.meta.url));
const FENCE = /<!-- genuine -->[\s\S]*<!-- end of genuine -->/;

/** One round of one side under the Node.js that the package asks for: a figure after the other. */
async function measure(side) {
  const script = fileURLToPath(new URL("round.mjs", import.meta.url));
  const { output } = await must(nodeBinary(22), [script, side], { output: "keep" });
  return JSON.parse(output.trim().split("\n").at(-1));
}

/** Median milliseconds of a synced write of 4 kB where both sides have their data. */
function syncedWrite() {
  const folder = mkdtempSync(join(tmpdir(), "greenroom-synced-"));
  const file = openSync(join(folder, "file"), "w");
  const times = [];
  for (let at = 0; at < 50; at++) {
    const since = performance.now();
    writeSync(file, Buffer.alloc(4096));
    fdatasyncSync(file);
    times.push(performance.now() - since);
  }
  closeSync(file);
  rmSync(folder, { recursive: true });
  return median(times);
}

/** How the medians of the rounds stand to each other and to what was asked for. */
function summarise({ title, unit, atLeast, atMost }, ours, genuine) {
  // "Times faster" where faster is asked for, the share where less is.
  const ratio = median(ours.map((value, round) => (atLeast ? genuine[round] / value : value / genuine[round])));
  const reached = (atLeast === undefined || ratio >= atLeast) && (atMost === undefined || ratio <= atMost);
  const aim = atLeast ? `≥ ${atLeast} × faster` : atMost ? `≤ ${atMost} ×` : "–";
  return [
    title,
    `${figure(median(ours))} ${unit}`,
    `${figure(median(genuine))} ${unit}`,
    `${figure(ratio)} ×${atLeast ? " faster" : ""}`,
    aim,
    aim === "–" ? "–" : reached ? "yes" : "**no**",
  ];
}

function table(rows) {
  const head = ["Work", "greenroom", "Genuine addon and engine", "Ratio", "Aim", "Reached"];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

async function main() {
  const { values } = parseArgs({
    options: { rounds: { type: "string", default: "5" }, write: { type: "boolean", default: false } },
  });
  await build();
  await installPackages("compat");
  await installPackages("bench/genuine", { partial: true });
  const { FIGURES } = await import("./figures.mjs");
  const rounds = { ours: [], genuine: [] };
  const synced = [];
  for (let round = 1; round <= Number(values.rounds); round++) {
    synced.push(syncedWrite());
    for (const side of ["ours", "genuine"]) {
      rounds[side].push(await measure(side));
      console.log(`  ${round}/${values.rounds} ${side}: ${rounds[side].at(-1).map(figure).join(", ")}`);
    }
  }
  const column = (side, at) => rounds[side].map((row) => row[at]);
  const rows = FIGURES.map((subject, at) => summarise(subject, column("ours", at), column("genuine", at)));
  const command = ["npm run bench:genuine", ...(process.argv.length > 2 ? ["--", ...process.argv.slice(2)] : [])];
  const disk = `A synced write of 4 kB took ${figure(median(synced))} ms.`;
  const text = `${conditions(command.join(" "))} ${disk}\n\n${table(rows)}`;
  console.log(`\n${text}`);
  if (values.write) {
    const page = readFileSync(README, "utf8");
    writeFileSync(
      README,
      page.replace(FENCE, () => `<!-- genuine -->\n${text}\n<!-- end of genuine -->`),
    );
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await entry(main);
