/** Taking proxies out of values that are about to become part of a state tree. */
import { isPlainObject, setOwn } from "../common/plain";
import { toRaw } from "../common/raw";

/**
 * The same value without proxies, at any depth. Containers are changed in place,
 * because they are the caller's and stay the caller's; only one that refuses
 * change (a frozen one) is copied. The value must be serializable: no cycles.
 */
export function strip<T>(value: T): T {
  const raw = toRaw(value);
  // What was behind a proxy is part of a tree already and holds none.
  if (raw !== value || typeof raw !== "object" || raw === null) return raw;
  if (Array.isArray(raw)) return stripArray(raw) as T;
  if (raw instanceof Map) return stripMap(raw) as T;
  if (raw instanceof Set) return stripSet(raw) as T;
  return isPlainObject(raw) ? (stripObject(raw) as T) : raw;
}

function stripArray(array: unknown[]): unknown[] {
  const target = Object.isExtensible(array) ? array : [...array];
  for (let i = 0; i < target.length; i++) {
    const item = target[i];
    const stripped = strip(item);
    if (stripped !== item) target[i] = stripped;
  }
  return target;
}

function stripObject(object: Record<string, unknown>): Record<string, unknown> {
  const target = Object.isExtensible(object) ? object : { ...object };
  for (const key of Object.keys(target)) {
    const item = target[key];
    const stripped = strip(item);
    if (stripped !== item) setOwn(target, key, stripped);
  }
  return target;
}

function stripMap(map: Map<unknown, unknown>): Map<unknown, unknown> {
  const entries = [...map];
  const stripped = entries.map(([key, item]) => [strip(key), strip(item)] as const);
  if (entries.every(([key, item], i) => key === stripped[i]?.[0] && item === stripped[i]?.[1])) return map;
  map.clear();
  for (const [key, item] of stripped) map.set(key, item);
  return map;
}

function stripSet(set: Set<unknown>): Set<unknown> {
  const items = [...set];
  const stripped = items.map((item) => strip(item));
  if (items.every((item, i) => item === stripped[i])) return set;
  set.clear();
  for (const item of stripped) set.add(item);
  return set;
}
