/** A growing buffer with the primitives of CBOR (RFC 8949): heads, text, floats. */

const INITIAL_BYTES = 1024;
/** Buffers beyond this are not kept for the next call. */
const KEEP_BYTES = 256 * 1024;
const SHORT_TEXT = 40;

const utf8 = new TextEncoder();
let spare: Uint8Array | undefined;

export class CborWriter {
  #bytes: Uint8Array;
  #view: DataView;
  #length = 0;

  constructor() {
    this.#bytes = spare ?? new Uint8Array(INITIAL_BYTES);
    // Taken, so that an encode inside a getter of this encode gets its own.
    spare = undefined;
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** The bytes written, in memory of their own. Ends the use of this writer. */
  finish(): Uint8Array {
    const result = this.#bytes.slice(0, this.#length);
    this.release();
    return result;
  }

  /** Gives the buffer back without a result. */
  release(): void {
    if (this.#bytes.length <= KEEP_BYTES) spare = this.#bytes;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  /** Major type (0–7) with its argument in the shortest form. */
  head(major: number, argument: number): void {
    this.#reserve(9);
    const type = major << 5;
    if (argument < 24) {
      this.#bytes[this.#length++] = type | argument;
    } else if (argument < 0x100) {
      this.#bytes[this.#length++] = type | 24;
      this.#bytes[this.#length++] = argument;
    } else if (argument < 0x1_0000) {
      this.#bytes[this.#length++] = type | 25;
      this.#view.setUint16(this.#length, argument);
      this.#length += 2;
    } else if (argument < 0x1_0000_0000) {
      this.#bytes[this.#length++] = type | 26;
      this.#view.setUint32(this.#length, argument);
      this.#length += 4;
    } else {
      this.#bytes[this.#length++] = type | 27;
      this.#view.setBigUint64(this.#length, BigInt(argument));
      this.#length += 8;
    }
  }

  float64(value: number): void {
    this.#reserve(9);
    this.#bytes[this.#length++] = 0xfb;
    this.#view.setFloat64(this.#length, value);
    this.#length += 8;
  }

  bytes(value: Uint8Array): void {
    this.head(2, value.length);
    this.raw(value);
  }

  raw(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  text(value: string): void {
    if (value.length > SHORT_TEXT || !this.#ascii(value)) this.#unicode(value);
  }

  #ascii(value: string): boolean {
    this.#reserve(value.length + 2);
    const start = this.#length;
    this.head(3, value.length);
    // head() may have grown the buffer, so it is read again here.
    this.#reserve(value.length);
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
    this.#reserve(9 + value.length * 3);
    const gap = headBytes(value.length * 3);
    const start = this.#length;
    const { written } = utf8.encodeInto(value, this.#bytes.subarray(start + gap));
    this.head(3, written);
    if (this.#length !== start + gap) {
      this.#bytes.copyWithin(this.#length, start + gap, start + gap + written);
    }
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
  if (argument < 0x1_0000) return 3;
  return argument < 0x1_0000_0000 ? 5 : 9;
}
