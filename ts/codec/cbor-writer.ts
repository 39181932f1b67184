/** A growing buffer with the primitives of CBOR (RFC 8949): heads, text, floats. */

const INITIAL_BYTES = 1024;
/** Buffers beyond this are not kept for the next call. */
const KEEP_BYTES = 256 * 1024;
/** Up to here a loop beats the encoder. */
const SHORT_TEXT = 64;

/** How a head says that one, two or four bytes follow. */
const SIZE_INFO = [0, 24, 25, 0, 26];

const utf8 = new TextEncoder();
/** The writer that is free for the next call; making one costs more than using it. */
let spare: CborWriter | undefined;

export class CborWriter {
  #bytes = new Uint8Array(INITIAL_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  static take(): CborWriter {
    const writer = spare ?? new CborWriter();
    // Taken: an encode inside a getter of this encode gets its own.
    spare = undefined;
    return writer;
  }

  /** The bytes written, in memory of their own. Ends the use of this writer. */
  finish(): Uint8Array {
    const result = this.#bytes.slice(0, this.#length);
    this.release();
    return result;
  }

  /** Gives the writer back without a result. */
  release(): void {
    this.#length = 0;
    if (this.#bytes.length <= KEEP_BYTES) spare = this;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  /** Major type (0–7) with its argument, below 2^32, in the shortest form. */
  head(major: number, argument: number): void {
    this.#reserve(5);
    const size = headBytes(argument) - 1;
    this.#bytes[this.#length++] = (major << 5) | (size === 0 ? argument : (SIZE_INFO[size] as number));
    for (let shift = (size - 1) * 8; shift >= 0; shift -= 8) this.#bytes[this.#length++] = argument >>> shift;
  }

  float64(value: number): void {
    this.#reserve(9);
    this.#bytes[this.#length++] = 0xfb;
    this.#view.setFloat64(this.#length, value);
    this.#length += 8;
  }

  bytes(value: Uint8Array): void {
    this.head(2, value.length);
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  text(value: string): void {
    // A character takes three bytes at most.
    this.#reserve(5 + value.length * 3);
    if (value.length > SHORT_TEXT || !this.#ascii(value)) this.#unicode(value);
  }

  /** Writes a short text if it is ASCII; otherwise leaves no trace. */
  #ascii(value: string): boolean {
    const start = this.#length;
    this.head(3, value.length);
    const bytes = this.#bytes;
    let at = this.#length;
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i);
      if (code > 0x7f) {
        this.#length = start;
        return false;
      }
      bytes[at++] = code;
    }
    this.#length = at;
    return true;
  }

  #unicode(value: string): void {
    // The head's size depends on the byte length, known only after encoding:
    // encode behind the largest head this string can need, then close the gap.
    const behind = this.#length + headBytes(value.length * 3);
    const { written } = utf8.encodeInto(value, this.#bytes.subarray(behind));
    this.head(3, written);
    if (this.#length !== behind) this.#bytes.copyWithin(this.#length, behind, behind + written);
    this.#length += written;
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

function headBytes(argument: number): number {
  if (argument < 24) return 1;
  if (argument < 0x100) return 2;
  return argument < 0x1_0000 ? 3 : 5;
}
