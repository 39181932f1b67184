import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const programs = join(import.meta.dirname, "programs");

/** Runs a program that has `host`, `native` and `target` at hand. One that takes too long fails with what it told. */
async function run(source: string, ...flags: string[]) {
  const program = `const { host, native, target } = require(${JSON.stringify(join(programs, "host.cjs"))});
    const { Worker } = require("node:worker_threads");
    const programs = ${JSON.stringify(programs)};
    const gone = (worker) => new Promise((resolve) => worker.once("exit", resolve));
    (async () => { ${source} })();`;
  const env = { ...process.env, RIVET_LOG_LEVEL: "off" };
  const options = { env, timeout: 50_000 };
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, "-e", program], options).catch((error) => {
    throw new Error(`${error.signal ?? error.code}: ${error.stdout}\n${error.stderr}`, { cause: error });
  });
  return stdout.trim();
}

describe("a process", () => {
  test("ends by itself when the addon is only loaded", async () => {
    expect(await run("console.log(native.nativeVersion())")).toBe("0.1.0");
  });

  test("ends by itself after a call, with its actor awake and its registry open", async () => {
    const source = `const { call, encode } = await host({ quick: () => encode(1) }); console.log(await call("quick"));`;
    expect(await run(source)).toBe("1");
  });

  test("lives as long as a promise is pending", async () => {
    const source = `const { call, encode, registry } = await host({ quick: () => encode(1) });
      call("quick").then((value) => registry.shutdown().then(() => console.log(value)));`;
    expect(await run(source)).toBe("1");
  });

  test("lives as long as the port is open, unless told not to", async () => {
    const listening = `const { registry } = await host({});
      const { url } = await registry.listenEmbedded({ port: 0 });`;
    expect(await run(`${listening} registry.refListener(false); console.log("ends");`)).toBe("ends");
    const closing = `${listening} const timer = setTimeout(async () => {
        await registry.closeListener();
        console.log("closed");
      }, 100);
      timer.unref();`;
    expect(await run(closing)).toBe("closed");
  });

  test("may exit in the middle of anything", async () => {
    const source = `const { call, encode } = await host({ slow: () => new Promise(() => {}), quick: () => encode(1) });
      for (let i = 0; i < 200; i++) call(i % 2 ? "slow" : "quick").catch(() => {});
      setTimeout(() => { console.log("bye"); process.exit(0); }, 5);`;
    expect(await run(source)).toBe("bye");
  });
});

describe("a worker", () => {
  test("may load the addon first, end, and leave it working for the next and for the main thread", async () => {
    const source = `for (let i = 0; i < 3; i++) {
        const worker = new Worker(programs + "/worker.cjs", { workerData: { calls: 1 } });
        worker.once("message", (value) => console.log(value));
        await gone(worker);
      }
      const { call, encode, registry } = await host({ quick: () => encode("main") });
      console.log(await call("quick"));
      await registry.shutdown();`;
    expect((await run(source)).split("\n")).toEqual(["3", "3", "3", "main"]);
  });

  test("may be terminated in the middle of its calls, any number of times", async () => {
    const source = `let dataDir;
      for (let i = 0; i < 10; i++) {
        const worker = new Worker(programs + "/worker.cjs", { workerData: { calls: 400, busy: i % 4 === 3 } });
        dataDir = await new Promise((resolve) => worker.once("message", resolve));
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 30));
        await worker.terminate();
      }
      // What the last one had open can be opened by somebody else.
      for (let tries = 0; ; tries++) {
        try {
          const { registry } = await host({}, {}, dataDir);
          await registry.shutdown();
          break;
        } catch (error) {
          if (tries === 50) throw error;
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
      console.log("alive");`;
    expect(await run(source)).toBe("alive");
  }, 60_000);
});

