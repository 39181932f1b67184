/** The inspector's socket, page and files of actors of our own layer. */
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { greenroom, served, temporaryFolder } from "./fixtures/greenroom";
import { RawSocket } from "./fixtures/raw-socket";

const { actor } = greenroom;

/** Numbers of messages in version 6. */
const TO_ACTOR = { patchState: 0, state: 1, rpcsList: 4 };
const TO_INSPECTOR = { state: 0, stateUpdated: 5, rpcsList: 8, error: 16, init: 17 };

async function inspect({ url, namespace }: { url: string; namespace: string }, id: string) {
  // An engine has the token a moment after the first start.
  const token = await vi.waitFor(async () => {
    const stored = await fetch(`${url}/actors/${id}/kv/keys/Aw%3D%3D?namespace=${namespace}`);
    return Buffer.from(((await stored.json()) as { value: string }).value, "base64").toString();
  }, 10_000);
  const path = `/gateway/${id}/inspector/connect?protocol_version=6`;
  const socket = await RawSocket.open(url, path, `rivet, rivet_inspector_token.${token}`);
  /** The next message of this number; others are passed over. */
  const next = async (tag: number) => {
    for (;;) {
      const frame = await socket.next();
      if (frame === undefined) throw new Error(`the socket closed before message ${tag}`);
      if (frame.payload[0] === tag) return frame.payload;
    }
  };
  return { socket, next, send: (...bytes: number[]) => socket.send(Buffer.from(bytes), { opcode: 2 }) };
}

test("an inspector sees the state change, and cannot change it", async () => {
  const counter = actor({ state: { count: 7 }, actions: { add: (c) => ++c.state.count, look: () => 0 } });
  const { local, ...place } = await served({ counter });
  const handle = local.counter.getOrCreate("a");
  const { socket, next, send } = await inspect(place, await handle.resolve());
  await next(TO_INSPECTOR.init);
  send(TO_ACTOR.state, 9);
  const shown = await next(TO_INSPECTOR.state);
  // Request, presence, length, then CBOR; at last that there is a state at all.
  expect([shown[1], shown.at(-1)]).toEqual([9, 1]);
  const count = (frame: Buffer) => frame.subarray(frame.indexOf("count") + "count".length)[0];
  expect(count(shown)).toBe(7);
  await handle.add();
  let updated = await next(TO_INSPECTOR.stateUpdated);
  while (count(updated) !== 8) updated = await next(TO_INSPECTOR.stateUpdated);
  send(TO_ACTOR.rpcsList, 1);
  expect((await next(TO_INSPECTOR.rpcsList)).toString("latin1")).toBe("\x08\x01\x02\x03add\x04look");
  send(TO_ACTOR.patchState, 1, 0xa0);
  expect((await next(TO_INSPECTOR.error)).toString()).toContain("inspector state changes");
  socket.destroy();
});

test("an actor type brings tabs, whose files everybody may read", async () => {
  const source = join(temporaryFolder(), "tab");
  mkdirSync(source);
  writeFileSync(join(source, "index.html"), "<h1>mine</h1>");
  const tabbed = actor({
    actions: {},
    inspector: {
      tabs: [
        { id: "mine", label: "Mine", source },
        { id: "queue", hidden: true },
      ],
    },
  } as Parameters<typeof actor>[0]);
  const { url, local, namespace } = await served({ tabbed });
  const id = await local.tabbed.getOrCreate("a").resolve();
  const file = (path: string) => fetch(`${url}/gateway/${id}/inspector/${path}`);
  const page = await file("custom-tabs/mine/");
  expect([page.status, await page.text(), page.headers.get("referrer-policy")]).toEqual([
    200,
    "<h1>mine</h1>",
    "no-referrer",
  ]);
  expect((await file("custom-tabs/queue/")).status).toBe(404);
  expect((await file("custom-tabs/mine/a%2fb")).status).toBe(400);
  expect((await file("tab.css")).headers.get("content-type")).toBe("text/css; charset=utf-8");
  const { socket, next } = await inspect({ url, namespace }, id);
  expect((await next(TO_INSPECTOR.init)).includes("Mine")).toBe(true);
  socket.destroy();
});

test("the inspector's page is one document whose policy allows what is in it and nothing else", async () => {
  const { url, local } = await served({ plain: actor({ actions: {} }) });
  const id = await local.plain.getOrCreate("a").resolve();
  const file = (path: string) => fetch(`${url}/gateway/${id}/inspector/${path}`);
  const page = await file("ui/");
  const text = await page.text();
  expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  const inside = (name: string) => new RegExp(`<${name}[^>]*>([\\s\\S]*?)</${name}>`).exec(text)?.[1] as string;
  const hash = (part: string) => `'sha256-${createHash("sha256").update(part).digest("base64")}'`;
  const policy = Object.fromEntries(
    (page.headers.get("content-security-policy") as string).split(";").map((part) => {
      const [name, ...sources] = part.trim().split(/\s+/);
      return [name, sources.join(" ")];
    }),
  );
  expect(policy).toEqual({
    "default-src": "'none'",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "script-src": hash(inside("script")),
    "style-src": hash(inside("style")),
  });
  expect(text).not.toMatch(/(?:src|href)=|innerHTML|\son[a-z]+="/);
  expect((await file("ui")).status).toBe(200);
  expect(await (await file("ui/index.html")).text()).toBe(text);
  const missing = await file("ui/assets/other.js");
  expect([missing.status, (await missing.json()) as { code: string }]).toMatchObject([
    404,
    { code: "ui_asset_not_found" },
  ]);
});
