// The example does what it prints: its three commands work as they stand, the
// count survives a restart, and Ctrl-C stops it cleanly.

import assert from "node:assert/strict";
import { exec, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";
import { root } from "../lib/run.mjs";

const unix = { skip: process.platform === "win32" && "the commands are for a POSIX shell" };

/** Starts the example; resolves when it has printed everything it prints at the start. */
async function startExample(t, dataDir) {
  const child = spawn(process.execPath, [join(root, "examples/counter/server.mjs")], {
    cwd: root,
    env: { ...process.env, GREENROOM_PORT: "0", GREENROOM_DATA_DIR: dataDir },
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const ended = once(child, "exit");
  let text = "";
  await new Promise((resolve) => {
    // The stream stays open: the example goes on to print when it stops.
    child.stdout.on("data", (chunk) => {
      text += chunk;
      if (text.includes("console.log)'\n")) resolve();
    });
    child.stdout.on("end", resolve);
  });
  const commands = [...text.matchAll(/^ +((?:curl|node) .*)$/gm)].map(([, command]) => command);
  return { child, ended, text, commands };
}

test("the counter example does what it prints", unix, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "greenroom-example-"));
  t.after(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 20 }));
  const answerOf = async (command) => {
    const silent = command.replace(/^curl /, "curl --silent --show-error ");
    return (await promisify(exec)(silent, { cwd: root })).stdout.trim();
  };

  const first = await startExample(t, dataDir);
  assert.match(first.text, /listens on http:\/\/127\.0\.0\.1:\d+ /);
  const [increment, get, fromNode] = first.commands;
  assert.equal(await answerOf(increment), '{"output":1}');
  assert.equal(await answerOf(get), '{"output":1}');
  assert.equal(await answerOf(fromNode), "6");
  first.child.kill("SIGINT");
  assert.deepEqual(await first.ended, [0, null], "Ctrl-C ends it with exit code 0");

  const second = await startExample(t, dataDir);
  assert.equal(await answerOf(second.commands[1]), '{"output":6}');
  second.child.kill("SIGTERM");
  assert.deepEqual(await second.ended, [0, null], "SIGTERM, too");
});

test("a port that is taken is one clear sentence and exit code 1", unix, async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "greenroom-example-"));
  t.after(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 20 }));
  const { text } = await startExample(t, join(dataDir, "one"));
  const [, port] = /127\.0\.0\.1:(\d+)/.exec(text);
  const child = spawn(process.execPath, [join(root, "examples/counter/server.mjs")], {
    cwd: root,
    env: { ...process.env, GREENROOM_PORT: port, GREENROOM_DATA_DIR: join(dataDir, "two") },
    stdio: ["ignore", "ignore", "pipe"],
  });
  t.after(() => child.kill("SIGKILL"));
  const errors = [];
  child.stderr.on("data", (chunk) => errors.push(chunk));
  const [code] = await once(child, "close");
  assert.equal(code, 1);
  assert.match(Buffer.concat(errors).toString(), /could not start: .*\n.*GREENROOM_PORT=0/);
});
