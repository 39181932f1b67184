/** Values under CBOR tags, but for the map of tag 259, and the half float. */
import { held, malformed } from "../errors/malformed";
import { typedArrayOf, typedArrayType } from "./typed-arrays";

export function reviveCborTag(tag: number, value: unknown): unknown {
  switch (tag) {
    case 0:
      return new Date(String(value));
    case 1:
      if (typeof value !== "number") throw held(tag, "a number");
      return new Date(Math.round(value * 1000));
    case 2:
      return bigInteger(tag, value);
    case 3:
      return -1n - bigInteger(tag, value);
    case 27:
      return reviveGeneric(tag, value);
    case 258:
      if (!Array.isArray(value)) throw held(tag, "an array");
      return new Set(value);
    case 55799:
      return value;
  }
  const type = typedArrayType(tag);
  if (type === undefined) throw malformed(`unknown CBOR tag ${tag}`);
  return typedArrayOf(tag, type, value);
}

function bigInteger(tag: number, value: unknown): bigint {
  if (!(value instanceof Uint8Array)) throw held(tag, "a byte string");
  let hex = "0x0";
  for (const byte of value) hex += byte.toString(16).padStart(2, "0");
  return BigInt(hex);
}

const ERROR_TYPES = [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError];

/** The name of a class and its constructor's arguments. */
function reviveGeneric(tag: number, value: unknown): unknown {
  if (!Array.isArray(value) || typeof value[0] !== "string") throw held(tag, "a named object");
  const [name, first = "", second = ""] = value as [string, unknown, unknown];
  if (name === "RegExp") {
    try {
      return new RegExp(String(first), String(second ?? ""));
    } catch {
      throw held(tag, "a valid RegExp");
    }
  }
  const Type = ERROR_TYPES.find((type) => type.name === name) ?? Error;
  const error = new Type(String(first ?? ""));
  if (error.name !== name) error.name = name;
  return error;
}

export function halfFloat(bits: number): number {
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  const normal = exponent === 31 ? (fraction === 0 ? Number.POSITIVE_INFINITY : Number.NaN) : 1024 + fraction;
  const magnitude = exponent === 0 ? fraction * 2 ** -24 : normal * 2 ** (exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}
