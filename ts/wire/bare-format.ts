/** The client protocol in BARE; values inside it are CBOR. */
import type { Codec } from "../codec/codec";
import type { ActorErrorLike } from "../errors/actor-error";
import { malformed } from "../errors/malformed";
import { BareReader, BareWriter } from "./bare";
import {
  argumentList,
  bytesOf,
  errorBody,
  type Formats,
  type MessageFormat,
  type QueueSendBody,
  queueReply,
  type ServerMessage,
  type WireFormat,
} from "./format";

/** Protocol version this side writes; older ones are read. */
const BARE_VERSION = 4;
/** First version whose errors name the actor. */
const ACTOR_SINCE = 4;

export function bareFormats(codec: Codec): Formats {
  return { http: bareBodies(codec), messages: bareMessages(codec) };
}

function bareBodies(codec: Codec): WireFormat {
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
function bareErrorFields(reader: BareReader, codec: Codec): { finish(version: number): ActorErrorLike } {
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

function open(body: Uint8Array): { reader: BareReader; version: number } {
  const reader = new BareReader(body);
  const version = reader.u16();
  if (version < 1 || version > BARE_VERSION) throw malformed(`protocol version ${version}`);
  return { reader, version };
}

function bareMessages(codec: Codec): MessageFormat {
  const message = (tag: number) => new BareWriter().u16(BARE_VERSION).byte(tag);
  return {
    action: (id, name, args) => message(0).uint(id).text(name).data(codec.encode(args, "args")).finish(),
    subscription: (event, subscribe) =>
      message(1)
        .text(event)
        .byte(subscribe ? 1 : 0)
        .finish(),
    read: (bytes) => {
      const { reader, version } = open(bytesOf(bytes));
      const read = readBare(reader, version, codec);
      reader.end();
      return read;
    },
  };
}

function readBare(reader: BareReader, version: number, codec: Codec): ServerMessage {
  const tag = reader.byte();
  switch (tag) {
    case 0: {
      const init = { kind: "init" as const, actorId: reader.text(), connectionId: reader.text() };
      // The first version sent a token along.
      if (version === 1) reader.text();
      return init;
    }
    case 1: {
      const fields = bareErrorFields(reader, codec);
      const actionId = reader.optional(() => reader.uint());
      return { kind: "error", error: fields.finish(version), actionId };
    }
    case 2:
      return { kind: "answer", id: reader.uint(), output: codec.decode(reader.data()) };
    case 3:
      return { kind: "event", name: reader.text(), args: argumentList(codec.decode(reader.data())) };
    default:
      throw malformed(`a message with tag ${tag}`);
  }
}
