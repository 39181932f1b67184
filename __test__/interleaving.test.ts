import { expect, test } from "vitest";
import { event, greenroom, registryOf } from "./fixtures/greenroom";

const { actor, db } = greenroom;

type Ending = "commit" | "rollback";
type Caller = "a" | "b";

/** Every order of two callers' steps that keeps each caller's own order. */
function orders(left: number, right: number): Caller[][] {
  if (left === 0 && right === 0) return [[]];
  return [
    ...(left > 0 ? orders(left - 1, right).map((rest): Caller[] => ["a", ...rest]) : []),
    ...(right > 0 ? orders(left, right - 1).map((rest): Caller[] => ["b", ...rest]) : []),
  ];
}

const STEPS = 3;
const ENDINGS: [Ending, Ending][] = [
  ["commit", "commit"],
  ["commit", "rollback"],
  ["rollback", "commit"],
  ["rollback", "rollback"],
];

/**
 * One caller: a transaction that reads, writes what it read plus one, and ends.
 * It takes each step only when its gate for it opens.
 */
async function caller(
  database: any,
  name: Caller,
  gates: Promise<void>[],
  ending: Ending,
): Promise<number | undefined> {
  await gates[0];
  const outcome = database.transaction(async (tx: any) => {
    await gates[1];
    const { n } = await tx.get("select coalesce(max(n), 0) as n from step");
    await tx.run("insert into step values (?, ?)", name, n + 1);
    await gates[2];
    if (ending === "rollback") throw new Error("taken back");
    return n + 1;
  });
  return outcome.catch((error: Error) => {
    if (error.message !== "taken back") throw error;
  });
}

test("transactions of two callers give the same as one after the other, in every order of their steps", async () => {
  let failure: unknown;
  let tried = 0;
  const subject = actor({
    db: db({ onMigrate: async (tx) => void (await tx.execute("create table step (who, n)")) }),
    actions: {
      run: async (c) => {
        for (const order of orders(STEPS, STEPS)) {
          for (const endings of ENDINGS) {
            await c.db.run("delete from step");
            await tryOrder(c.db, order, endings);
            tried++;
          }
        }
      },
    },
  });
  const handle = registryOf({ subject }).client().subject.getOrCreate("a");
  await handle.run().catch((error) => (failure = error));
  expect(failure).toBe(undefined);
  expect(tried).toBe(80);
});

async function tryOrder(database: any, order: Caller[], [a, b]: [Ending, Ending]): Promise<void> {
  const gates = { a: Array.from({ length: STEPS }, () => event()), b: Array.from({ length: STEPS }, () => event()) };
  const promises = (name: Caller) => gates[name].map((gate) => gate.promise);
  const callers = [caller(database, "a", promises("a"), a), caller(database, "b", promises("b"), b)];
  // A plain statement in between waits for whoever has the database.
  const between = database.get("select count(*) as n from step");
  const next = { a: 0, b: 0 };
  for (const name of order) {
    gates[name][next[name]++]?.happen();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const results = await Promise.all(callers);
  await between;
  const committed = results.filter((result) => result !== undefined).sort();
  const rows = await database.query("select n from step order by n");
  const facts = `${order.join("")} ${a} ${b}`;
  expect([facts, rows.map((row: any) => row.n)]).toEqual([facts, committed]);
  expect([facts, committed]).toEqual([facts, committed.map((_, at) => at + 1)]);
}
