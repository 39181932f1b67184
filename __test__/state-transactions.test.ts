import { describe, expect, test } from "vitest";
import { event, greenroom, registryOf, served, temporaryFolder } from "./fixtures/greenroom";

const { actor, db, UserError } = greenroom;

const account = (hooks: { entered?: () => void; leave?: Promise<void> } = {}) =>
  actor({
    state: { balance: 0, history: [] as number[] },
    db: db({ onMigrate: async (tx) => void (await tx.execute("create table if not exists entry (amount)")) }),
    actions: {
      book: (c, amount: number) =>
        c.db.transaction(
          async (tx) => {
            await tx.run`insert into entry values (${amount})`;
            c.state.balance += amount;
            c.state.history.push(amount);
            if (c.state.balance < 0) throw new UserError("too little", { code: "too_little" });
            hooks.entered?.();
            await hooks.leave;
            return c.state.balance;
          },
          { includeState: true },
        ),
      bookAsPublished: (c, amount: number) =>
        c.db.transaction(
          async (tx) => {
            await tx.execute("insert into entry values (?)", amount);
            c.state.balance += amount;
          },
          { experimental: { includeState: true }, timeout: 5000 },
        ),
      look: async (c) => ({
        ...c.state,
        entries: (await c.db.query<{ amount: number }>("select amount from entry")).map(({ amount }) => amount),
      }),
      change: (c) => {
        c.state.balance = -1;
      },
      setUnsaved: (c, balance: number) => {
        c.state.balance = balance;
      },
      /** A change, a transaction that is taken back behind it, and no look at the state since. */
      changeThenFail: async (c) => {
        c.state.balance = 4;
        await c.db
          .transaction(() => Promise.reject(new Error("taken back")), { includeState: true })
          .catch(() => undefined);
      },
      /** Code of the transaction that is not awaited, in the moment in which it is committed. */
      changeTooLate: async (c) => {
        let late: Promise<unknown> = Promise.resolve();
        await c.db.transaction(
          async () => {
            c.state.balance = 1;
            const change = async () => {
              for (let turn = 0; turn < 10; turn++) await null;
              c.state.balance = 99;
              return "changed";
            };
            late = change().catch((error: { code: string }) => error.code);
          },
          { includeState: true },
        );
        return late;
      },
      /** A state that could not be brought back. */
      beginTooDeep: async (c) => {
        let end: any = {};
        c.state.history.push(end);
        end = c.state.history[0];
        for (let depth = 0; depth < 200; depth++) {
          end.next = {};
          end = end.next;
        }
        const refused = await c.db
          .transaction(() => 0, { includeState: true, timeout: 30_000 })
          .catch((error: { code: string }) => error.code);
        await c.db.execute("select 1");
        return refused;
      },
      balance: (c) => c.state.balance,
      save: (c) => c.saveState({ immediate: true }),
      misuse: async (c, how: "save" | "outer" | "nested" | "script" | "iterate" | "commit") =>
        c.db.transaction(
          async (tx) => {
            if (how === "save") await c.saveState({ immediate: true });
            if (how === "outer") await c.db.query("select 1");
            if (how === "nested") await c.db.transaction(() => 0, { includeState: true });
            if (how === "script") await tx.execute("select 1; select 2");
            if (how === "iterate") await tx.iterate("select 1").next();
            if (how === "commit") await tx.run("commit");
          },
          { includeState: true },
        ),
      many: (c, statements: number) =>
        c.db.transaction(
          async (tx) => {
            for (let n = 0; n < statements; n++) await tx.run("insert into entry values (?)", n);
            c.state.balance = 1;
          },
          { includeState: true },
        ),
    },
  });

