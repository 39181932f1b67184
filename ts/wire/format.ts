/**
 * What the three encodings of the client protocol have in common: the bodies of
 * its HTTP messages and the messages of its connections, as this side means them.
 *
 * Owns contents only: which route they go to and what a status means is the
 * client's business. In every encoding values are written with the `$` tags, so
 * that BigInt, bytes and `undefined` survive whichever one is chosen.
 *
 * Holds no codec, so that a page loads the one it uses and no other.
 */
import { assignDefined } from "../common/object";
import { type ActorErrorLike, isErrorLike, isSpecifier } from "../errors/actor-error";
import { malformed } from "../errors/malformed";

export type Encoding = "bare" | "cbor" | "json";

export interface QueueSend {
  name: string;
  body: unknown;
  wait: boolean;
  /** Milliseconds; absent waits as long as the host allows. */
  timeout?: number | undefined;
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
  encodeQueueSend(message: QueueSend): Uint8Array;
  decodeQueueSend(body: Uint8Array): QueueSendReply;
  decodeError(body: Uint8Array): ActorErrorLike;
}

/**
 * What an actor says. Ids are numbers here, whatever width they have on the wire: one
 * connection never makes more calls than a number counts.
 */
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

/** One encoding, whole. */
export interface Formats {
  readonly http: WireFormat;
  readonly messages: MessageFormat;
}

export function queueReply(reply: Record<string, unknown>): QueueSendReply {
  const { status, response } = reply;
  if (typeof status !== "string") throw malformed("a reply without status");
  return "response" in reply ? { status, response } : { status };
}

export function errorBody(body: unknown): ActorErrorLike {
  if (!isErrorLike(body)) throw malformed("an error without group, code and message");
  const { group, code, message, metadata, actor } = body;
  return assignDefined<ActorErrorLike>(
    { group, code, message },
    { metadata, actor: isSpecifier(actor) ? { ...actor, generation: Number(actor.generation) } : undefined },
  );
}

export function argumentList(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw malformed("an event whose arguments are no list");
  return value;
}

export function bytesOf(message: Uint8Array | string): Uint8Array {
  if (typeof message === "string") throw malformed("a text message in a binary encoding");
  return message;
}
