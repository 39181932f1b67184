/**
 * Actors by way of the endpoint's own API: to find or make one and learn its id.
 * A page loads this when it asks for an id, or has a key or an input that the URLs
 * of the gateway cannot carry.
 */
import { ActorError } from "../errors/actor-error";
import { invalidResponse } from "../errors/client";
import type { ClientConfig } from "./config";
import { headersWith, type Place, withQuery } from "./gateway";
import { type JsonFormat, jsonReply } from "./reply";
import type { KeyTarget } from "./target";
import type { CreateCall } from "./transport";

/** Where the API is, and how to speak to it. */
export interface Endpoint {
  readonly config: ClientConfig;
  readonly place: Place;
  readonly signal: AbortSignal | undefined;
  readonly json: JsonFormat;
  fetch(url: string, init: RequestInit): Promise<Response>;
}

/** The id of the actor that a key leads to; `input` is the target's, as base64. */
export async function idOf(endpoint: Endpoint, target: KeyTarget, input: string | undefined): Promise<string> {
  if (target.kind === "getOrCreate") return makeActor(endpoint, "PUT", target, input);
  const { name, key } = target;
  const query = new URLSearchParams({ name, key: serializeKey(key) });
  const { actors } = await ask(endpoint, "GET", `/actors?${query}`);
  const [actor] = Array.isArray(actors) ? actors : [];
  if (actor === undefined) throw actorNotFound(name, key);
  return actorIdOf(actor);
}

/** `PUT` finds or makes an actor, `POST` makes one; `input` is the call's, as base64. */
export async function makeActor(
  endpoint: Endpoint,
  method: "PUT" | "POST",
  { name, key, region, poolName = endpoint.config.poolName }: CreateCall,
  input: string | undefined,
): Promise<string> {
  const { actor } = await ask(endpoint, method, "/actors", {
    datacenter: region,
    name,
    key: serializeKey(key),
    runner_name_selector: poolName,
    input,
    crash_policy: "sleep",
  });
  return actorIdOf(actor);
}

async function ask(
  { config, place, signal, json, fetch }: Endpoint,
  method: string,
  path: string,
  body?: object,
): Promise<Record<string, unknown>> {
  const { endpoint, namespace, token } = place;
  const headers = headersWith(config, {
    authorization: token && `Bearer ${token}`,
    "content-type": body && "application/json",
  });
  const init: RequestInit = { method, headers, ...(signal && { signal }) };
  if (body !== undefined) init.body = JSON.stringify(body);
  return jsonReply(await fetch(withQuery(endpoint + path, `namespace=${encodeURIComponent(namespace)}`), init), json);
}

function actorIdOf(actor: unknown): string {
  const id = (actor as { actor_id?: unknown } | undefined)?.actor_id;
  if (typeof id !== "string") throw invalidResponse(200, "an actor without actor_id");
  return id;
}

function actorNotFound(name: string, key: readonly string[]): ActorError {
  return new ActorError("actor", "not_found", `Actor ${name} with key ${JSON.stringify(key)} was not found.`, {
    public: true,
    statusCode: 404,
    metadata: { name, key },
  });
}

/** The slash form of a key. */
function serializeKey(key: readonly string[]): string {
  if (key.length === 0) return "/";
  return key.map((part) => (part === "" ? "\\0" : part.replaceAll("\\", "\\\\").replaceAll("/", "\\/"))).join("/");
}
