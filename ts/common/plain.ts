/** Telling values apart by structure. */
import { isObject } from "./object";

/** An object literal or `Object.create(null)`, of this or another realm. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  const proto: unknown = Object.getPrototypeOf(value);
  if (proto === Object.prototype || proto === null) return true;
  // Another realm's Object.prototype: the end of a chain, with its own toString.
  return Object.getPrototypeOf(proto) === null && Object.hasOwn(proto as object, "isPrototypeOf");
}

export type TypedArray = NodeJS.TypedArray;

export function isTypedArray(value: unknown): value is TypedArray {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

/** Sets a property that may be called `__proto__` without touching the prototype. */
export function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}
