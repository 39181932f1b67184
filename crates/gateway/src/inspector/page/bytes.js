// Bytes in and out: the BARE types that the inspector's messages are made of, and
// the CBOR values in them. What cannot be read throws.

class BareReader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  take(length) {
    const end = this.at + length;
    if (end > this.bytes.length) throw new Error("a message ended too early");
    const part = this.bytes.subarray(this.at, end);
    this.at = end;
    return part;
  }

  u8() {
    return this.take(1)[0];
  }

  uint() {
    let [value, weight] = [0, 1];
    for (;;) {
      const byte = this.u8();
      value += (byte & 0x7f) * weight;
      if (byte < 0x80) return value;
      weight *= 128;
    }
  }

  bool() {
    return this.u8() !== 0;
  }

  data() {
    return this.take(this.uint());
  }

  str() {
    return new TextDecoder().decode(this.data());
  }

  value() {
    return readCbor(this.data());
  }

  optional(read) {
    return this.bool() ? read(this) : undefined;
  }

  list(read) {
    return Array.from({ length: this.uint() }, () => read(this));
  }
}

const uintBytes = (value) => {
  const bytes = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    bytes.push((rest % 128) | (rest >= 128 ? 0x80 : 0));
    if (rest < 128) return bytes;
  }
};
const dataBytes = (bytes) => [...uintBytes(bytes.length), ...bytes];
const strBytes = (text) => dataBytes(new TextEncoder().encode(text));

const FLOATS = { 25: readHalf, 26: (view, at) => view.getFloat32(at), 27: (view, at) => view.getFloat64(at) };

function readHalf(view, at) {
  const bits = view.getUint16(at);
  const [exponent, fraction] = [(bits >> 10) & 0x1f, bits & 0x3ff];
  const size = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
  const value = exponent < 31 ? size : fraction === 0 ? Infinity : Number.NaN;
  return bits & 0x8000 ? -value : value;
}

/** One whole CBOR value. Maps become objects, whatever their keys are. */
function readCbor(bytes) {
  const reader = new BareReader(bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

  const number = (info) => {
    if (info < 24) return info;
    const length = 2 ** (info - 24);
    const at = reader.at;
    reader.take(length);
    if (length === 1) return view.getUint8(at);
    if (length === 2) return view.getUint16(at);
    if (length === 4) return view.getUint32(at);
    const big = view.getBigUint64(at);
    return big <= Number.MAX_SAFE_INTEGER ? Number(big) : big;
  };

  /** Items up to the end of a list whose length is known, or to its stop byte. */
  const items = (info, read) => {
    if (info !== 31) return Array.from({ length: number(info) }, () => read());
    const all = [];
    while (bytes[reader.at] !== 0xff) all.push(read());
    reader.take(1);
    return all;
  };

  const chunks = (info) => {
    if (info !== 31) return reader.take(number(info));
    const parts = items(info, () => read());
    return typeof parts[0] === "string" ? parts.join("") : Uint8Array.from(parts.flatMap((part) => [...part]));
  };

  const simple = (info) => {
    if (info === 20 || info === 21) return info === 21;
    if (info === 22) return null;
    if (info in FLOATS) {
      const at = reader.at;
      reader.take(2 ** (info - 24));
      return FLOATS[info](view, at);
    }
    return undefined;
  };

  const tagged = (tag, value) => {
    if (tag === 1 || tag === 0) return new Date(tag === 1 ? Number(value) * 1000 : value);
    if ((tag === 2 || tag === 3) && value instanceof Uint8Array) {
      const size = value.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
      return tag === 2 ? size : -1n - size;
    }
    return value;
  };

  const read = () => {
    const head = reader.u8();
    const [major, info] = [head >> 5, head & 0x1f];
    if (major === 0) return number(info);
    if (major === 1) {
      const size = number(info);
      return typeof size === "bigint" ? -1n - size : -1 - size;
    }
    if (major === 2) return chunks(info);
    if (major === 3) {
      const text = chunks(info);
      return typeof text === "string" ? text : new TextDecoder().decode(text);
    }
    if (major === 4) return items(info, read);
    if (major === 5) return Object.fromEntries(items(info, () => [String(read()), read()]));
    if (major === 6) return tagged(number(info), read());
    return simple(info);
  };
  return read();
}

const head = (major, size) => {
  if (size < 24) return [(major << 5) | size];
  const view = new DataView(new ArrayBuffer(9));
  view.setUint8(0, (major << 5) | 26);
  view.setUint32(1, size);
  return [...new Uint8Array(view.buffer, 0, 5)];
};

/** A value that came from JSON, as CBOR bytes. */
function cborBytes(value) {
  if (value === null || value === undefined) return [0xf6];
  if (typeof value === "boolean") return [value ? 0xf5 : 0xf4];
  if (typeof value === "number") {
    if (Number.isInteger(value) && Math.abs(value) < 2 ** 32) {
      return value < 0 ? head(1, -1 - value) : head(0, value);
    }
    const view = new DataView(new ArrayBuffer(9));
    view.setUint8(0, 0xfb);
    view.setFloat64(1, value);
    return [...new Uint8Array(view.buffer)];
  }
  if (typeof value === "string") {
    const bytes = new TextEncoder().encode(value);
    return [...head(3, bytes.length), ...bytes];
  }
  if (Array.isArray(value)) return [...head(4, value.length), ...value.flatMap(cborBytes)];
  const entries = Object.entries(value);
  return [...head(5, entries.length), ...entries.flatMap(([key, each]) => [...cborBytes(key), ...cborBytes(each)])];
}
