/**
 * The messages of a connection in the three encodings.
 *
 * Ids are numbers here, whatever width they have on the wire: one connection
 * never makes more calls than a number counts.
 */
import type { Codec } from "../codec/codec";
import { parseTagged, stringifyTagged } from "../codec/json";
import { malformed } from "../codec/tags";
import type { ActorErrorLike } from "../errors/actor-error";
import { type BareReader, BareWriter } from "./bare";
import { BARE_VERSION, bareErrorFields, type Encoding, errorBody, open } from "./format";

/** What an actor says. */
export type ServerMessage =
  | { kind: "init"; actorId: string; connectionId: string }
  | { kind: "error"; error: ActorErrorLike; actionId: number | undefined }
  | { kind: "answer"; id: number; output: unknown }
  | { kind: "event"; name: string; args: unknown[] };

export interface MessageFormat {
  action(id: number, name: string, args: readonly unknown[]): Uint8Array | string;
  subscription(event: string, subscribe: boolean): Uint8Array | string;
  read(message: Uint8Array | string): ServerMessage;
}

export function messageFormat(encoding: Encoding, codec: Codec): MessageFormat {
  switch (encoding) {
    case "bare":
      return bareMessages(codec);
    case "cbor":
      return mapMessages(
        (value, root) => codec.encode(value, root),
        (message) => codec.decode(bytesOf(message)),
      );
    case "json":
      return mapMessages(stringifyTagged, (message) =>
        parseTagged(typeof message === "string" ? message : utf8Decoder.decode(message)),
      );
  }
}

const utf8Decoder = new TextDecoder();

function bytesOf(message: Uint8Array | string): Uint8Array {
  if (typeof message === "string") throw malformed("a text message in a binary encoding");
  return message;
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

function mapMessages<M extends Uint8Array | string>(
  encode: (value: unknown, root?: string) => M,
  decode: (message: Uint8Array | string) => unknown,
): MessageFormat {
  const message = (tag: string, val: object) => encode({ body: { tag, val } }, "message");
  return {
    action: (id, name, args) => message("ActionRequest", { id, name, args }),
    subscription: (eventName, subscribe) => message("SubscriptionRequest", { eventName, subscribe }),
    read: (bytes) => readMap(record(record(decode(bytes)).body)),
  };
}

function readMap({ tag, val }: Record<string, unknown>): ServerMessage {
  const fields = record(val);
  switch (tag) {
    case "Init":
      return { kind: "init", actorId: text(fields.actorId), connectionId: text(fields.connectionId) };
    case "Error":
      return {
        kind: "error",
        error: errorBody(fields),
        actionId: fields.actionId == null ? undefined : integer(fields.actionId),
      };
    case "ActionResponse":
      return { kind: "answer", id: integer(fields.id), output: fields.output };
    case "Event":
      return { kind: "event", name: text(fields.name), args: argumentList(fields.args) };
    default:
      throw malformed(`a message with tag ${String(tag)}`);
  }
}

function record(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null) throw malformed("a message that is no object");
  return value as Record<string, unknown>;
}

function text(value: unknown): string {
  if (typeof value !== "string") throw malformed("a message without a text it needs");
  return value;
}

function integer(value: unknown): number {
  const number = typeof value === "bigint" ? Number(value) : value;
  if (!Number.isSafeInteger(number)) throw malformed("a message without an id");
  return number as number;
}

function argumentList(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw malformed("an event whose arguments are no list");
  return value;
}
