/**
 * The three encodings of the client protocol's HTTP messages.
 *
 * Owns bodies only: which route they go to and what a status means is the
 * client's business. In every encoding values are written with the `$` tags, so
 * that BigInt, bytes and `undefined` survive whichever one is chosen.
 */
import type { Codec } from "../codec/codec";
import { parseTagged, stringifyTagged } from "../codec/json";
import { malformed } from "../codec/tags";
import { type ActorErrorLike, isErrorLike } from "../errors/actor-error";
import { isSpecifier } from "../errors/bridge";
import { BareReader, BareWriter } from "./bare";

export type Encoding = "bare" | "cbor" | "json";

export interface QueueSendBody {
  body: unknown;
  wait: boolean;
  /** Milliseconds; absent waits as long as the host allows. */
  timeout?: number;
}

export interface QueueSendReply {
  status: string;
  response?: unknown;
}

export interface WireFormat {
  readonly encoding: Encoding;
  readonly contentType: string;
  encodeAction(args: readonly unknown[]): Uint8Array;
  decodeAction(body: Uint8Array): unknown;
  encodeQueueSend(name: string, message: QueueSendBody): Uint8Array;
  decodeQueueSend(body: Uint8Array): QueueSendReply;
  decodeError(body: Uint8Array): ActorErrorLike;
}

/** Protocol version this side writes; older ones are read. */
export const BARE_VERSION = 4;
/** First version whose errors name the actor. */
const ACTOR_SINCE = 4;

export function wireFormat(encoding: Encoding, codec: Codec): WireFormat {
  switch (encoding) {
    case "bare":
      return bareFormat(codec);
    case "cbor":
      return mapFormat(
        "cbor",
        "application/octet-stream",
        (value, root) => codec.encode(value, root),
        (bytes) => codec.decode(bytes),
      );
    case "json":
      return jsonFormat;
  }
}

const utf8 = new TextEncoder();
const utf8Decoder = new TextDecoder();

const jsonFormat: WireFormat = mapFormat(
  "json",
  "application/json",
  (value, root) => utf8.encode(stringifyTagged(value, root)),
  (bytes) => parseTagged(utf8Decoder.decode(bytes)),
);

function mapFormat(
  encoding: Encoding,
  contentType: string,
  encode: (value: unknown, root?: string) => Uint8Array,
  decode: (bytes: Uint8Array) => unknown,
): WireFormat {
  const object = (bytes: Uint8Array): Record<string, unknown> => {
    const value = decode(bytes);
    if (typeof value !== "object" || value === null) throw malformed("a body that is no object");
    return value as Record<string, unknown>;
  };
  return {
    encoding,
    contentType,
    encodeAction: (args) => encode({ args }, "call"),
    decodeAction: (body) => {
      const reply = object(body);
      if (!("output" in reply)) throw malformed("a reply without output");
      return reply.output;
    },
    encodeQueueSend: (name, { body, wait, timeout }) =>
      encode({ body, name, wait, ...(timeout !== undefined && { timeout }) }, "message"),
    decodeQueueSend: (body) => queueReply(object(body)),
    decodeError: (body) => errorBody(object(body)),
  };
}

function bareFormat(codec: Codec): WireFormat {
  return {
    encoding: "bare",
    contentType: "application/octet-stream",
    encodeAction: (args) => new BareWriter().u16(BARE_VERSION).data(codec.encode(args, "args")).finish(),
    decodeAction: (body) => {
      const { reader } = open(body);
      const output = codec.decode(reader.data());
      reader.end();
      return output;
    },
    encodeQueueSend: (name, message) => bareQueueSend(name, message, codec),
    decodeQueueSend: (body) => {
      const { reader } = open(body);
      const status = reader.text();
      const response = reader.optional(() => reader.data());
      reader.end();
      return queueReply({ status, ...(response !== undefined && { response: codec.decode(response) }) });
    },
    decodeError: (body) => bareError(body, codec),
  };
}

function bareQueueSend(name: string, message: QueueSendBody, codec: Codec): Uint8Array {
  const out = new BareWriter().u16(BARE_VERSION).data(codec.encode(message.body, "body"));
  out.optional(name, (text) => out.text(text));
  out.optional(message.wait, (wait) => out.byte(wait ? 1 : 0));
  out.optional(message.timeout, (ms) => out.u64(BigInt(Math.trunc(ms))));
  return out.finish();
}

function bareError(body: Uint8Array, codec: Codec): ActorErrorLike {
  const { reader, version } = open(body);
  const error = bareErrorFields(reader, codec).finish(version);
  reader.end();
  return error;
}

/** The fields of an error up to its metadata; `finish` reads the actor behind whatever follows. */
export function bareErrorFields(reader: BareReader, codec: Codec): { finish(version: number): ActorErrorLike } {
  const error: Record<string, unknown> = { group: reader.text(), code: reader.text(), message: reader.text() };
  const metadata = reader.optional(() => reader.data());
  if (metadata !== undefined) error.metadata = codec.decode(metadata);
  return {
    finish(version) {
      if (version >= ACTOR_SINCE) error.actor = reader.optional(() => bareSpecifier(reader));
      return errorBody(error);
    },
  };
}

function bareSpecifier(reader: BareReader): Record<string, unknown> {
  const actorId = reader.text();
  const generation = reader.uint();
  const key = reader.optional(() => reader.text());
  return { actorId, generation, ...(key !== undefined && { key }) };
}

export function open(body: Uint8Array): { reader: BareReader; version: number } {
  const reader = new BareReader(body);
  const version = reader.u16();
  if (version < 1 || version > BARE_VERSION) throw malformed(`protocol version ${version}`);
  return { reader, version };
}

function queueReply(reply: Record<string, unknown>): QueueSendReply {
  if (typeof reply.status !== "string") throw malformed("a reply without status");
  return { status: reply.status, ...("response" in reply && { response: reply.response }) };
}

export function errorBody(body: Record<string, unknown>): ActorErrorLike {
  if (!isErrorLike(body)) throw malformed("an error without group, code and message");
  const { group, code, message, metadata, actor } = body;
  return {
    group,
    code,
    message,
    ...(metadata !== undefined && { metadata }),
    ...(isSpecifier(actor) && { actor: { ...actor, generation: Number(actor.generation) } }),
  };
}
