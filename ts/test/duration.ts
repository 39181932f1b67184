/** Spans of time as people write them. */
import { invalidOption } from "../errors/raised";

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds, or a number with a unit: `500ms`, `30s`, `5m`, `1.5h`, `2d`. */
export type Duration = number | `${number}${keyof typeof UNITS}`;

/** A span in whole milliseconds; throws for anything that is none. */
export function milliseconds(span: Duration): number {
  const match = typeof span === "string" ? /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(span) : undefined;
  const ms = match ? Number(match[1]) * UNITS[match[2] as keyof typeof UNITS] : span;
  if (typeof ms !== "number" || !Number.isFinite(ms) || ms < 0) {
    throw invalidOption("duration", "must be milliseconds, or a number with ms, s, m, h or d");
  }
  return Math.round(ms);
}
