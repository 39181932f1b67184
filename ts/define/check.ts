/** Refusing what was probably meant to be something else. */
import { invalidDefinition } from "../errors/raised";

/** Throws for the first property that is not known, naming a likely intention. */
export function rejectUnknown(
  object: object,
  known: readonly string[],
  prefix: string,
  error: (option: string, reason: string) => Error = invalidDefinition,
): void {
  for (const name of Object.keys(object)) {
    if (!known.includes(name)) throw error(`${prefix}${name}`, `is not a known option${hint(name, known, prefix)}`);
  }
}

/** The end of a complaint about an unknown name: which one may have been meant. */
export function hint(name: string, known: readonly string[], prefix = ""): string {
  const similar = closest(name, known);
  return similar === undefined ? "" : `; did you mean ${prefix}${similar}?`;
}

function closest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Levenshtein distance, row by row. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replace, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
