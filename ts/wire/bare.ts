/** Reading and writing BARE, as far as the client protocol uses it. */
import { malformed } from "../errors/malformed";

const utf8 = new TextEncoder();
const utf8Decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class BareWriter {
  readonly #parts: Uint8Array[] = [];

  byte(value: number): this {
    this.#parts.push(Uint8Array.of(value));
    return this;
  }

  u16(value: number): this {
    this.#parts.push(Uint8Array.of(value & 0xff, value >> 8));
    return this;
  }

  u64(value: bigint): this {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigUint64(0, value, true);
    this.#parts.push(bytes);
    return this;
  }

  /** LEB128, for lengths and small numbers. */
  uint(value: number): this {
    const bytes: number[] = [];
    let rest = value;
    while (rest >= 0x80) {
      bytes.push((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    bytes.push(rest);
    this.#parts.push(Uint8Array.from(bytes));
    return this;
  }

  data(bytes: Uint8Array): this {
    this.uint(bytes.length);
    this.#parts.push(bytes);
    return this;
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
    const whole = new Uint8Array(this.#parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of this.#parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
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
    try {
      return utf8Decoder.decode(this.data());
    } catch (error) {
      throw error instanceof TypeError ? malformed("text that is not UTF-8") : error;
    }
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