describe("memory", () => {
  test("holds nothing of calls and generations that are over", async () => {
    const source = `const { queryObjects } = require("node:v8");
      const classes = ["ActorContext", "ConnHandle", "CancellationToken"];
      const { call, encode, registry } = await host({
        touch: (_, { ctx, conn, cancelToken, args }) => {
          cancelToken.onCancelled(() => {});
          ctx.abortSignal();
          ctx.runtimeState().last = [ctx, conn];
          ctx.keepAwake(Promise.resolve());
          ctx.requestSave();
          return args;
        },
        later: (_, { ctx }) => {
          const promise = new Promise((resolve) => setTimeout(resolve, 1));
          ctx.waitUntil(promise);
          return promise.then(() => encode(1));
        },
        fail: async () => { throw new Error("mine"); },
      });
      const id = await registry.localResolve(target);
      const burst = async () => {
        const calls = [];
        for (let i = 0; i < 1000; i++) {
          calls.push(call(["touch", "later", "fail"][i % 3], { i }).catch(() => {}));
        }
        await Promise.all(calls);
        await registry.evict(id);
      };
      const settled = async (enough) => {
        for (const end = Date.now() + 15_000; ; ) {
          for (let i = 0; i < 5; i++) {
            global.gc();
            await new Promise((resolve) => setTimeout(resolve, 10));
          }
          const counts = classes.map((name) => queryObjects(native[name]));
          if (enough(counts) || Date.now() > end) return counts;
        }
      };
      await burst();
      const before = await settled(() => true);
      for (let i = 0; i < 10; i++) await burst();
      const after = await settled((counts) => counts.every((count, at) => count <= before[at] + 5));
      console.log(JSON.stringify({ before, after }));
      await registry.shutdown();`;
    const { before, after } = JSON.parse(await run(source, "--expose-gc"));
    for (const [at, count] of after.entries()) expect(count).toBeLessThanOrEqual(before[at] + 5);
  }, 60_000);

  test("keeps the handles of a connection's calls, and lets them go with the actor", async () => {
    const source = `const { queryObjects } = require("node:v8");
      const { once } = require("node:events");
      const WebSocket = require("ws");
      const handles = new WeakMap();
      const { registry } = await host({
        same: (_, { ctx, conn }) => {
          const known = handles.get(conn);
          handles.set(conn, ctx);
          return native.encodeCbor(known === ctx);
        },
      });
      const { url } = await registry.listenEmbedded({ port: 0 });
      const query = "rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default&rvt-key=a";
      const socket = async () => {
        const ws = new WebSocket(url.replace("http", "ws") + "/gateway/thing/connect?" + query, ["rivet", "rivet_encoding.json"]);
        ws.once("close", (code, reason) => console.error("closed", code, String(reason)));
        await once(ws, "message");
        return ws;
      };
      const ask = async (ws) => {
        ws.send(JSON.stringify({ body: { tag: "ActionRequest", val: { id: 1, name: "same", args: [] } } }));
        const [answer] = await once(ws, "message");
        return JSON.parse(answer).body.val.output;
      };
      const seen = [];
      for (let round = 0; round < 6; round++) {
        console.error("round", round);
        const sockets = await Promise.all(Array.from({ length: 60 }, socket));
        for (let call = 0; call < 2; call++) seen.push(...(await Promise.all(sockets.map(ask))));
        for (const ws of sockets) ws.removeAllListeners("close").terminate();
      }
      await registry.evict(await registry.localResolve(target));
      console.error("the actor is gone");
      const kept = () => (global.gc(), queryObjects(native.ConnHandle));
      // Counted with the clock, not in turns: a busy machine takes a second to look through its heap once.
      for (const end = Date.now() + 15_000; kept() > 5 && Date.now() < end; ) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      console.log(JSON.stringify({ first: seen.slice(0, 60), again: seen.slice(60, 120), all: seen.length, left: kept() }));
      await registry.shutdown();`;
    const { first, again, all, left } = JSON.parse(await run(source, "--expose-gc"));
    expect(all).toBe(720);
    expect(left).toBeLessThanOrEqual(5);
    expect(new Set(first)).toEqual(new Set([false]));
    expect(new Set(again)).toEqual(new Set([true]));
  }, 60_000);
});
