/** Base64 in Node and in browsers; standard alphabet with padding unless said. */

type BufferLike = { from(data: Uint8Array | string, encoding?: string): Uint8Array & { toString(e: string): string } };
const NodeBuffer = (globalThis as { Buffer?: BufferLike }).Buffer;
// One call with too many arguments overflows the stack; this many never does.
const CHUNK = 0x2000;

export function toBase64(bytes: Uint8Array): string {
  if (NodeBuffer !== undefined) return viewOf(bytes).toString("base64");
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return btoa(text);
}

/** Accepts both alphabets; the result owns its memory. */
export function fromBase64(text: string): Uint8Array {
  if (NodeBuffer !== undefined) return new Uint8Array(NodeBuffer.from(text, "base64"));
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (char) => char.charCodeAt(0));
}

function viewOf(bytes: Uint8Array) {
  const view = bytes as Uint8Array & { toString(encoding: string): string };
  // A Buffer already knows base64; a plain Uint8Array must be seen as one.
  if (typeof (view as { readUInt8?: unknown }).readUInt8 === "function") return view;
  const { from } = NodeBuffer as unknown as { from(b: ArrayBufferLike, at: number, n: number): typeof view };
  return from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
