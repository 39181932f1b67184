/** The network client, on whichever way its encodings come. */
import { clientOver } from "./client";
import { type ClientOptions, clientConfig } from "./config";
import type { FormatSource } from "./formats";
import { HttpTransport } from "./http-transport";
import type { Client } from "./types";

export function createClientWith(formats: FormatSource) {
  return function createClient<R>(endpoint?: string | ClientOptions, options: ClientOptions = {}): Client<R> {
    const given = typeof endpoint === "string" ? { ...options, endpoint } : { ...endpoint, ...options };
    const config = clientConfig(given);
    const { poolName, skipReadyWait } = config;
    return clientOver<R>(new HttpTransport(config, formats), { poolName, skipReadyWait });
  };
}
