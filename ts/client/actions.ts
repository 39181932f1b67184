/** Objects that answer to more names than they have members. */

/**
 * Stands for `members`, and for everything else an action that `call` makes:
 * `thing.a.b(…)` is the action `a.b`. A member may have such a name itself.
 */
export function withActions(members: object, call: (name: string, args: unknown[]) => Promise<unknown>): object {
  const action = (name: string): unknown =>
    membersOr(members, action, (...args: unknown[]) => call(name, args), `${name}.`);
  return membersOr(members, action);
}

/**
 * Stands for `target`, with every property that is none of the members called
 * `prefix` and its name made by `otherwise`.
 */
export function membersOr<M extends object>(
  members: M,
  otherwise: (name: string) => unknown,
  target: object = members,
  prefix = "",
): object {
  const own = (name: PropertyKey): name is keyof M => Object.hasOwn(members, name);
  return new Proxy(target, {
    get: (_, key) => {
      // It must not look like a promise, nor like anything symbols ask for.
      if (typeof key === "symbol" || key === "then") return undefined;
      const name = prefix + key;
      return own(name) ? members[name] : otherwise(name);
    },
    has: (_, key) => own(key),
  });
}
