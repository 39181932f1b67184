/** `c.kv`: the key-value store that ported code may still use. */
import { toRaw } from "../common/raw";
import { fromNativePromise } from "../errors/bridge";
import { invalidOption } from "../errors/raised";
import type { NativeKv, NativeKvEntry, NativeKvList } from "../native/storage-types";
import type { ActorKv, KvKeyType, KvListOptions, KvValueType } from "./service-types";

/** Single calls put user keys under this byte; batch calls use raw keys. */
const USER_KEY_PREFIX = 4;

const utf8 = new TextEncoder();
const utf8Decoder = new TextDecoder();

type Input = Uint8Array | string | ArrayBuffer;
type AnyListOptions = KvListOptions<KvValueType, KvKeyType>;

export function createKv(native: NativeKv): ActorKv {
  const listPrefix = async (prefix: Input, options: AnyListOptions = {}) =>
    pairs(await fromNativePromise(() => native.listPrefix(userKey(prefix), range(options))), options);
  const kv = {
    async get(key: Input, { type = "text" }: { type?: KvValueType } = {}) {
      const value = await fromNativePromise(() => native.get(userKey(key)));
      return value === null ? null : output(value, type);
    },
    put: async (key: Input, value: Input) => fromNativePromise(() => native.put(userKey(key), bytes(value, "value"))),
    delete: async (key: Input) => fromNativePromise(() => native.delete(userKey(key))),
    async batchPut(entries: [Uint8Array, Uint8Array][]) {
      const raw = entries.map(([key, value]) => ({ key: toRaw(key), value: toRaw(value) }));
      await fromNativePromise(() => native.batchPut(raw));
    },
    batchGet: async (keys: Uint8Array[]) => fromNativePromise(() => native.batchGet(keys.map(toRaw))),
    batchDelete: async (keys: Uint8Array[]) => fromNativePromise(() => native.batchDelete(keys.map(toRaw))),
    deleteRange: async (start: Input, end: Input) =>
      fromNativePromise(() => native.deleteRange(userKey(start), userKey(end))),
    list: listPrefix,
    listPrefix,
    listRange: async (start: Input, end: Input, options: AnyListOptions = {}) =>
      pairs(await fromNativePromise(() => native.listRange(userKey(start), userKey(end), range(options))), options),
  };
  // The generic result types depend on option values; the code above does, too.
  return kv as unknown as ActorKv;
}

function range({ reverse, limit }: AnyListOptions): NativeKvList {
  return { ...(reverse !== undefined && { reverse }), ...(limit !== undefined && { limit }) };
}

function pairs(entries: NativeKvEntry[], { type = "text", keyType = "text" }: AnyListOptions): unknown[] {
  return entries.map(({ key, value }) => [output(key.subarray(1), keyType), output(value, type)]);
}

function userKey(key: Input): Uint8Array {
  const raw = bytes(key, "key");
  const prefixed = new Uint8Array(raw.length + 1);
  prefixed[0] = USER_KEY_PREFIX;
  prefixed.set(raw, 1);
  return prefixed;
}

function bytes(value: Input, what: string): Uint8Array {
  const raw = toRaw(value);
  if (typeof raw === "string") return utf8.encode(raw);
  if (raw instanceof Uint8Array) return raw;
  if (raw instanceof ArrayBuffer) return new Uint8Array(raw);
  throw invalidOption(what, "must be a string, Uint8Array or ArrayBuffer");
}

function output(value: Uint8Array, type: KvValueType): string | ArrayBuffer | Uint8Array {
  if (type === "text") return utf8Decoder.decode(value);
  const copy = new Uint8Array(value);
  return type === "arrayBuffer" ? copy.buffer : copy;
}
