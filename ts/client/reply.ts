/** Reading replies: what is an error, whose, and what does it say. */
import { isObject } from "../common/object";
import type { ActorError, ActorErrorLike } from "../errors/actor-error";
import { messageOf } from "../errors/message";
import { invalidResponse, remoteError } from "../errors/raised";
import type { WireFormat } from "../wire/format";

/** JSON, in which every stage before the actor answers whatever was asked for. */
export type JsonFormat = () => WireFormat | Promise<WireFormat>;

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
  const reader = format === undefined || isJson(response) ? await json() : format;
  let carried: ActorErrorLike;
  try {
    carried = reader.decodeError(body);
  } catch {
    const text = utf8Decoder.decode(body.subarray(0, 200)).trim();
    const excerpt = text ? JSON.stringify(text) : response.statusText || "empty body";
    return invalidResponse(response.status, excerpt, rayIdOf(response));
  }
  return remoteError(carried, { statusCode: response.status, rayId: rayIdOf(response) });
}

export function isJson(response: Response): boolean {
  return !!response.headers.get("content-type")?.includes("application/json");
}

function rayIdOf(response: Response): string | undefined {
  return response.headers.get("x-rivet-ray-id") ?? undefined;
}
