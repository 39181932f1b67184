/** SQL values in both directions. */
import { isPlainObject } from "../common/plain";
import { toRaw } from "../common/raw";
import { ActorError } from "../errors/actor-error";
import type { BindParam } from "../native/storage-types";
import type { SqliteBindings } from "./types";

/** Bindings in the order of their placeholders. */
export function bindParams(sql: string, bindings: SqliteBindings | undefined): BindParam[] | undefined {
  if (bindings === undefined) return undefined;
  if (Array.isArray(bindings)) return bindings.map((value, index) => bindParam(`?${index + 1}`, value));
  return placeholderNames(sql).map((token) => {
    const name = [token, token.slice(1), `:${token.slice(1)}`, `@${token.slice(1)}`, `$${token.slice(1)}`].find(
      (candidate) => Object.hasOwn(bindings, candidate),
    );
    if (name === undefined) throw invalidBinding(token, "is missing in the bindings");
    return bindParam(token, bindings[name]);
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

function bindParam(name: string, input: unknown): BindParam {
  const value = toRaw(input);
  switch (typeof value) {
    case "string":
      return { kind: "text", textValue: value };
    case "number":
      return Number.isSafeInteger(value) ? { kind: "int", intValue: value } : { kind: "float", floatValue: value };
    case "bigint":
      return bindBigInt(name, value);
    case "object":
      if (value === null) return { kind: "null" };
      if (value instanceof Uint8Array) {
        return { kind: "blob", blobValue: Buffer.from(value.buffer, value.byteOffset, value.byteLength) };
      }
  }
  throw invalidBinding(name, "must be null, a number, string, bigint or Uint8Array");
}

/** The native interface takes integers as numbers; a larger one would be rounded. */
function bindBigInt(name: string, value: bigint): BindParam {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw invalidBinding(name, "is a bigint beyond 53 bits; bind it as text and cast");
  return { kind: "int", intValue: number };
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
