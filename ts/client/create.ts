/** The network client, wherever it runs. */
import { clientOver } from "./client";
import { type ClientOptions, clientConfig, type Surroundings } from "./config";
import { httpTransport } from "./http-transport";
import type { Parts } from "./parts";
import type { Client } from "./types";

/** What differs between Node.js and a page. */
export type Platform = Parts & Surroundings;

export function createClientWith(platform: Platform) {
  return function createClient<R>(endpoint?: string | ClientOptions, options: ClientOptions = {}): Client<R> {
    const given = typeof endpoint === "string" ? { ...options, endpoint } : { ...endpoint, ...options };
    const config = clientConfig(given, platform);
    return clientOver<R>(httpTransport(config, platform), config);
  };
}
