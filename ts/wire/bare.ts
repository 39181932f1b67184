/** Reading and writing BARE, as far as the client protocol uses it. */

import { utf8Text } from "../codec/utf8";
import { concat } from "../common/bytes";
import { malformed } from "../errors/malformed";

const utf8 = new TextEncoder();

/** A piece of a message: one byte, or several. */
type Piece = number | Uint8Array;

/** A message of its pieces. */
export function message(...pieces: Piece[]): Uint8Array {
  return concat(pieces.map((piece) => (typeof piece === "number" ? Uint8Array.of(piece) : piece)));
}

/** LEB128, for lengths and small numbers. */
export function uint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return [...bytes, rest];
}

export function u64(value: bigint): Piece[] {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, value, true);
  return [new Uint8Array(view.buffer)];
}

export function data(bytes: Uint8Array): Piece[] {
  return [...uint(bytes.length), bytes];
}

export function text(value: string): Piece[] {
  return data(utf8.encode(value));
}

export function optional<T>(value: T | undefined, write: (value: T) => Piece[]): Piece[] {
  return value === undefined ? [0] : [1, ...write(value)];
}

export class BareReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  byte(): number {
    return this.#bytes[this.#take(1)] as number;
  }

  u16(): number {
    return this.byte() | (this.byte() << 8);
  }

  bool(): boolean {
    const value = this.byte();
    if (value > 1) throw malformed(`bool with value ${value}`);
    return value === 1;
  }

  /** LEB128 up to what a number holds exactly. */
  uint(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (value > Number.MAX_SAFE_INTEGER) throw malformed("an integer beyond 53 bits");
      if (byte < 0x80) return value;
      scale *= 0x80;
    }
  }

  data(): Uint8Array {
    const length = this.uint();
    const at = this.#take(length);
    return this.#bytes.subarray(at, at + length);
  }

  text(): string {
    return utf8Text(this.data());
  }

  optional<T>(read: () => T): T | undefined {
    return this.bool() ? read() : undefined;
  }

  /** Ends the reading; anything left over is an error. */
  end(): void {
    const rest = this.#bytes.length - this.#at;
    if (rest > 0) throw malformed(`${rest} bytes after the message`);
  }

  #take(count: number): number {
    if (count > this.#bytes.length - this.#at) throw malformed("unexpected end of input");
    const at = this.#at;
    this.#at += count;
    return at;
  }
}
