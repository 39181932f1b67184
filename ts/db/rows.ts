/** Results of native code, where all cells stand in one array, as rows. */
import { setOwn } from "../common/plain";
import type { SqlRow, SqlValue } from "./types";

export function toLists(columns: readonly string[], values: readonly SqlValue[]): SqlValue[][] {
  const width = columns.length;
  const rows: SqlValue[][] = [];
  for (let at = 0; at < values.length; at += width) rows.push(values.slice(at, at + width));
  return rows;
}

/** Of columns with the same name the last one counts. */
export function toRecords(columns: readonly string[], values: readonly SqlValue[]): SqlRow[] {
  const width = columns.length;
  const rows: SqlRow[] = [];
  for (let at = 0; at < values.length; at += width) {
    const row: SqlRow = {};
    for (let i = 0; i < width; i++) setOwn(row, columns[i] as string, values[at + i]);
    rows.push(row);
  }
  return rows;
}

export function toRecord(columns: readonly string[], cells: readonly SqlValue[]): SqlRow {
  const row: SqlRow = {};
  for (let i = 0; i < columns.length; i++) setOwn(row, columns[i] as string, cells[i]);
  return row;
}
