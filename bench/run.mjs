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
  "queue",
  "wake",
  "alarm",
  "memory",
  "many-sockets",
];
