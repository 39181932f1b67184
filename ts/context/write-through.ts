/**
 * Write-through proxies: the view on a state tree through which every change,
 * at any depth, is noticed.
 *
 * Promises: the tree itself never holds a proxy; a value without an encoding is
 * refused before it gets in; one value has one proxy, so `===` works among
 * reads. Values stay the caller's own objects, as in RivetKit: changing one by
 * another reference than `c.state` works but is noticed only at the next save.
 *
 * Does not decide when to save, and does not follow into ArrayBuffer, DataView,
 * RegExp and Error, which are handed out as they are: replace, don't mutate them.
 */

import { childPath, findUnserializable } from "../codec/serializable";
import { isPlainObject, isTypedArray } from "../common/plain";
import { registerProxy, toRaw } from "../common/raw";
import { dateTraps, mapTraps, setTraps, typedArrayTraps } from "./collection-traps";
import { strip } from "./strip";

/** What the owner of a tree does about changes. */
export interface Watcher {
  /** Called before a change; throws to refuse it. */
  beforeChange(): void;
  changed(): void;
}

export class WriteThrough {
  readonly #watcher: Watcher;
  readonly #proxies = new WeakMap<object, object>();
  /** Where a container was first reached; only for the text of errors. */
  readonly #paths = new WeakMap<object, string>();

  constructor(watcher: Watcher) {
    this.#watcher = watcher;
  }

  /** The view on a value; primitives and untracked objects are their own. */
  view<T>(value: T, path: string): T {
    if (typeof value !== "object" || value === null) return value;
    const existing = this.#proxies.get(value);
    if (existing !== undefined) return existing as T;
    const traps = this.#trapsFor(value);
    if (traps === undefined) return value;
    const proxy = new Proxy(value, traps);
    this.#proxies.set(value, proxy);
    this.#paths.set(value, path);
    registerProxy(proxy, value);
    return proxy as T;
  }

  /** Makes a value fit to become part of `container`, or throws, naming its path. */
  adopt(value: unknown, path: string, container?: object): unknown {
    if (typeof value !== "object" && typeof value !== "function" && typeof value !== "symbol") return value;
    const culprit = findUnserializable(value, path, container);
    if (culprit !== undefined) throw new TypeError(`${culprit.path} ${culprit.reason}`);
    return strip(value);
  }

  /** Runs one change of the tree: asked before, reported after. */
  change<T>(apply: () => T): T {
    this.#watcher.beforeChange();
    const result = apply();
    this.#watcher.changed();
    return result;
  }

  pathOf(container: object): string {
    return this.#paths.get(container) ?? "state";
  }

  #trapsFor(value: object): ProxyHandler<object> | undefined {
    if (Array.isArray(value)) return this.#arrayTraps as ProxyHandler<object>;
    if (isPlainObject(value)) return this.#objectTraps as ProxyHandler<object>;
    if (value instanceof Map) return mapTraps(this) as ProxyHandler<object>;
    if (value instanceof Set) return setTraps(this) as ProxyHandler<object>;
    if (value instanceof Date) return dateTraps(this) as ProxyHandler<object>;
    if (isTypedArray(value)) return typedArrayTraps(this) as ProxyHandler<object>;
    return undefined;
  }

  #get(target: object, key: PropertyKey): unknown {
    const value: unknown = Reflect.get(target, key, target);
    if (typeof value !== "object" || value === null) return value;
    // A proxy must show a frozen property exactly as it is.
    if (!Object.isExtensible(target) && isFixed(target, key)) return value;
    return this.view(value, memberPath(this.pathOf(target), target, key));
  }

  readonly #objectTraps: ProxyHandler<object> = {
    get: (target, key) => this.#get(target, key),
    set: (target, key, value) => this.#set(target, key, value),
    defineProperty: (target, key, descriptor) => this.#define(target, key, descriptor),
    deleteProperty: (target, key) => {
      if (!Object.hasOwn(target, key)) return true;
      return this.change(() => Reflect.deleteProperty(target, key));
    },
    setPrototypeOf: () => false,
    preventExtensions: () => false,
  };

  readonly #arrayTraps: ProxyHandler<unknown[]> = {
    ...(this.#objectTraps as ProxyHandler<unknown[]>),
    get: (target, key) => {
      // Searching compares identities, and the array holds no proxies.
      if (key === "includes" || key === "indexOf" || key === "lastIndexOf") {
        return (needle: unknown, ...from: [number]) => target[key](toRaw(needle), ...from);
      }
      return this.#get(target, key);
    },
  };

  #set(target: object, key: PropertyKey, value: unknown): boolean {
    const path = memberPath(this.pathOf(target), target, key);
    if (typeof key === "symbol") throw new TypeError(`${path} has a symbol as its name and cannot be serialized`);
    this.#watcher.beforeChange();
    const next = this.adopt(value, path, target);
    const same = Object.is((target as Record<PropertyKey, unknown>)[key], next) && Object.hasOwn(target, key);
    // An object that is assigned again may have been changed behind our back.
    if (same && (typeof next !== "object" || next === null)) return true;
    const done = Reflect.set(target, key, next, target);
    if (done) this.#watcher.changed();
    return done;
  }

  #define(target: object, key: PropertyKey, descriptor: PropertyDescriptor): boolean {
    const path = memberPath(this.pathOf(target), target, key);
    if (typeof key === "symbol") throw new TypeError(`${path} has a symbol as its name and cannot be serialized`);
    if (!("value" in descriptor)) throw new TypeError(`${path} is an accessor and cannot be serialized`);
    return this.change(() =>
      Reflect.defineProperty(target, key, { ...descriptor, value: this.adopt(descriptor.value, path, target) }),
    );
  }
}

function isFixed(target: object, key: PropertyKey): boolean {
  const descriptor = Reflect.getOwnPropertyDescriptor(target, key);
  return descriptor !== undefined && descriptor.configurable === false && descriptor.writable === false;
}

function memberPath(base: string, target: object, key: PropertyKey): string {
  return Array.isArray(target) && typeof key === "string" && /^\d+$/.test(key)
    ? `${base}[${key}]`
    : childPath(base, String(key));
}
