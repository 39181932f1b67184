import { describe, expect, test } from "vitest";
import { encode, failure, stage } from "./addon";

const bytes = (...values: number[]) => Buffer.from(values);
const pairs = (entries: { key: Buffer; value: Buffer }[]) =>
  entries.map(({ key, value }) => [key.toString("hex"), value.toString()]);

describe("a native key-value store", () => {
  const kvOf = async () => {
    let body: (kv: any) => Promise<unknown> = async () => undefined;
    let kept: any;
    const { call } = await stage({
      actions: {
        use: async (_: unknown, { ctx }: any) => {
          kept = ctx.kv();
          await body(kept);
          return encode(null);
        },
        stop: (_: unknown, { ctx }: any) => (ctx.destroy(), encode(null)),
      },
    });
    const use = async (act: (kv: any) => Promise<unknown>) => {
      body = act;
      await call("use");
    };
    return { use, kv: () => kept, stop: () => call("stop") };
  };

  test("keeps bytes by key, and lists them in the order of bytes", async () => {
    const { use } = await kvOf();
    await use(async (kv) => {
      expect(await kv.get(bytes(1))).toBeNull();
      await kv.put(bytes(4, 2), Buffer.from("b"));
      await kv.put(new Uint8Array([4, 1]), new Uint8Array([97]));
      await kv.put(bytes(4, 3), Buffer.from("c"));
      await kv.put(bytes(5), Buffer.from("z"));
      expect((await kv.get(bytes(4, 1))).toString()).toBe("a");
      expect(Buffer.isBuffer(await kv.get(bytes(4, 1)))).toBe(true);
      expect(pairs(await kv.listPrefix(bytes(4)))).toEqual([
        ["0401", "a"],
        ["0402", "b"],
        ["0403", "c"],
      ]);
      expect(pairs(await kv.listRange(bytes(4, 1), bytes(4, 3), { reverse: true }))).toEqual([
        ["0402", "b"],
        ["0401", "a"],
      ]);
      expect((await kv.listPrefix(Buffer.alloc(0))).length).toBe(4);
      expect(pairs(await kv.listPrefix(bytes(4), { reverse: true, limit: 1 }))).toEqual([["0403", "c"]]);
      expect(await kv.listPrefix(bytes(4), { limit: 0 })).toEqual([]);
      await kv.deleteRange(bytes(4, 1), bytes(4, 3));
      expect(pairs(await kv.listPrefix(bytes()))).toEqual([
        ["0403", "c"],
        ["05", "z"],
      ]);
      await kv.delete(bytes(9));
    });
  });

  test("does several at once, and checks all before it writes one", async () => {
    const { use } = await kvOf();
    await use(async (kv) => {
      const entries = Array.from({ length: 300 }, (_, i) => ({
        key: bytes(1, i >> 8, i & 255),
        value: Buffer.from(`${i}`),
      }));
      await kv.batchPut(entries);
      const keys = [bytes(1, 1, 43), bytes(0), bytes(1, 0, 0)];
      expect((await kv.batchGet(keys)).map((value: any) => value?.toString() ?? null)).toEqual(["299", null, "0"]);
      await kv.batchDelete(entries.slice(0, 299).map(({ key }) => key));
      expect((await kv.listPrefix(bytes(1))).length).toBe(1);
      const tooLarge = { key: bytes(2), value: Buffer.alloc(131_073) };
      expect(await failure(kv.batchPut([{ key: bytes(3), value: bytes(1) }, tooLarge]))).toMatchObject({
        group: "kv",
        code: "value_too_large",
        public: true,
        statusCode: 400,
        metadata: { size: 131_073, limit: 131_072 },
      });
      expect(await kv.get(bytes(3))).toBeNull();
      expect(await failure(kv.put(Buffer.alloc(2_049), bytes(1)))).toMatchObject({
        code: "key_too_large",
        metadata: { size: 2_049, limit: 2_048 },
      });
      await kv.put(Buffer.alloc(2_048), Buffer.alloc(131_072));
    });
  });

  test.each([
    [-1, "must be non-negative"],
    [2 ** 32, "exceeds u32 range"],
  ])("refuses a limit of %d", async (limit, reason) => {
    const { use } = await kvOf();
    await use(async (kv) => {
      const lists = [() => kv.listPrefix(bytes(1), { limit }), () => kv.listRange(bytes(1), bytes(2), { limit })];
      for (const list of lists) {
        expect(await failure(list())).toMatchObject({
          group: "napi",
          code: "invalid_argument",
          metadata: { argument: "limit", reason },
        });
      }
    });
  });

  test("keeps the order of calls that nobody waited for", async () => {
    const { use } = await kvOf();
    await use(async (kv) => {
      for (let round = 0; round < 50; round++) {
        const puts = Array.from({ length: 100 }, (_, i) => kv.put(bytes(1), Buffer.from(`${i}`)));
        const last = kv.get(bytes(1));
        await Promise.all(puts);
        expect((await last).toString()).toBe("99");
      }
    });
  });
});
