/** Reading replies: what is an error, whose, and what does it say. */
import { ActorError, type ActorErrorLike } from "../errors/actor-error";
import { invalidResponse } from "../errors/raised";
import type { WireFormat } from "../wire/format";
import { isRefusal } from "./retry";
import type { Target } from "./target";

/** JSON, in which every stage before the actor answers whatever was asked for. */
export type JsonFormat = () => WireFormat | Promise<WireFormat>;

export const RAY_ID_HEADER = "x-rivet-ray-id";

const utf8Decoder = new TextDecoder();

/** The body of a good reply; a bad one is thrown as the error it carries. */
export async function goodBody(response: Response, json: JsonFormat, format?: WireFormat): Promise<Uint8Array> {
  const body = new Uint8Array(await response.arrayBuffer());
  if (response.ok) return body;
  throw await errorFrom(response, body, json, format);
}

/** Decodes a good body; what is not of the protocol becomes `client/invalid_response`. */
export function decodeReply<T>(response: Response, body: Uint8Array, decode: (body: Uint8Array) => T): T {
  try {
    return decode(body);
  } catch (error) {
    throw invalidResponse(response.status, reason(error), response.headers.get(RAY_ID_HEADER) ?? undefined);
  }
}

/** The error a reply carries, or one about the reply if it carries none. */
async function errorFrom(
  response: Response,
  body: Uint8Array,
  json: JsonFormat,
  format?: WireFormat,
): Promise<ActorError> {
  const rayId = response.headers.get(RAY_ID_HEADER) ?? undefined;
  const reader = format === undefined || isJson(response) ? await json() : format;
  const carried = decodeError(body, reader);
  if (carried === undefined) return invalidResponse(response.status, excerpt(response, body), rayId);
  const { group, code, message, metadata, actor } = carried;
  return new ActorError(group, code, message, {
    statusCode: response.status,
    public: true,
    ...(metadata !== undefined && { metadata }),
    ...(actor !== undefined && { actor }),
    ...(rayId !== undefined && { rayId }),
  });
}

/** A JSON reply of the endpoint API. What is read of it are texts: no tags, no codec. */
export async function jsonReply(response: Response, json: JsonFormat): Promise<Record<string, unknown>> {
  const body = await goodBody(response, json);
  return decodeReply(response, body, (bytes) => {
    const value: unknown = JSON.parse(utf8Decoder.decode(bytes));
    if (typeof value !== "object" || value === null) throw new Error("not an object");
    return value as Record<string, unknown>;
  });
}

function decodeError(body: Uint8Array, reader: WireFormat): ActorErrorLike | undefined {
  try {
    return reader.decodeError(body);
  } catch {
    return undefined;
  }
}

function isJson(response: Response): boolean {
  return response.headers.get("content-type")?.includes("application/json") === true;
}

function excerpt(response: Response, body: Uint8Array): string {
  const text = utf8Decoder.decode(body.subarray(0, 200)).trim();
  return text === "" ? response.statusText || "empty body" : JSON.stringify(text);
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A handler's own 4xx and 5xx are replies; only the host's refusals are errors. */
export async function refusalOrResponse(response: Response, target: Target, json: JsonFormat): Promise<Response> {
  if (response.ok || !isJson(response)) return response;
  const error = await errorFrom(response, new Uint8Array(await response.clone().arrayBuffer()), json);
  if (!isRefusal(error, target)) return response;
  await response.body?.cancel();
  throw error;
}
