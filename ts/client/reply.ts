/** Reading replies: what is an error, whose, and what does it say. */
import { isObject } from "../common/object";
import { type ActorError, type ActorErrorLike, isErrorLike, isSpecifier } from "../errors/actor-error";
import { invalidResponse, remoteError } from "../errors/client";
import { messageOf } from "../errors/message";
import type { WireFormat } from "../wire/format";

/** JSON, in which every stage before the actor answers whatever was asked for. */
export type JsonFormat = () => Promise<WireFormat>;

const utf8Decoder = new TextDecoder();

/**
 * What a good reply holds. A bad one is thrown as the error it carries, and what
 * is not of the protocol as `client/invalid_response`.
 */
export async function replyOf<T>(
  response: Response,
  json: JsonFormat,
  format: WireFormat | undefined,
  decode: (body: Uint8Array) => T,
): Promise<T> {
  const body = new Uint8Array(await response.arrayBuffer());
  if (!response.ok) throw await errorFrom(response, body, json, format);
  try {
    return decode(body);
  } catch (error) {
    throw invalidResponse(response.status, messageOf(error), rayIdOf(response));
  }
}

/** A JSON reply of the endpoint API. What is read of it are texts: no tags, no codec. */
export function jsonReply(response: Response, json: JsonFormat): Promise<Record<string, unknown>> {
  return replyOf(response, json, undefined, (body) => {
    const value: unknown = JSON.parse(utf8Decoder.decode(body));
    if (!isObject(value)) throw new Error("not an object");
    return value;
  });
}

/** The error a reply carries, or one about the reply if it carries none. */
export async function errorFrom(
  response: Response,
  body: Uint8Array,
  json: JsonFormat,
  format?: WireFormat,
): Promise<ActorError> {
  let carried: ActorErrorLike;
  try {
    carried = format === undefined || isJson(response) ? await jsonError(body, json) : format.decodeError(body);
  } catch {
    const text = utf8Decoder.decode(body.subarray(0, 200)).trim();
    const excerpt = text ? JSON.stringify(text) : response.statusText || "empty body";
    return invalidResponse(response.status, excerpt, rayIdOf(response));
  }
  return remoteError(carried, { statusCode: response.status, rayId: rayIdOf(response) });
}

/** Needs the format only for tags in the metadata; if there is none now, these stay as they are written. */
async function jsonError(body: Uint8Array, json: JsonFormat): Promise<ActorErrorLike> {
  const text = utf8Decoder.decode(body);
  const error: unknown = JSON.parse(text);
  if (!isErrorLike(error)) throw new Error("not an error");
  const format = text.includes('"$') && (await json().catch(() => undefined));
  if (format) return format.decodeError(body);
  const { actor, ...rest } = error;
  return isSpecifier(actor) ? error : rest;
}

export function isJson(response: Response): boolean {
  return !!response.headers.get("content-type")?.includes("application/json");
}

function rayIdOf(response: Response): string | undefined {
  return response.headers.get("x-rivet-ray-id") ?? undefined;
}
