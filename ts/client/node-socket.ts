/**
 * A WebSocket client for Node versions without one.
 *
 * Speaks RFC 6455 without extensions and has the part of the browser's interface
 * that the client uses. Bundles for browsers leave it out.
 */
import { createHash, randomBytes } from "node:crypto";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Duplex } from "node:stream";
import { EventedSocket } from "./evented-socket";
import type { ClientSocket } from "./socket";

const Opcode = { Continuation: 0, Text: 1, Binary: 2, Close: 8, Ping: 9, Pong: 10 } as const;

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/** Longest message accepted. */
const MAX_MESSAGE_BYTES = 64 << 20;
/** Time for the handshake, and for the server to answer a close. */
const PATIENCE_MS = 15_000;

export class NodeSocket extends EventedSocket implements ClientSocket {
  readonly url: string;
  protocol = "";
  readonly extensions = "";
  #stream: Duplex | undefined;
  #abandon: () => void;
  #frames = new FrameReader();
  #fragments: { opcode: number; parts: Buffer[]; bytes: number } | undefined;
  #closing: { code: number; reason: string } | undefined;
  #timer: NodeJS.Timeout;

  constructor(url: string, protocols: string[] = []) {
    super();
    this.url = url;
    const key = randomBytes(16).toString("base64");
    const target = new URL(url.replace(/^ws/, "http"));
    const request = (target.protocol === "https:" ? httpsRequest : httpRequest)(target, {
      headers: {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": key,
        ...(protocols.length > 0 && { "sec-websocket-protocol": protocols.join(", ") }),
      },
    });
    this.#abandon = () => request.destroy();
    this.#timer = setTimeout(() => this.#fail("the handshake took too long"), PATIENCE_MS);
    request.on("upgrade", (response, stream, head) => this.#upgraded(response, stream, head, key));
    request.on("response", ({ statusCode }) => this.#fail(`the server answered ${statusCode} instead of upgrading`));
    request.on("error", (error) => this.#fail(error.message, error));
    request.end();
  }

  send(data: string | Uint8Array): void {
    if (this.state !== 1) return;
    if (typeof data === "string") this.#write(Opcode.Text, Buffer.from(data));
    else this.#write(Opcode.Binary, Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  }

  close(code = 1000, reason = ""): void {
    if (this.state >= 2) return;
    if (this.state === 0) return this.#fail("closed before it was open");
    this.state = 2;
    this.#sayClose(code, reason);
    this.#timer = setTimeout(() => this.#ended(), PATIENCE_MS);
  }

  #upgraded(response: IncomingMessage, stream: Duplex, head: Buffer, key: string): void {
    clearTimeout(this.#timer);
    const accept = createHash("sha1")
      .update(key + GUID)
      .digest("base64");
    this.#stream = stream;
    this.#abandon = () => stream.destroy();
    if (this.state !== 0 || response.headers["sec-websocket-accept"] !== accept) {
      return this.#fail("the server's handshake is not ours");
    }
    (stream as { setNoDelay?: (on: boolean) => void }).setNoDelay?.(true);
    (stream as { setTimeout?: (ms: number) => void }).setTimeout?.(0);
    stream.on("data", (chunk: Buffer) => this.#read(chunk));
    stream.on("end", () => this.#ended());
    stream.on("close", () => this.#ended());
    stream.on("error", (error) => this.#fail(error.message, error));
    this.protocol = String(response.headers["sec-websocket-protocol"] ?? "");
    this.opened();
    if (head.length > 0) this.#read(head);
  }

  #read(chunk: Buffer): void {
    try {
      for (const frame of this.#frames.read(chunk)) this.#frame(frame);
    } catch (error) {
      if (this.state === 1) this.#sayClose(1002, "");
      this.#fail(error instanceof Error ? error.message : String(error), error);
    }
  }

  #frame({ opcode, final, payload }: Frame): void {
    switch (opcode) {
      case Opcode.Ping:
        if (this.state === 1) this.#write(Opcode.Pong, payload);
        return;
      case Opcode.Pong:
        return;
      case Opcode.Close: {
        const code = payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
        this.#closing = { code, reason: payload.toString("utf8", 2) };
        if (this.state === 1) this.#write(Opcode.Close, payload.subarray(0, 125));
        this.state = 2;
        this.#stream?.end();
        return;
      }
      default:
        this.#data(opcode, final, payload);
    }
  }

  #data(opcode: number, final: boolean, payload: Buffer): void {
    const started = this.#fragments;
    if ((opcode === Opcode.Continuation) !== (started !== undefined)) throw new Error("fragments out of order");
    const message = started ?? { opcode, parts: [], bytes: 0 };
    message.parts.push(payload);
    message.bytes += payload.length;
    if (message.bytes > MAX_MESSAGE_BYTES) throw new Error("a message is too long");
    this.#fragments = final ? undefined : message;
    if (!final || this.state !== 1) return;
    const whole = message.parts.length === 1 ? payload : Buffer.concat(message.parts);
    this.received(message.opcode === Opcode.Text ? whole.toString("utf8") : whole);
  }

  #sayClose(code: number, reason: string): void {
    const text = Buffer.from(reason).subarray(0, 123);
    const payload = Buffer.alloc(2 + text.length);
    payload.writeUInt16BE(code);
    text.copy(payload, 2);
    this.#write(Opcode.Close, payload);
  }

  #write(opcode: number, payload: Buffer): void {
    this.#stream?.write(maskedFrame(opcode, payload));
  }

  #fail(message: string, error: unknown = new Error(message)): void {
    if (this.state === 3) return;
    // A server that has said why it closes need not wait for our answer.
    if (this.#closing === undefined) this.failed(message, error);
    this.#ended();
  }

  #ended(): void {
    clearTimeout(this.#timer);
    this.#abandon();
    const { code, reason } = this.#closing ?? { code: 1006, reason: "" };
    this.closed(code, reason, this.#closing !== undefined);
  }
}

interface Frame {
  opcode: number;
  final: boolean;
  payload: Buffer;
}

/** Cuts a stream of bytes into frames. */
class FrameReader {
  #rest: Buffer[] = [];
  #length = 0;
  #needed = 2;

  *read(chunk: Buffer): Generator<Frame> {
    this.#rest.push(chunk);
    this.#length += chunk.length;
    while (this.#length >= this.#needed) {
      const bytes = this.#rest.length === 1 ? (this.#rest[0] as Buffer) : Buffer.concat(this.#rest);
      const frame = this.#first(bytes);
      this.#rest = [frame?.rest ?? bytes];
      this.#length = (this.#rest[0] as Buffer).length;
      if (frame !== undefined) yield frame;
    }
  }

  /** The first frame, or how many bytes it takes to have one. */
  #first(bytes: Buffer): (Frame & { rest: Buffer }) | undefined {
    const [first, second] = [bytes[0] as number, bytes[1] as number];
    if ((first & 0x70) !== 0) throw new Error("a frame uses an extension");
    if ((second & 0x80) !== 0) throw new Error("a server's frame is masked");
    const { size, length } = lengthOf(bytes, second);
    this.#needed = 2 + size + length;
    if (length > MAX_MESSAGE_BYTES) throw new Error("a frame is too long");
    if (bytes.length < this.#needed) return undefined;
    const at = 2 + size;
    const end = at + length;
    this.#needed = 2;
    return {
      opcode: first & 0x0f,
      final: (first & 0x80) !== 0,
      payload: bytes.subarray(at, end),
      rest: bytes.subarray(end),
    };
  }
}

/** Bytes of the extended length, and the length; both as far as they are there. */
function lengthOf(bytes: Buffer, short: number): { size: number; length: number } {
  if (short < 126) return { size: 0, length: short };
  if (short === 126) return { size: 2, length: bytes.length < 4 ? 0 : bytes.readUInt16BE(2) };
  return { size: 8, length: bytes.length < 10 ? 0 : Number(bytes.readBigUInt64BE(2)) };
}

function maskedFrame(opcode: number, payload: Buffer): Buffer {
  const long = payload.length > 0xffff ? 8 : payload.length > 125 ? 2 : 0;
  const frame = Buffer.allocUnsafe(2 + long + 4 + payload.length);
  frame[0] = 0x80 | opcode;
  frame[1] = 0x80 | (long === 0 ? payload.length : long === 2 ? 126 : 127);
  if (long === 2) frame.writeUInt16BE(payload.length, 2);
  if (long === 8) frame.writeBigUInt64BE(BigInt(payload.length), 2);
  const mask = randomBytes(4);
  mask.copy(frame, 2 + long);
  const start = 6 + long;
  for (let i = 0; i < payload.length; i++) frame[start + i] = (payload[i] as number) ^ (mask[i & 3] as number);
  return frame;
}
