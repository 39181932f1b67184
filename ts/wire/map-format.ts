/** The client protocol as objects, in whatever writes objects: JSON and CBOR. */
import { isObject } from "../common/object";
import { malformed } from "../errors/malformed";
import {
  argumentList,
  type Encoding,
  errorBody,
  type MessageFormat,
  queueReply,
  type ServerMessage,
  type WireFormat,
} from "./format";

export function mapBodies(
  encoding: Encoding,
  contentType: string,
  encode: (value: unknown, root?: string) => Uint8Array,
  decode: (bytes: Uint8Array) => unknown,
): WireFormat {
  return {
    encoding,
    contentType,
    encodeAction: (args) => encode({ args }, "call"),
    decodeAction: (body) => {
      const reply = record(decode(body));
      if (!("output" in reply)) throw malformed("a reply without output");
      return reply.output;
    },
    encodeQueueSend: ({ name, body, wait, timeout }) =>
      encode({ body, name, wait, ...(timeout !== undefined && { timeout }) }, "message"),
    decodeQueueSend: (body) => queueReply(record(decode(body))),
    decodeError: (body) => errorBody(decode(body)),
  };
}

export function mapMessages<M extends Uint8Array | string>(
  encode: (value: unknown, root?: string) => M,
  decode: (message: Uint8Array | string) => unknown,
): MessageFormat {
  const message = (tag: string, val: object) => encode({ body: { tag, val } }, "message");
  return {
    action: (id, name, args) => message("ActionRequest", { id, name, args }),
    subscription: (eventName, subscribe) => message("SubscriptionRequest", { eventName, subscribe }),
    read: (bytes) => readMessage(record(record(decode(bytes)).body)),
  };
}

function readMessage({ tag, val }: Record<string, unknown>): ServerMessage {
  const fields = record(val);
  const text = (name: string) => {
    const value = fields[name];
    if (typeof value !== "string") throw malformed(`a message without ${name}`);
    return value;
  };
  switch (tag) {
    case "Init":
      return { kind: "init", actorId: text("actorId"), connectionId: text("connectionId") };
    case "Error":
      return {
        kind: "error",
        error: errorBody(fields),
        actionId: fields.actionId == null ? undefined : integer(fields.actionId),
      };
    case "ActionResponse":
      return { kind: "answer", id: integer(fields.id), output: fields.output };
    case "Event":
      return { kind: "event", name: text("name"), args: argumentList(fields.args) };
    default:
      throw malformed(`a message with tag ${String(tag)}`);
  }
}

function record(value: unknown): Record<string, unknown> {
  if (!isObject(value)) throw malformed("a message that is no object");
  return value;
}

function integer(value: unknown): number {
  const number = typeof value === "bigint" ? Number(value) : value;
  if (!Number.isSafeInteger(number)) throw malformed("a message without an id");
  return number as number;
}
