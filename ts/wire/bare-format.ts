/** The client protocol in BARE; values inside it are CBOR. */
import type { Codec } from "../codec/codec";
import { assignDefined } from "../common/object";
import type { ActorErrorLike } from "../errors/actor-error";
import { malformed } from "../errors/malformed";
import { BareReader, data, message, optional, text, u64, uint } from "./bare";
import {
  argumentList,
  bytesOf,
  errorBody,
  type Formats,
  type MessageFormat,
  queueReply,
  type ServerMessage,
  type WireFormat,
} from "./format";

/** Protocol version this side writes, in two bytes; older ones are read. */
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
    encodeAction: (args) => versioned(...data(codec.encode(args, "args"))),
    decodeAction: (body) => read(body, (reader) => codec.decode(reader.data())),
    encodeQueueSend: ({ name, body, wait, timeout }) =>
      versioned(
        ...data(codec.encode(body, "body")),
        ...optional(name, text),
        ...optional(wait, (wait) => [Number(wait)]),
        ...optional(timeout, (ms) => u64(BigInt(Math.trunc(ms)))),
      ),
    decodeQueueSend: (body) =>
      read(body, (reader) => {
        const status = reader.text();
        const response = reader.optional(() => [codec.decode(reader.data())]);
        return queueReply(response === undefined ? { status } : { status, response: response[0] });
      }),
    decodeError: (body) => read(body, (reader, version) => readError(reader, version, codec)),
  };
}

function bareMessages(codec: Codec): MessageFormat {
  return {
    action: (id, name, args) => versioned(0, ...uint(id), ...text(name), ...data(codec.encode(args, "args"))),
    subscription: (event, subscribe) => versioned(1, ...text(event), Number(subscribe)),
    read: (bytes) => read(bytesOf(bytes), (reader, version) => readMessage(reader, version, codec)),
  };
}

const versioned: typeof message = (...pieces) => message(BARE_VERSION, 0, ...pieces);

/** Reads a message of any version, whole. */
function read<T>(body: Uint8Array, fields: (reader: BareReader, version: number) => T): T {
  const reader = new BareReader(body);
  const version = reader.u16();
  if (version < 1 || version > BARE_VERSION) throw malformed(`protocol version ${version}`);
  const value = fields(reader, version);
  reader.end();
  return value;
}

function readMessage(reader: BareReader, version: number, codec: Codec): ServerMessage {
  const tag = reader.byte();
  switch (tag) {
    case 0: {
      const init = { kind: "init" as const, actorId: reader.text(), connectionId: reader.text() };
      // The first version sent a token along.
      if (version === 1) reader.text();
      return init;
    }
    case 1: {
      let actionId: number | undefined;
      const error = readError(reader, version, codec, () => {
        actionId = reader.optional(() => reader.uint());
      });
      return { kind: "error", error, actionId };
    }
    case 2:
      return { kind: "answer", id: reader.uint(), output: codec.decode(reader.data()) };
    case 3:
      return { kind: "event", name: reader.text(), args: argumentList(codec.decode(reader.data())) };
    default:
      throw malformed(`a message with tag ${tag}`);
  }
}

/** `middle` reads what stands between the metadata of an error and the actor. */
function readError(reader: BareReader, version: number, codec: Codec, middle?: () => void): ActorErrorLike {
  const error = {
    group: reader.text(),
    code: reader.text(),
    message: reader.text(),
    metadata: reader.optional(() => codec.decode(reader.data())),
  };
  middle?.();
  const actor = version < ACTOR_SINCE ? undefined : reader.optional(() => readSpecifier(reader));
  return errorBody({ ...error, actor });
}

function readSpecifier(reader: BareReader): object {
  const specifier = { actorId: reader.text(), generation: reader.uint() };
  return assignDefined(specifier, { key: reader.optional(() => reader.text()) });
}
