/** From values of a program to the parameters of a statement. */
import { isPlainObject } from "../common/plain";
import { toRaw } from "../common/raw";
import { ActorError } from "../errors/actor-error";
import { invalidArgument } from "../errors/malformed";
import type { SqliteBindings, SqlValue } from "./types";

/** Bytes of one value, as native code has it. */
const VALUE_BYTES_MAX = 256 * 1024 * 1024;

/** Bindings in the order of their placeholders. */
export function bindParams(sql: string, bindings: SqliteBindings | undefined): SqlValue[] | undefined {
  requireText(sql);
  if (bindings === undefined) return undefined;
  if (bindings === null || typeof bindings !== "object") {
    throw invalidArgument("params", "must be an array or an object of named values");
  }
  if (Array.isArray(bindings)) return bindings.map((value, index) => bindable(index, value));
  return placeholderNames(sql).map((token) => {
    const name = [token, token.slice(1), `:${token.slice(1)}`, `@${token.slice(1)}`, `$${token.slice(1)}`].find(
      (candidate) => Object.hasOwn(bindings, candidate),
    );
    if (name === undefined) throw invalidBinding(token, "is missing in the bindings");
    return bindable(token, bindings[name]);
  });
}

/** Programs without types hand over anything. */
export function requireText(sql: unknown): asserts sql is string {
  if (typeof sql !== "string") throw invalidArgument("sql", "must be a string");
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
      if (value.length > VALUE_BYTES_MAX) throw tooLarge(place, value.length);
      return value;
    case "number":
    case "bigint":
      return value;
    case "object":
      if (value === null) return value;
      if (!(value instanceof Uint8Array)) break;
      if (value.byteLength > VALUE_BYTES_MAX) throw tooLarge(place, value.byteLength);
      return value;
  }
  throw invalidBinding(nameOf(place), "must be null, a number, string, bigint or Uint8Array");
}

/** Native code says the same of text that has more bytes than characters, which it has copied by then. */
function tooLarge(place: string | number, bytes: number): ActorError {
  return invalidBinding(nameOf(place), `it has ${bytes} bytes, the limit is ${VALUE_BYTES_MAX}`);
}

const nameOf = (place: string | number) => (typeof place === "number" ? `?${place + 1}` : place);

/** Of values for many runs of one statement; `at` counts rows from 0. */
export function unevenRows(at: number, length: number, width: number): ActorError {
  const name = `?${Math.min(length, width) + 1}`;
  return invalidBinding(name, `row ${at} has ${length} values, the rows before it have ${width}`);
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
