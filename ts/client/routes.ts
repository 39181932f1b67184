/** The ways to an actor: by its URL at the gateway, or by its id, which the endpoint's API tells. */
import type { ClientConfig } from "./config";
import type { Endpoint } from "./endpoint-api";
import { fitsQuery, gatewayHeaders, gatewayUrl, headersWith, type Place } from "./gateway";
import { loaded } from "./loaded";
import type { Parts } from "./parts";
import { type JsonFormat, jsonReply } from "./reply";
import type { KeyTarget, Target } from "./target";
import type { CallOptions, CreateCall } from "./transport";

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** URL and headers of an actor's route. */
export interface Route {
  readonly url: string;
  readonly headers: Headers;
}

export function routesOf(config: ClientConfig, parts: Parts, fetch: Fetch, json: JsonFormat) {
  let place: Promise<Place> | undefined;

  /**
   * Where the host wants its clients. Asked once per client, and only where an
   * answer is possible (see `disableMetadataLookup`); a failed question fails the
   * calls that waited for it, and the next call asks again.
   */
  const where = (): Promise<Place> => {
    place ??= askPlace(config, fetch, json).catch((error) => {
      place = undefined;
      throw error;
    });
    return place;
  };

  const endpoint = async (signal: AbortSignal | undefined): Promise<Endpoint> => ({
    config,
    place: await where(),
    signal,
    json,
    fetch,
  });

  const inputOf = async (value: unknown): Promise<string | undefined> =>
    value === undefined ? undefined : (await loaded(parts.input()))(value);

  const resolve = async (target: KeyTarget, signal?: AbortSignal): Promise<string> => {
    const { idOf } = await loaded(parts.endpointApi());
    return idOf(await endpoint(signal), target, await inputOf(target.input));
  };

  return {
    resolve,

    async create(call: CreateCall): Promise<string> {
      const { makeActor } = await loaded(parts.endpointApi());
      return makeActor(await endpoint(call.signal), "POST", call, await inputOf(call.input));
    },

    /** Goes by way of the actor's id if the gateway's URLs cannot name the target exactly. */
    async route(target: Target, path: string, options: CallOptions): Promise<Route> {
      const place = await where();
      const headers = gatewayHeaders(place, config, options);
      const input = await inputOf(target.input);
      const reachable: Target =
        target.kind === "id" || fitsQuery(target, input)
          ? target
          : { kind: "id", name: target.name, actorId: await resolve(target, options.signal) };
      return { url: gatewayUrl(place, config, reachable, path, input), headers };
    },
  };
}

async function askPlace(config: ClientConfig, fetch: Fetch, json: JsonFormat): Promise<Place> {
  if (!config.metadataLookup) return config;
  const { endpoint, namespace, token } = config;
  const url = `${endpoint}/metadata?namespace=${encodeURIComponent(namespace)}`;
  const headers = headersWith(config, { authorization: token && `Bearer ${token}` });
  const reply = await jsonReply(await fetch(url, { headers }), json);
  const text = <T>(name: string, otherwise: T) => (typeof reply[name] === "string" ? reply[name] : otherwise);
  const given = text("clientEndpoint", undefined);
  if (!given) return config;
  return {
    endpoint: given.replace(/\/+$/, ""),
    namespace: text("clientNamespace", namespace),
    token: text("clientToken", token),
  };
}
