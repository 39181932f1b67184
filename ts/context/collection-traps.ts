/**
 * Proxy traps for objects that keep their contents in internal slots: Map, Set,
 * Date and typed arrays. Their methods only work on the real object, so the
 * traps hand out methods that are bound to it and report what they change.
 */
import type { TypedArray } from "../common/plain";
import { toRaw } from "../common/raw";
import type { WriteThrough } from "./write-through";

type Method = (...args: unknown[]) => unknown;

/** Methods by name; what is missing here is treated by `fallback`. */
function slotTraps<T extends object>(
  methods: (target: T, proxy: T) => Partial<Record<PropertyKey, Method>>,
  fallback: (target: T, name: PropertyKey, method: Method) => Method,
): ProxyHandler<T> {
  // Traps are made per object, so its methods are made once, when first used.
  let known: Partial<Record<PropertyKey, Method>> | undefined;
  return {
    get(target, key, proxy: T) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function" || key === "constructor") return value;
      known ??= methods(target, proxy);
      return known[key] ?? fallback(target, key, value as Method);
    },
    setPrototypeOf: () => false,
    preventExtensions: () => false,
  };
}

export function mapTraps(tree: WriteThrough): ProxyHandler<Map<unknown, unknown>> {
  return slotTraps<Map<unknown, unknown>>((map, proxy) => {
    const path = tree.pathOf(map);
    const view = (value: unknown) => tree.view(value, `${path}.get(…)`);
    const entries = function* () {
      for (const [key, value] of map) yield [view(key), view(value)];
    };
    return {
      get: (key) => view(map.get(toRaw(key))),
      has: (key) => map.has(toRaw(key)),
      set: (key, value) => {
        tree.change(() => map.set(tree.adopt(key, `${path}.key(…)`, map), tree.adopt(value, `${path}.get(…)`, map)));
        return proxy;
      },
      delete: (key) => map.has(toRaw(key)) && tree.change(() => map.delete(toRaw(key))),
      clear: () => map.size > 0 && tree.change(() => map.clear()),
      forEach: (callback, self) => {
        for (const [key, value] of map) (callback as Method).call(self, view(value), view(key), proxy);
      },
      keys: function* () {
        for (const key of map.keys()) yield view(key);
      },
      values: function* () {
        for (const value of map.values()) yield view(value);
      },
      entries,
      [Symbol.iterator]: entries,
    };
  }, changing(tree));
}

const SET_READERS: ReadonlySet<PropertyKey> = new Set([
  "union",
  "intersection",
  "difference",
  "symmetricDifference",
  "isSubsetOf",
  "isSupersetOf",
  "isDisjointFrom",
]);

export function setTraps(tree: WriteThrough): ProxyHandler<Set<unknown>> {
  const unknownMethod = changing(tree);
  return slotTraps<Set<unknown>>(
    (set, proxy) => {
      const path = `${tree.pathOf(set)}.item(…)`;
      const view = (value: unknown) => tree.view(value, path);
      const values = function* () {
        for (const value of set) yield view(value);
      };
      return {
        has: (value) => set.has(toRaw(value)),
        add: (value) => {
          if (!set.has(toRaw(value))) tree.change(() => set.add(tree.adopt(value, path, set)));
          return proxy;
        },
        delete: (value) => set.has(toRaw(value)) && tree.change(() => set.delete(toRaw(value))),
        clear: () => set.size > 0 && tree.change(() => set.clear()),
        forEach: (callback, self) => {
          for (const value of set) (callback as Method).call(self, view(value), view(value), proxy);
        },
        entries: function* () {
          for (const value of set) yield [view(value), view(value)];
        },
        keys: values,
        values,
        [Symbol.iterator]: values,
      };
    },
    (set, name, method) =>
      SET_READERS.has(name) ? (...args) => method.apply(set, args.map(toRaw)) : unknownMethod(set, name, method),
  );
}

export function dateTraps(tree: WriteThrough): ProxyHandler<Date> {
  return slotTraps<Date>(
    () => ({}),
    (date, name, method) =>
      typeof name === "string" && name.startsWith("set") ? changing(tree)(date, name, method) : bound(date, method),
  );
}

/** `set`, `fill`, `sort` …, and what a Buffer adds: `writeInt8`, `swap16` … */
const ARRAY_WRITERS = /^(set|fill|sort|reverse|copyWithin|swap|[a-z0-9]*[wW]rite)/;

export function typedArrayTraps(tree: WriteThrough): ProxyHandler<TypedArray> {
  const traps = slotTraps<TypedArray>(
    (array) => ({
      // A window on the same memory must be watched like the whole.
      subarray: (...range) => tree.view(array.subarray(...(range as [number, number])), tree.pathOf(array)),
    }),
    (array, name, method) =>
      typeof name === "string" && ARRAY_WRITERS.test(name) ? changing(tree)(array, name, method) : bound(array, method),
  );
  return {
    ...traps,
    set: (array, key, value) => tree.change(() => Reflect.set(array, key, value, array)),
  };
}

/**
 * A method that may change its object. Also the treatment of methods this code
 * does not know, such as those of later language versions: a save too many is
 * harmless, a change unnoticed is not.
 */
function changing(tree: WriteThrough): (target: object, name: PropertyKey, method: Method) => Method {
  return (target, name, method) =>
    (...args) => {
      const path = `${tree.pathOf(target)}.${String(name)}(…)`;
      const raw = args.map((arg) => (typeof arg === "function" ? arg : tree.adopt(arg, path, target)));
      const result = tree.change(() => method.apply(target, raw));
      return result === target ? tree.view(target, path) : result;
    };
}

function bound(target: object, method: Method): Method {
  return (...args) => method.apply(target, args.map(toRaw));
}
