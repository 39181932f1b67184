/**
 * The CBOR decoder for everything the peers of a greenroom actor write: our own
 * encoder, native code, and the published packages.
 *
 * Lengths in the input are checked against the bytes that are there before
 * anything is allocated, and nesting is bounded, so no input costs more than its
 * own size.
 */
import { concat } from "../common/bytes";
import { setOwn } from "../common/plain";
import { held, malformed } from "../errors/malformed";
import { halfFloat, reviveCborTag } from "./cbor-tags";
import { MAX_DEPTH } from "./serializable";
import { reviveTag } from "./tags";
import { utf8Text } from "./utf8";

const INDEFINITE = 31;
const BREAK = Symbol("break");

export function decodeCbor(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined;
  const reader = new Reader(bytes);
  const value = reader.value(0);
  if (value === BREAK) throw malformed("a break out of place");
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
    const head = this.#head();
    const info = head & 0x1f;
    switch (head >> 5) {
      // Encoders of this ecosystem write numbers beyond 32 bits as floats and only
      // a BigInt in eight bytes, however small it is.
      case 0:
        return info === 27 ? this.#wide() : this.#length(info);
      case 1:
        return info === 27 ? -1n - this.#wide() : -1 - this.#length(info);
      case 2:
        // A copy: the input may be a view on memory that native code reuses.
        return new Uint8Array(this.#string(info, 2));
      case 3:
        return this.#text(info);
      case 4:
        return reviveTag(this.#items(info, 1, depth));
      case 5:
        return this.#object(info, depth);
      case 6:
        return this.#tagged(this.#length(info), depth);
      default:
        return this.#simple(info);
    }
  }

  #head(): number {
    return this.#bytes[this.#take(1)] as number;
  }

  #wide(): bigint {
    return this.#view.getBigUint64(this.#take(8));
  }

  /** The argument of a head: a length, a tag number or a small integer. */
  #length(info: number): number {
    if (info < 24) return info;
    if (info > 27) throw malformed(`a reserved head ${info}`);
    let value = 0;
    for (let at = this.#take(1 << (info - 24)); at < this.#at; at++) value = value * 256 + (this.#bytes[at] as number);
    if (value > Number.MAX_SAFE_INTEGER) throw malformed("a length beyond 53 bits");
    return value;
  }

  /** The bytes of a byte string (2) or text (3); pieces of an indefinite one must be of its type. */
  #string(info: number, major: number): Uint8Array {
    if (info !== INDEFINITE) {
      const length = this.#length(info);
      const at = this.#take(length);
      return this.#bytes.subarray(at, at + length);
    }
    const pieces: Uint8Array[] = [];
    for (let head = this.#head(); head !== 0xff; head = this.#head()) {
      const size = head & 0x1f;
      if (head >> 5 !== major || size === INDEFINITE) {
        throw malformed("a piece of another type");
      }
      pieces.push(this.#string(size, major));
    }
    return concat(pieces);
  }

  #text(info: number): string {
    // Most texts are short enough for their head and ASCII: for these the decoder takes longer.
    if (info < 24) {
      const short = this.#ascii(info);
      if (short !== undefined) return short;
    }
    return utf8Text(this.#string(info, 3));
  }

  /** Takes a text if it is ASCII; otherwise moves nowhere. */
  #ascii(length: number): string | undefined {
    const start = this.#take(length);
    let text = "";
    for (let at = start; at < this.#at; at++) {
      const code = this.#bytes[at] as number;
      if (code > 0x7f) {
        this.#at = start;
        return undefined;
      }
      text += String.fromCharCode(code);
    }
    return text;
  }

  /** The items of an array; with `width` 2 the keys and values of a map, in turn. */
  #items(info: number, width: number, depth: number): unknown[] {
    const count = info === INDEFINITE ? Number.POSITIVE_INFINITY : this.#length(info) * width;
    // Each takes at least a byte of what is left.
    if (info !== INDEFINITE && count > this.rest()) throw malformed("more items than bytes");
    const items: unknown[] = [];
    while (items.length < count) {
      const item = this.value(depth + 1);
      if (item === BREAK) {
        if (info === INDEFINITE && items.length % width === 0) break;
        throw malformed("a break out of place");
      }
      items.push(item);
    }
    return items;
  }

  #object(info: number, depth: number): unknown {
    const items = this.#items(info, 2, depth);
    const object: Record<string, unknown> = {};
    for (let i = 0; i < items.length; i += 2) {
      const key = items[i];
      if (typeof key !== "string" && typeof key !== "number") {
        throw malformed("a map key that is no text or number");
      }
      setOwn(object, String(key), items[i + 1]);
    }
    return object;
  }

  #tagged(tag: number, depth: number): unknown {
    if (tag === 259) return this.#map(tag, depth);
    const value = this.value(depth + 1);
    if (value === BREAK) throw held(tag, "a value");
    return reviveCborTag(tag, value);
  }

  #map(tag: number, depth: number): unknown {
    const head = this.#head();
    if (head >> 5 !== 5) throw held(tag, "a map");
    const items = this.#items(head & 0x1f, 2, depth + 1);
    const map = new Map<unknown, unknown>();
    for (let i = 0; i < items.length; i += 2) map.set(items[i], items[i + 1]);
    return map;
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

  #take(count: number): number {
    if (count > this.rest()) throw malformed("unexpected end of input");
    const at = this.#at;
    this.#at += count;
    return at;
  }
}
