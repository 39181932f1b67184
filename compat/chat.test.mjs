// The chat example in two tabs of a browser.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium, startBrowser } from "./lib/browser.mjs";

const SERVER = fileURLToPath(new URL("../examples/chat/server.mjs", import.meta.url));

async function startChat(t, dataDir) {
  const child = spawn(process.env.GREENROOM_SERVER_NODE ?? process.execPath, [SERVER], {
    env: { ...process.env, GREENROOM_PORT: "0", CHAT_PORT: "0", GREENROOM_DATA_DIR: dataDir },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve([code, signal])));
  t.after(() => child.kill("SIGKILL"));
  const url = await new Promise((resolve, reject) => {
    child.stdout.on("data", (chunk) => resolve(/http:\/\/[\d.]+:\d+/.exec(chunk)?.[0]));
    ended.then(() => reject(new Error("the chat ended before it listened")));
  });
  return {
    url,
    stop() {
      child.kill("SIGTERM");
      return ended;
    },
  };
}

const messages = "[...document.querySelectorAll('#messages li')].map((li) => li.textContent).join('|')";
const text = (id) => `document.getElementById('${id}').textContent`;
const say = (words) =>
  `document.getElementById('text').value = ${JSON.stringify(words)}; document.querySelector('form').requestSubmit()`;

const skip = !chromium && "no Chromium on this machine";

test("two tabs chat, see each other, and find what was said after a restart", { skip, timeout: 120_000 }, async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), "greenroom-chat-"));
  t.after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 20 }));
  const browser = await startBrowser(t);
  const chat = await startChat(t, dataDir);
  const ada = await browser.tab(`${chat.url}/?room=tea&name=Ada`);
  await ada.until(text("status"), "connected");
  await ada.until(text("present"), "Here: Ada");
  const bo = await browser.tab(`${chat.url}/?room=tea&name=Bo`);
  await ada.until(text("present"), "Here: Ada, Bo");
  await bo.until(text("present"), "Here: Ada, Bo");

  await ada.run(say("one lump or <b>two</b>?"));
  await bo.until(messages, "Adaone lump or <b>two</b>?");
  await bo.run(say("none 🍋"));
  await ada.until(messages, "Adaone lump or <b>two</b>?|Bonone 🍋");

  await bo.reload();
  await bo.until(messages, "Adaone lump or <b>two</b>?|Bonone 🍋");
  await ada.until(text("present"), "Here: Ada, Bo");
  assert.deepEqual(await chat.stop(), [0, null]);

  const again = await startChat(t, dataDir);
  const cy = await browser.tab(`${again.url}/?room=tea&name=Cy`);
  await cy.until(messages, "Adaone lump or <b>two</b>?|Bonone 🍋");
  await cy.until(text("present"), "Here: Cy");
  assert.deepEqual(await again.stop(), [0, null]);
});
