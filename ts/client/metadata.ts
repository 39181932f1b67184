/**
 * Asking the host where its clients should go.
 *
 * Asked once per client and only where an answer is possible (see
 * `disableMetadataLookup`); a failed lookup fails the calls that waited for it
 * and the next call asks again.
 */
import type { ClientConfig } from "./config";
import type { Place } from "./gateway";
import { type JsonFormat, jsonReply } from "./reply";

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export class MetadataLookup {
  readonly #config: ClientConfig;
  readonly #fetch: Fetch;
  readonly #json: JsonFormat;
  #place: Promise<Place> | Place | undefined;

  constructor(config: ClientConfig, fetch: Fetch, json: JsonFormat) {
    this.#config = config;
    this.#fetch = fetch;
    this.#json = json;
    const { endpoint, namespace, token, metadataLookup } = config;
    if (!metadataLookup) this.#place = { endpoint, namespace, token };
  }

  place(): Promise<Place> | Place {
    this.#place ??= this.#ask().then(
      (place) => (this.#place = place),
      (error) => {
        this.#place = undefined;
        throw error;
      },
    );
    return this.#place;
  }

  async #ask(): Promise<Place> {
    const { endpoint, namespace, token, headers } = this.#config;
    const init: RequestInit = {
      headers: { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    };
    const response = await this.#fetch(`${endpoint}/metadata?namespace=${encodeURIComponent(namespace)}`, init);
    const reply = await jsonReply(response, this.#json);
    if (typeof reply.clientEndpoint !== "string") return { endpoint, namespace, token };
    return {
      endpoint: reply.clientEndpoint.replace(/\/+$/, ""),
      namespace: typeof reply.clientNamespace === "string" ? reply.clientNamespace : namespace,
      token: typeof reply.clientToken === "string" ? reply.clientToken : token,
    };
  }
}
