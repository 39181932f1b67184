// Runs an engine for a test, and ends it when the test is gone, however it ended: an
// engine that is left behind looks for programs that are no more, and takes the
// processor from everybody.

import { spawn } from "node:child_process";
import { rmSync } from "node:fs";

const [folder, binary, ...args] = process.argv.slice(2);
const engine = spawn(binary, args, { stdio: "ignore" });

let abandoned = false;
const abandon = () => {
  abandoned = true;
  engine.kill("SIGKILL");
};

engine.on("spawn", () => process.send(engine.pid));
engine.on("error", () => process.exit(1));
engine.on("exit", (code) => {
  if (abandoned) rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
  process.exit(code ?? 1);
});
process.on("message", () => engine.kill("SIGKILL"));
process.on("disconnect", abandon);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, abandon);
