/** From values of a program to the parameters of a statement. */
import { isPlainObject } from "../common/plain";
import { toRaw } from "../common/raw";
import { ActorError } from "../errors/actor-error";
import type { SqliteBindings, SqlValue } from "./types";

/** Bindings in the order of their placeholders. */
export function bindParams(sql: string, bindings: SqliteBindings | undefined): SqlValue[] | undefined {
  if (bindings === undefined) return undefined;
  if (Array.isArray(bindings)) return bindings.map((value, index) => bindable(index, value));
  return placeholderNames(sql).map((token) => {
    const name = [token, token.slice(1), `:${token.slice(1)}`, `@${token.slice(1)}`, `$${token.slice(1)}`].find(
      (candidate) => Object.hasOwn(bindings, candidate),
    );
    if (name === undefined) throw invalidBinding(token, "is missing in the bindings");
    return bindable(token, bindings[name]);
  });
}

/**
 * The one object of named bindings, or all arguments as positional ones. Binary
 * values are objects, too, but never plain.
 */
export function bindingsOf(args: unknown[]): SqliteBindings | undefined {
  if (args.length === 0) return undefined;
  const [first] = args;
  return args.length === 1 && isPlainObject(first) ? first : args;
}

/**
 * Native code takes these as they are; what has no place in SQLite is refused.
 * `place` is a name, or a position counted from 0: its name is made for errors only.
 */
export function bindable(place: string | number, input: unknown): SqlValue {
  const value = toRaw(input);
  switch (typeof value) {
    case "string":
    case "number":
    case "bigint":
      return value;
    case "object":
      if (value === null || value instanceof Uint8Array) return value;
  }
  const name = typeof place === "number" ? `?${place + 1}` : place;
  throw invalidBinding(name, "must be null, a number, string, bigint or Uint8Array");
}

function invalidBinding(name: string, reason: string): ActorError {
  return new ActorError("sqlite", "invalid_bind_parameter", `Invalid SQLite bind parameter ${name}: ${reason}`, {
    metadata: { name, reason },
  });
}

/** Literals, quoted names and comments are skipped, placeholders captured. */
const TOKENS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\/|([:@$][A-Za-z_]\w*)/g;

/** Distinct placeholders in order of first appearance, which is how SQLite counts them. */
function placeholderNames(sql: string): string[] {
  const names = new Set<string>();
  for (const [, name] of sql.matchAll(TOKENS)) {
    if (name !== undefined) names.add(name);
  }
  return [...names];
}
