// A headless Chromium and its tabs, over its own debugging protocol.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PATHS = [process.env.GREENROOM_CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"];
/** The browser of this machine, or undefined. */
export const chromium = PATHS.find((path) => path && existsSync(path));

const PATIENCE_MS = 20_000;

/** Starts a browser that ends with the test. `tab(url)` opens a page. */
export async function startBrowser(t) {
  const profile = await mkdtemp(join(tmpdir(), "greenroom-chromium-"));
  const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"];
  const args = [...flags, "--remote-debugging-port=0", `--user-data-dir=${profile}`, "about:blank"];
  const child = spawn(chromium, args, { stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  t.after(async () => {
    child.kill("SIGKILL");
    await ended;
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  });
  const call = await protocol(await debuggingUrl(child, ended));
  return {
    async tab(url) {
      const { targetId } = await call("Target.createTarget", { url });
      const { sessionId } = await call("Target.attachToTarget", { targetId, flatten: true });
      return tabOf((method, params) => call(method, params, sessionId));
    },
  };
}

function debuggingUrl(child, ended) {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stderr.on("data", (chunk) => {
      text += chunk;
      const match = /DevTools listening on (ws:\S+)/.exec(text);
      if (match) resolve(match[1]);
    });
    ended.then(() => reject(new Error(`Chromium ended: ${text}`)));
  });
}

/** Calls of the protocol by number. */
async function protocol(url) {
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  const waiting = new Map();
  let last = 0;
  socket.onmessage = ({ data }) => {
    const { id, result, error } = JSON.parse(data);
    const answer = waiting.get(id);
    waiting.delete(id);
    if (error) answer?.reject(new Error(error.message));
    else answer?.resolve(result);
  };
  return (method, params = {}, sessionId = undefined) =>
    new Promise((resolve, reject) => {
      const id = ++last;
      waiting.set(id, { resolve, reject });
      socket.send(JSON.stringify({ id, method, params, sessionId }));
    });
}

function tabOf(call) {
  async function run(expression) {
    const { result, exceptionDetails } = await call("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    assert.equal(exceptionDetails, undefined, exceptionDetails?.exception?.description);
    return result.value;
  }
  return {
    run,
    /** Asks until the answer is the wanted one. */
    async until(expression, wanted) {
      const end = Date.now() + PATIENCE_MS;
      for (;;) {
        // A page that is still loading has nothing to look at.
        const answer = await run(expression).catch((error) => error);
        if (answer === wanted) return;
        if (Date.now() >= end) assert.equal(answer, wanted, expression);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    reload: () => call("Page.reload"),
  };
}
