/** Reading and writing BARE, as far as the client protocol uses it. */

import { utf8Text } from "../codec/utf8";
import { concat } from "../common/bytes";
import { malformed } from "../errors/malformed";

const utf8 = new TextEncoder();

export class BareWriter {
  readonly #parts: Uint8Array[] = [];

  bytes(...bytes: number[]): this {
    return this.#part(Uint8Array.from(bytes));
  }

  byte(value: number): this {
    return this.bytes(value);
  }

  u16(value: number): this {
    return this.bytes(value & 0xff, value >> 8);
  }

  u64(value: bigint): this {
    const view = new DataView(new ArrayBuffer(8));
    view.setBigUint64(0, value, true);
    return this.#part(new Uint8Array(view.buffer));
  }

  /** LEB128, for lengths and small numbers. */
  uint(value: number): this {
    const bytes: number[] = [];
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
    return this.bytes(...bytes, rest);
  }

  data(bytes: Uint8Array): this {
    return this.uint(bytes.length).#part(bytes);
  }

  text(value: string): this {
    return this.data(utf8.encode(value));
  }

  optional<T>(value: T | undefined, write: (value: T) => void): this {
    this.byte(value === undefined ? 0 : 1);
    if (value !== undefined) write(value);
    return this;
  }

  finish(): Uint8Array {
    return concat(this.#parts);
  }

  #part(bytes: Uint8Array): this {
    this.#parts.push(bytes);
    return this;
  }
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
