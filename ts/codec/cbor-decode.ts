/**
 * The CBOR decoder for everything the peers of a greenroom actor write: our own
 * encoder, native code, and the published packages.
 *
 * Lengths in the input are checked against the bytes that are there before
 * anything is allocated, and nesting is bounded, so no input costs more than its
 * own size.
 */
import { setOwn } from "../common/plain";
import { malformed } from "../errors/malformed";
import { halfFloat, reviveCborTag } from "./cbor-tags";
import { MAX_DEPTH } from "./serializable";
import { looksTagged, reviveTag } from "./tags";
import { isTypedArrayTag, typedArrayOf } from "./typed-arrays";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const SHORT_TEXT = 24;
const INDEFINITE = -1;
const BREAK = Symbol("break");

export function decodeCbor(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined;
  const reader = new Reader(bytes);
  const value = reader.value(0);
  if (value === BREAK) throw malformed("a break outside of an indefinite item");
  if (reader.rest() > 0) throw malformed(`${reader.rest()} bytes after the value`);
  return value;
}

class Reader {
  readonly #bytes: Uint8Array;
  #lazyView: DataView | undefined;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Made when first needed: making it costs more than decoding a small value. */
  get #view(): DataView {
    this.#lazyView ??= new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.byteLength);
    return this.#lazyView;
  }

  rest(): number {
    return this.#bytes.length - this.#at;
  }

  value(depth: number): unknown {
    // A `$` tag is an extra array around its value, hence the factor.
    if (depth > 2 * MAX_DEPTH) throw malformed(`nested deeper than ${MAX_DEPTH} levels`);
    const initial = this.#bytes[this.#take(1)] as number;
    const info = initial & 0x1f;
    switch (initial >> 5) {
      case 0:
        return this.#integer(info);
      case 1:
        return this.#negative(info);
      case 2:
        return this.#byteString(info);
      case 3:
        return this.#text(info);
      case 4:
        return this.#array(info, depth);
      case 5:
        return this.#map(info, depth);
      case 6:
        return this.#tagged(this.#length(info), depth);
      default:
        return this.#simple(info);
    }
  }

  /**
   * Encoders of this ecosystem write numbers beyond 32 bits as floats and only a
   * BigInt in eight bytes, however small it is.
   */
  #integer(info: number): number | bigint {
    if (info !== 27) return this.#length(info);
    return this.#view.getBigUint64(this.#take(8));
  }

  #negative(info: number): number | bigint {
    if (info !== 27) return -1 - this.#length(info);
    return -1n - this.#view.getBigUint64(this.#take(8));
  }

  /** The argument of a head: a length, a tag number or a small integer. */
  #length(info: number): number {
    if (info < 24) return info;
    if (info === 24) return this.#uint(1);
    if (info === 25) return this.#uint(2);
    if (info === 26) return this.#uint(4);
    if (info !== 27) throw malformed(`head with reserved information ${info}`);
    const wide = this.#view.getBigUint64(this.#take(8));
    if (wide > Number.MAX_SAFE_INTEGER) throw malformed("a length beyond any memory");
    return Number(wide);
  }

  #uint(width: number): number {
    let value = 0;
    for (let at = this.#take(width); at < this.#at; at++) value = value * 256 + (this.#bytes[at] as number);
    return value;
  }

  #byteString(info: number): Uint8Array {
    if (info === 31) return concat(this.#chunks(2) as Uint8Array[]);
    const length = this.#length(info);
    const at = this.#take(length);
    // A copy: the input may be a view on memory that native code reuses.
    return Uint8Array.prototype.slice.call(this.#bytes, at, at + length);
  }

  #text(info: number): string {
    if (info === 31) return (this.#chunks(3) as string[]).join("");
    const length = this.#length(info);
    const at = this.#take(length);
    return length <= SHORT_TEXT ? (this.#ascii(at, length) ?? this.#unicode(at, length)) : this.#unicode(at, length);
  }

  #ascii(at: number, length: number): string | undefined {
    let text = "";
    for (let i = at; i < at + length; i++) {
      const code = this.#bytes[i] as number;
      if (code > 0x7f) return undefined;
      text += String.fromCharCode(code);
    }
    return text;
  }

  #unicode(at: number, length: number): string {
    try {
      return utf8.decode(this.#bytes.subarray(at, at + length));
    } catch {
      throw malformed("text that is not UTF-8");
    }
  }

  /** The pieces of an indefinite string; each must be of the same type. */
  #chunks(major: number): (Uint8Array | string)[] {
    const pieces: (Uint8Array | string)[] = [];
    for (;;) {
      const initial = this.#bytes[this.#take(1)] as number;
      if (initial === 0xff) return pieces;
      const info = initial & 0x1f;
      if (initial >> 5 !== major || info === 31) throw malformed("a piece of another type in an indefinite string");
      pieces.push(major === 2 ? this.#byteString(info) : this.#text(info));
    }
  }

  #array(info: number, depth: number): unknown {
    const count = this.#count(info, 1);
    const array: unknown[] = [];
    for (let i = 0; i !== count; i++) {
      const item = this.value(depth + 1);
      if (item === BREAK) {
        if (count === INDEFINITE) break;
        throw malformed("a break inside of a definite array");
      }
      array.push(item);
    }
    return looksTagged(array) ? reviveTag(array) : array;
  }

  #map(info: number, depth: number): unknown {
    const count = this.#count(info, 2);
    const object: Record<string, unknown> = {};
    for (let i = 0; i !== count; i++) {
      const key = this.value(depth + 1);
      if (key === BREAK && count === INDEFINITE) break;
      const item = this.value(depth + 1);
      if (item === BREAK) throw malformed("a map that ends behind a key");
      if (typeof key !== "string" && typeof key !== "number") {
        throw malformed("a map with keys other than text and numbers");
      }
      setOwn(object, String(key), item);
    }
    return object;
  }

  #entries(depth: number): Map<unknown, unknown> {
    const initial = this.#bytes[this.#take(1)] as number;
    if (initial >> 5 !== 5) throw malformed("tag 259 does not hold a map");
    const count = this.#count(initial & 0x1f, 2);
    const map = new Map<unknown, unknown>();
    for (let i = 0; i !== count; i++) {
      const key = this.value(depth + 1);
      if (key === BREAK && count === INDEFINITE) break;
      const item = this.value(depth + 1);
      if (key === BREAK || item === BREAK) throw malformed("a break inside of a map");
      map.set(key, item);
    }
    return map;
  }

  #tagged(tag: number, depth: number): unknown {
    if (tag === 259) return this.#entries(depth + 1);
    const value = this.value(depth + 1);
    if (value === BREAK) throw malformed(`tag ${tag} without a value`);
    if (isTypedArrayTag(tag)) return typedArrayOf(tag, value);
    return reviveCborTag(tag, value);
  }

  #simple(info: number): unknown {
    switch (info) {
      case 20:
        return false;
      case 21:
        return true;
      case 22:
        return null;
      case 23:
        return undefined;
      case 25:
        return halfFloat(this.#view.getUint16(this.#take(2)));
      case 26:
        return this.#view.getFloat32(this.#take(4));
      case 27:
        return this.#view.getFloat64(this.#take(8));
      case 31:
        return BREAK;
      default:
        throw malformed(`simple value ${info}`);
    }
  }

  /** Number of items; each takes at least `least` bytes of what is left. */
  #count(info: number, least: number): number {
    if (info === 31) return INDEFINITE;
    const count = this.#length(info);
    if (count * least > this.rest()) throw malformed("more items announced than bytes left");
    return count;
  }

  #take(count: number): number {
    if (count > this.rest()) throw malformed("unexpected end of input");
    const at = this.#at;
    this.#at += count;
    return at;
  }
}

function concat(pieces: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
