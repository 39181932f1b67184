// The published package's adapter for Drizzle (`rivetkit/db/drizzle`), on our addon.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createClient } from "rivetkit/client";
import { runtimeProgram } from "./lib/runtime.mjs";
import { afterKill } from "./lib/suite.mjs";

const FIRST_COLUMNS = ["id", "name", "active", "born"];

/** Runs `use` with a handle of the shop, whose program knows so many migrations. */
async function withShop(count, use) {
  const variables = { MIGRATIONS: String(count) };
  const program = await runtimeProgram("drizzle-program.mjs", variables);
  const client = createClient({ endpoint: program.url });
  try {
    await use(client.shop.getOrCreate(["one"]), { program, variables });
  } finally {
    await client.dispose();
    assert.equal(await program.stop(), 0, "the program leaves with exit code 0");
  }
}

describe("Drizzle of the published package", () => {
  test("runs its migrations once, and writes and reads typed rows", () =>
    withShop(2, async (shop) => {
      assert.deepEqual(await shop.columns(), [...FIRST_COLUMNS, "picture", "tags"]);
      assert.equal(await shop.books(), 2);
      assert.deepEqual(await shop.crud(), {
        added: 1,
        id: 1,
        name: "Ada",
        active: false,
        born: 1_000_000_000,
        picture: [1, 0, 255],
        tags: ["one", "two"],
        total: 1,
      });
    }));

  test("commits a transaction that returns and takes back one that throws", () =>
    withShop(2, async (shop) => {
      assert.deepEqual(await shop.transfer(true), ["taken back", []]);
      assert.deepEqual(await shop.transfer(false), ["kept", ["in a transaction"]]);
    }));

  test("tells SQLite's own words about a constraint", () =>
    withShop(2, async (shop) => {
      assert.match(await shop.twice(), /UNIQUE constraint failed: author\.name/);
    }));

  test("brings a database of an earlier deployment up to date, rows intact", () =>
    withShop(1, async (shop, { program, variables }) => {
      assert.deepEqual(await shop.columns(), FIRST_COLUMNS);
      await shop.addPlain("kept");
      await program.kill();
      variables.MIGRATIONS = "2";
      await program.start();
      assert.deepEqual(await afterKill(() => shop.columns()), [...FIRST_COLUMNS, "picture", "tags"]);
      assert.deepEqual(await shop.names(), ["kept"]);
      assert.equal(await shop.books(), 2);
    }));
});
