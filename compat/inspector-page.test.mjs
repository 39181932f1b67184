// The inspector's own page in a headless Chromium: who may look, and what is shown of
// actors of the published package.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";
import { createClient } from "rivetkit/client";
import { chromium, startBrowser } from "./lib/browser.mjs";
import { until } from "./lib/connection.mjs";
import { inspectorToken } from "./lib/inspector.mjs";
import { runtimeProgram } from "./lib/runtime.mjs";

const skip = !chromium && "no Chromium on this machine";

let program;
let client;
before(async () => {
  program = await runtimeProgram("features-program.mjs");
  client = createClient(program.url);
});
after(async () => {
  await client.dispose();
  assert.equal(await program.stop(), 0);
});

let actors = 0;
const quote = JSON.stringify;
const text = (selector) => `document.querySelector(${quote(selector)}).textContent`;
const contains = (selector, part) => `${text(selector)}.includes(${quote(part)})`;
const press = (label) =>
  `[...document.querySelectorAll("button")].find((each) => each.textContent === ${quote(label)}).click()`;
const enter = (token) =>
  `document.getElementById("token").value = ${quote(token)}; document.getElementById("door").requestSubmit()`;

/** A page that shows an actor, to whoever has its token. */
async function page(t, name) {
  const handle = client[name].getOrCreate([`page-${++actors}`]);
  const id = await handle.resolve();
  const token = await inspectorToken(program.url, id);
  const browser = await startBrowser(t);
  const url = `${program.url}/gateway/${id}/inspector/ui/`;
  return { handle, id, token, browser, tab: await browser.tab(url), url };
}

async function inside(t, name) {
  const opened = await page(t, name);
  await opened.tab.until(`document.getElementById("door").hidden`, false);
  await opened.tab.run(enter(opened.token));
  await opened.tab.until(text("#status"), "connected");
  return opened;
}

describe("the inspector's page", { skip, timeout: 120_000 }, () => {
  test("asks for the token, and shows nothing to who does not have it", async (t) => {
    const { tab, id, token } = await page(t, "worker");
    await tab.until(text("#actor"), id);
    await tab.until(`document.getElementById("door").hidden`, false);
    await tab.run(enter("not-the-token"));
    await tab.until(text("#status"), "closed: inspector.unauthorized");
    assert.equal(await tab.run(text("#view")), "");
    await tab.until(`document.getElementById("door").hidden`, false);
    await tab.run(enter(token));
    await tab.until(text("#status"), "connected");
  });

  test("shows the state as it changes, and changes it", async (t) => {
    const { tab, handle } = await inside(t, "worker");
    await tab.until(contains("#now", '"done": []'), true);
    await handle.put("<b>work</b>");
    await tab.until(contains("#now", "<b>work</b>"), true);
    await tab.run(`document.querySelector("#view details").open = true;
      document.querySelector("#view textarea").value = '{"done":["mine"]}'`);
    await tab.run(press("Save"));
    await tab.until(contains("#now", '"mine"'), true);
    assert.deepEqual(await handle.done(), ["mine"]);
  });

  test("lists connections, and runs actions with arguments", async (t) => {
    const { tab, handle } = await inside(t, "worker");
    const connection = handle.connect();
    t.after(() => connection.dispose());
    await connection.done();
    await tab.run(press("connections"));
    await tab.until(contains("#view", "isHibernatable"), true);
    await tab.run(press("console"));
    await tab.run(`document.querySelector("#view select").value = "put";
      document.querySelector("#view textarea").value = '["from the page"]'`);
    await tab.run(press("Run"));
    await tab.until(`${text("#answer")} !== ""`, true);
    await until(
      "the job is done",
      () => handle.done(),
      (done) => done.length === 1,
    );
    await tab.run(`document.querySelector("#view select").value = "done";
      document.querySelector("#view textarea").value = "[]"`);
    await tab.run(press("Run"));
    await tab.until(contains("#answer", "from the page"), true);
    await tab.run(`document.querySelector("#view textarea").value = '{}'`);
    await tab.run(press("Run"));
    await tab.until(text("#notice"), "arguments are a JSON array");
  });

  test("lists schedules and deletes them", async (t) => {
    const { tab, handle } = await inside(t, "timer");
    await handle.after(3_600_000, "later");
    await tab.run(press("schedules"));
    await tab.until(contains("#view", "later"), true);
    await tab.run(press("Delete"));
    await tab.until(text("#view"), "Nothing here.");
    assert.deepEqual(await handle.pending(), []);
  });

  test("shows the rows of a table", async (t) => {
    const { tab, handle } = await inside(t, "notes");
    await handle.add("first");
    await tab.run(press("database"));
    await tab.until(
      `[...document.querySelectorAll("#view button")].some((each) => each.textContent === "notes")`,
      true,
    );
    await tab.run(press("notes"));
    await tab.until(
      `[...document.querySelectorAll("#view td")].map((each) => each.textContent).slice(0, 2).join()`,
      "1,first",
    );
  });

  test("shows the queue", async (t) => {
    const { tab } = await inside(t, "worker");
    await tab.run(press("queue"));
    await tab.until(contains("#view", "0 waiting"), true);
    await tab.until(contains("#view", "Nothing here."), true);
  });

  test("takes the token from the dashboard that frames it", async (t) => {
    const { browser, url, token } = await page(t, "worker");
    const shell = createServer((_, response) => {
      response.setHeader("content-type", "text/html");
      response.end(`<iframe src="${url}?shellOrigin=http://127.0.0.1:${shell.address().port}"></iframe><script>
        const heard = [];
        addEventListener("message", ({ data, source }) => {
          heard.push(data.type);
          if (data.type === "ready") source.postMessage({ v: 1, type: "init", authToken: "${token}" }, "*");
          if (data.type === "tabs-available") heard.push(data.tabs.map(({ id }) => id).join());
        });
      </script>`);
    });
    await new Promise((resolve) => shell.listen(0, "127.0.0.1", resolve));
    t.after(() => shell.close().closeAllConnections());
    const tab = await browser.tab(`http://127.0.0.1:${shell.address().port}/`);
    const all = "state,connections,queue,schedules,database,console";
    await tab.until("heard.join(' ')", `ready tabs-available ${all}`);
  });
});
