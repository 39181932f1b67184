/** Batches on their way through native code, where they are flat. */

import { invalidArgument } from "../errors/malformed";
import type { NativeSqlBatch, NativeSqlBatchResults, NativeSqlResult } from "../native/storage-types";
import { bindParams } from "./bindings";
import type { SqliteBatchStatement, SqlValue } from "./types";

export function flatten(statements: readonly SqliteBatchStatement[]): NativeSqlBatch {
  if (!Array.isArray(statements)) throw invalidArgument("statements", "must be an array");
  const texts: string[] = [];
  const shape = new Uint32Array(statements.length * 2);
  const values: SqlValue[] = [];
  let at = 0;
  for (const statement of statements as readonly (SqliteBatchStatement | null | undefined)[]) {
    if (statement == null) throw invalidArgument("statements", "must hold statements");
    const { sql, params } = statement;
    // Most batches repeat one text.
    if (texts[texts.length - 1] !== sql) texts.push(sql);
    const before = values.length;
    for (const value of bindParams(sql, params) ?? []) values.push(value);
    shape[at++] = texts.length - 1;
    shape[at++] = values.length - before;
  }
  return { texts, shape: new Uint8Array(shape.buffer), values };
}

export function unfolded({ columns, facts, cells }: NativeSqlBatchResults): NativeSqlResult[] {
  const numbers = new Float64Array(facts.buffer, facts.byteOffset, facts.byteLength / 8);
  const results: NativeSqlResult[] = [];
  let cell = 0;
  for (let at = 0; at < numbers.length; at += 4) {
    const rowId = numbers[at + 3] as number;
    let lastInsertRowId: NativeSqlResult["lastInsertRowId"] = Number.isNaN(rowId) ? null : rowId;
    if (rowId === Number.POSITIVE_INFINITY) lastInsertRowId = cells[cell++] as bigint;
    const count = numbers[at + 1] as number;
    results.push({
      columns: columns[numbers[at] as number] as readonly string[],
      values: cells.slice(cell, cell + count),
      changes: numbers[at + 2] as number,
      lastInsertRowId,
    });
    cell += count;
  }
  return results;
}
