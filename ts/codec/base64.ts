/** Base64 in Node and in browsers; standard alphabet with padding unless said. */

type BufferLike = {
  from(text: string, encoding: string): Uint8Array;
  from(memory: ArrayBufferLike, at: number, length: number): { toString(encoding: string): string };
};
const NodeBuffer = (globalThis as { Buffer?: BufferLike }).Buffer;
// One call with too many arguments overflows the stack; this many never does.
const CHUNK = 0x2000;

export function toBase64(bytes: Uint8Array): string {
  if (NodeBuffer) return NodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return btoa(text);
}

/** Accepts both alphabets; the result owns its memory. */
export function fromBase64(text: string): Uint8Array {
  if (NodeBuffer) return new Uint8Array(NodeBuffer.from(text, "base64"));
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (char) => char.charCodeAt(0));
}
