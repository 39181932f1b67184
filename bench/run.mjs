// `npm run bench [-- names…] [--rounds=5] [--write]`: every figure beside its
// baseline, both measured in turn in each round of one run, and the medians.
// `--write` puts the table into bench/README.md.

import { readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { entry, Failure } from "../scripts/lib/run.mjs";
import { build } from "../scripts/lib/steps.mjs";
import { figure, median } from "./lib/stats.mjs";

const NAMES = [
  "http-action",
  "in-process-action",
  "sockets",
  "create",
  "save",
  "sql",
  "sql-files",
  "queue",
  "wake",
  "alarm",
  "cron-year",
  "memory",
  "many-sockets",
];
const README = fileURLToPath(new URL("README.md", import.meta.url));
const FENCE = /<!-- figures -->[\s\S]*<!-- end of figures -->/;

async function measure(subject, rounds) {
  const state = await subject.prepare?.();
  const results = [];
  try {
    // Figures in which little is called often: compiled code is what is measured.
    for (let round = 0; round < (subject.warmUp ?? 0); round++) await subject.round(state);
    for (let round = 1; round <= rounds; round++) {
      const result = await subject.round(state);
      results.push(result);
      console.log(
        `  ${subject.name} ${round}/${rounds}: ${figure(result.subject)} ${subject.unit}, baseline ${figure(result.baseline)} ${subject.unit}`,
      );
    }
  } finally {
    await subject.finish?.(state);
  }
  return summarise(subject, results);
}

/** How the medians of the rounds stand to each other and to what was asked for. */
export function summarise(subject, results) {
  const value = median(results.map((result) => result.subject));
  const baseline = median(results.map((result) => result.baseline));
  const ratio =
    subject.ratio === "none" ? undefined : median(results.map((result) => result.subject / result.baseline));
  const reached =
    (subject.atLeast === undefined || ratio >= subject.atLeast) &&
    (subject.atMost === undefined || ratio <= subject.atMost) &&
    (subject.atLeastSubject === undefined || value >= subject.atLeastSubject) &&
    (subject.atMostSubject === undefined || value <= subject.atMostSubject);
  return { subject, value, baseline, ratio, reached };
}

function aim({ atLeast, atMost, atLeastSubject, atMostSubject, unit }) {
  if (atLeast !== undefined) return `≥ ${atLeast} ×`;
  if (atMost !== undefined) return `≤ ${atMost} ×`;
  if (atLeastSubject !== undefined) return `≥ ${atLeastSubject} ${unit}`;
  if (atMostSubject !== undefined) return `≤ ${atMostSubject} ${unit}`;
  return "–";
}

export function table(summaries) {
  const rows = summaries.map(({ subject, value, baseline, ratio, reached }) => [
    subject.title,
    `${figure(value)} ${subject.unit}`,
    `${figure(baseline)} ${subject.unit} (${subject.baseline})`,
    ratio === undefined ? "–" : `${ratio.toFixed(2)} ×`,
    aim(subject),
    reached ? "yes" : "**no**",
  ]);
  const head = ["Work", "greenroom", "Baseline", "Ratio", "Aim", "Reached"];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

export function conditions(command) {
  const date = new Date().toISOString().slice(0, 10);
  const processors = cpus();
  return `Measured on ${date} with \`${command}\`: Node.js ${process.versions.node}, ${process.platform}-${process.arch}, ${processors.length} × ${processors[0].model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB.`;
}

async function chosen(words) {
  const loaded = await Promise.all(NAMES.map((name) => import(`./figures/${name}.mjs`)));
  const all = loaded.flatMap((module) => module.default);
  const picked = all.filter(({ name }) => words.length === 0 || words.includes(name));
  if (picked.length === 0) {
    throw new Failure(`no figure of that name; there are: ${all.map(({ name }) => name).join(", ")}`);
  }
  return picked;
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { rounds: { type: "string", default: "5" }, write: { type: "boolean", default: false } },
  });
  await build();
  const summaries = [];
  for (const subject of await chosen(positionals)) {
    console.log(`\n▸ ${subject.title}`);
    summaries.push(await measure(subject, subject.rounds ?? Number(values.rounds)));
  }
  const command = ["npm run bench", ...(process.argv.length > 2 ? ["--", ...process.argv.slice(2)] : [])].join(" ");
  const text = `${conditions(command)}\n\n${table(summaries)}`;
  console.log(`\n${text}`);
  if (values.write) {
    const page = readFileSync(README, "utf8");
    writeFileSync(
      README,
      page.replace(FENCE, () => `<!-- figures -->\n${text}\n<!-- end of figures -->`),
    );
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await entry(main);
