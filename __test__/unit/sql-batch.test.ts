import { describe, expect, test } from "vitest";
import { flatten, unfolded } from "../../ts/db/batch";

const shapeOf = ({ shape }: { shape: Uint8Array }) => [...new Uint32Array(shape.buffer)];

describe("a batch on its way to native code", () => {
  test("names a text once as long as it repeats", () => {
    const batch = flatten([
      { sql: "a ?", params: [1] },
      { sql: "a ?", params: [2] },
      { sql: "b" },
      { sql: "a :x", params: { x: "three" } },
    ]);
    expect(batch.texts).toEqual(["a ?", "b", "a :x"]);
    expect(batch.values).toEqual([1, 2, "three"]);
    expect(shapeOf(batch)).toEqual([0, 1, 0, 1, 1, 0, 2, 1]);
  });

  test("may be empty", () => {
    expect(flatten([])).toEqual({ texts: [], shape: new Uint8Array(0), values: [] });
  });

  test("refuses what has no place in SQLite, by its position in its statement", () => {
    const statements = [
      { sql: "a ?", params: [1] },
      { sql: "a ?", params: [true as never] },
    ];
    expect(() => flatten(statements)).toThrow("parameter ?1");
  });
});

describe("the results of a batch", () => {
  test("get their columns, cells, changes and rowid back", () => {
    const facts = Float64Array.of(
      ...[0, 4, 3, Number.NaN],
      ...[1, 0, 1, 7],
      ...[1, 0, 1, Number.POSITIVE_INFINITY],
      ...[0, 2, 1, Number.POSITIVE_INFINITY],
    );
    const results = unfolded({
      columns: [["x", "y"], []],
      facts: new Uint8Array(facts.buffer),
      cells: [1, "a", 2, null, 2n ** 60n, -(2n ** 60n), 3, "c"],
    });
    expect(results).toEqual([
      { columns: ["x", "y"], values: [1, "a", 2, null], changes: 3, lastInsertRowId: null },
      { columns: [], values: [], changes: 1, lastInsertRowId: 7 },
      { columns: [], values: [], changes: 1, lastInsertRowId: 2n ** 60n },
      { columns: ["x", "y"], values: [3, "c"], changes: 1, lastInsertRowId: -(2n ** 60n) },
    ]);
  });
});
