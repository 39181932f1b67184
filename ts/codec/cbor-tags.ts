/** Values of CBOR tags other than typed arrays and maps, and the half float. */
import { malformed } from "../errors/malformed";

export function reviveCborTag(tag: number, value: unknown): unknown {
  switch (tag) {
    case 0:
      return new Date(String(value));
    case 1:
      if (typeof value !== "number") throw malformed("tag 1 does not hold a number");
      return new Date(Math.round(value * 1000));
    case 2:
      return bigInteger(value);
    case 3:
      return -1n - bigInteger(value);
    case 27:
      return reviveGeneric(value);
    case 258:
      if (!Array.isArray(value)) throw malformed("tag 258 does not hold an array");
      return new Set(value);
    case 55799:
      return value;
    default:
      throw malformed(`unknown CBOR tag ${tag}`);
  }
}

function bigInteger(value: unknown): bigint {
  if (!(value instanceof Uint8Array)) throw malformed("a big integer that is no byte string");
  let hex = "0x0";
  for (const byte of value) hex += byte.toString(16).padStart(2, "0");
  return BigInt(hex);
}

const ERROR_TYPES: Readonly<Record<string, ErrorConstructor>> = {
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
};

function reviveGeneric(value: unknown): unknown {
  if (!Array.isArray(value) || typeof value[0] !== "string") throw malformed("tag 27 does not hold a named object");
  const [name, first, second] = value as [string, unknown, unknown];
  if (name === "RegExp") {
    try {
      return new RegExp(String(first), String(second ?? ""));
    } catch {
      throw malformed("tag 27 holds no valid RegExp");
    }
  }
  const known = Object.hasOwn(ERROR_TYPES, name) ? ERROR_TYPES[name] : undefined;
  const error = new (known ?? Error)(String(first ?? ""));
  if (known === undefined && name !== "Error") error.name = name;
  return error;
}

export function halfFloat(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * 2 ** -24 * fraction;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * 2 ** (exponent - 25) * (1024 + fraction);
}