describe("a transaction that includes the state", () => {
  test("commits both, for the next life of the actor, too", async () => {
    const dataDir = temporaryFolder();
    const first = registryOf({ account: account() }, { dataDir });
    const handle = first.client().account.getOrCreate("a");
    expect(await handle.book(5)).toBe(5);
    await handle.bookAsPublished(2);
    const expected = { balance: 7, history: [5], entries: [5, 2] };
    expect(await handle.look()).toEqual(expected);
    await first.shutdown();
    const second = registryOf({ account: account() }, { dataDir });
    expect(await second.client().account.get("a").look()).toEqual(expected);
  });

  test("takes both back when it throws, down to what was not saved before", async () => {
    const dataDir = temporaryFolder();
    const first = registryOf({ account: account() }, { dataDir });
    const handle = first.client().account.getOrCreate("a");
    await handle.book(5);
    await handle.setUnsaved(3);
    await expect(handle.book(-10)).rejects.toMatchObject({ code: "too_little" });
    const expected = { balance: 3, history: [5], entries: [5] };
    expect(await handle.look()).toEqual(expected);
    await first.shutdown();
    const second = registryOf({ account: account() }, { dataDir });
    expect(await second.client().account.get("a").look()).toEqual(expected);
  });

  test("loses no change that was made before it", async () => {
    const dataDir = temporaryFolder();
    const first = registryOf({ account: account() }, { dataDir });
    await first.client().account.getOrCreate("a").changeThenFail();
    await first.shutdown();
    const second = registryOf({ account: account() }, { dataDir });
    expect(await second.client().account.get("a").look()).toMatchObject({ balance: 4 });
  });

  test.each(["interval", "reply"] as const)("never has a part of it saved: %s", async (durability) => {
    const dataDir = temporaryFolder();
    const [entered, leave] = [event(), event()];
    const { config } = account({
      entered: entered.happen,
      leave: leave.promise.then(() => Promise.reject("no")),
    }) as any;
    const subject = actor({ ...config, options: { durability } }) as ReturnType<typeof account>;
    const first = registryOf({ account: subject }, { dataDir });
    const handle = first.client().account.getOrCreate("a");
    const failing = expect(handle.book(5)).rejects.toBeDefined();
    await entered.promise;
    // Waits for the transaction, and runs the moment in which that ends.
    const saves = [handle.save(), handle.save(), handle.balance()];
    leave.happen();
    await failing;
    await Promise.all(saves);
    await first.shutdown();
    const second = registryOf({ account: subject }, { dataDir });
    expect(await second.client().account.get("a").look()).toEqual({ balance: 0, history: [], entries: [] });
  });

  test("is over for its own code, too, once it is being committed", async () => {
    const handle = registryOf({ account: account() }).client().account.getOrCreate("a");
    const outcome = await handle.changeTooLate();
    expect([outcome, await handle.balance()]).toEqual(["state_transaction_conflict", 1]);
  });

  test("does not begin with a state that could not be brought back", async () => {
    const handle = registryOf({ account: account() }).client().account.getOrCreate("a");
    expect(await handle.beginTooDeep()).toBe("invalid_argument");
  });

  test("leaves a connection's state as it was when the callback began", async () => {
    const [held, leave] = [event(), event()];
    const subject = actor({
      createConnState: () => ({ v: "initial" }),
      options: { canHibernateWebSocket: true },
      db: db(),
      actions: {
        hold: (c) =>
          c.db.transaction(async () => {
            held.happen();
            await leave.promise;
          }),
        set: (c, v: string) => {
          c.conn.state.v = v;
        },
        get: (c) => c.conn.state.v,
        fail: (c) => c.db.transaction(() => Promise.reject(new Error("taken back")), { includeState: true }),
      },
    });
    const { clientIn } = await served({ subject });
    const handle = clientIn().subject.getOrCreate("a");
    const conn = handle.connect();
    const holding = conn.hold();
    await held.promise;
    // Has asked to begin, and waits.
    const failing = expect(handle.fail()).rejects.toBeDefined();
    await conn.set("changed");
    leave.happen();
    await Promise.all([holding, failing]);
    expect(await conn.get()).toBe("changed");
    await conn.dispose();
  });

  test("shows other code the state from before", async () => {
    const [entered, leave] = [event(), event()];
    const subject = account({ entered: entered.happen, leave: leave.promise });
    const handle = registryOf({ account: subject }).client().account.getOrCreate("a");
    await handle.setUnsaved(2);
    const booked = handle.book(5);
    await entered.promise;
    expect(await handle.balance()).toBe(2);
    leave.happen();
    expect(await booked).toBe(7);
    expect(await handle.balance()).toBe(7);
  });

  test("lets nobody else change the state while it is open, and runs them one by one", async () => {
    const [entered, leave] = [event(), event()];
    const subject = account({ entered: entered.happen, leave: leave.promise });
    const handle = registryOf({ account: subject }).client().account.getOrCreate("a");
    const first = handle.book(1);
    await entered.promise;
    const conflict = { group: "actor", code: "state_transaction_conflict" };
    await expect(handle.change()).rejects.toMatchObject(conflict);
    const second = handle.book(2);
    leave.happen();
    expect(await Promise.all([first, second])).toEqual([1, 3]);
    await handle.change();
    expect(await handle.look()).toMatchObject({ balance: -1, entries: [1, 2] });
  });

  test.each([
    ["save", { code: "state_transaction_conflict" }],
    ["outer", { code: "transaction_active" }],
    ["nested", { code: "transaction_active" }],
    ["script", { code: "transaction_invalid_argument" }],
    ["iterate", { code: "transaction_invalid_argument" }],
    ["commit", { message: expect.stringContaining("terminators are not allowed") }],
  ] as const)("refuses misuse: %s", async (how, expected) => {
    let failure: unknown;
    const { config } = account() as any;
    const subject = actor({
      ...config,
      actions: {
        ...config.actions,
        misuse: (c: any) =>
          config.actions.misuse(c, how).catch((error: unknown) => {
            failure = error;
          }),
      },
    });
    const client = registryOf({ account: subject } as any).client() as any;
    const handle = client.account.getOrCreate("a");
    await handle.misuse(how);
    expect(failure).toMatchObject(expected);
    expect(await handle.book(1)).toBe(1);
  });

  test("has a budget", async () => {
    const handle = registryOf({ account: account() }).client().account.getOrCreate("a");
    await handle.many(100);
    await expect(handle.many(128)).rejects.toBeDefined();
    expect(await handle.look()).toMatchObject({ balance: 1, entries: { length: 100 } });
  });
});
