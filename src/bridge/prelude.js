// Runs once per environment and returns the functions that are cheaper, or only
// possible, in JavaScript. Native are `settle(id, ok, value)`, `failed(error)`,
// which logs what nobody waits for, and `tokenOf(id)`, the token of a call.
(function (settle, failed, tokenOf) {
  "use strict";
  const pending = {};
  const { AbortController, Buffer, FinalizationRegistry, Promise, WeakMap, WeakRef, queueMicrotask, process } = globalThis;
  const then = Promise.prototype.then;
  const builtin = (name) => process.getBuiltinModule?.(name);
  const AsyncResource = builtin("node:async_hooks")?.AsyncResource;

  // Results that are promises are settled later, by call number. A foreign
  // thenable is adopted the way `await` would.
  function watch(id, result) {
    if (result === null || (typeof result !== "object" && typeof result !== "function")) return result;
    if (!(result instanceof Promise)) {
      if (typeof result.then !== "function") return result;
      result = Promise.resolve(result);
    }
    then.call(
      result,
      (value) => settle(id, true, value),
      (reason) => settle(id, false, reason),
    );
    return pending;
  }

  // What an action is called with. A class, because an accessor in an object literal
  // is defined anew for each object, which takes longer than the rest of the call.
  class ActionPayload {
    #id;
    #token;

    constructor(id, ctx, conn, args, scheduledFire) {
      this.#id = id;
      this.ctx = ctx;
      this.conn = conn;
      this.args = args;
      this.scheduledFire = scheduledFire;
    }

    // Most actions never look at their token, and it is costly to make.
    get cancelToken() {
      this.#token ??= tokenOf(this.#id);
      return this.#token;
    }
  }

  // Async contexts of callers inside this process, by number.
  const contexts = new Map();
  let nextContext = 1;

  const listeners = new WeakMap();
  const report = (callback) => {
    try {
      callback(null);
    } catch (error) {
      failed(error);
    }
  };

  return {
    pending,
    watch,
    invoke: (id, callback, payload) => watch(id, callback(null, payload)),
    action(id, callback, ctx, conn, args, scheduledFire, context) {
      const payload = new ActionPayload(id, ctx, conn, args, scheduledFire);
      const resource = context === 0 ? undefined : contexts.get(context);
      return watch(
        id,
        resource === undefined ? callback(null, payload) : resource.runInAsyncScope(callback, undefined, null, payload),
      );
    },
    allocate: (length) => Buffer.allocUnsafe(length),
    keep() {
      if (AsyncResource === undefined) return 0;
      const context = nextContext++;
      contexts.set(context, new AsyncResource("GREENROOM_CALL", { requireManualDestroy: true }));
      return context;
    },
    forget(context) {
      contexts.delete(context);
    },

    // One source fires any number of signals that user code may drop at will.
    abortSource() {
      const signals = new Set();
      const controllers = new WeakMap();
      const registry = new FinalizationRegistry((ref) => signals.delete(ref));
      return {
        signal(aborted) {
          const controller = new AbortController();
          const { signal } = controller;
          if (aborted) {
            queueMicrotask(() => controller.abort());
            return signal;
          }
          const ref = new WeakRef(signal);
          signals.add(ref);
          controllers.set(signal, controller);
          registry.register(signal, ref);
          return signal;
        },
        abort() {
          for (const ref of signals) {
            const signal = ref.deref();
            if (signal !== undefined) controllers.get(signal).abort();
          }
          signals.clear();
        },
      };
    },

    // Listeners of tokens that JavaScript made: they live as long as the token.
    listen(owner, callback) {
      const known = listeners.get(owner);
      if (known === undefined) listeners.set(owner, [callback]);
      else known.push(callback);
    },
    notify(owner) {
      const callbacks = listeners.get(owner);
      listeners.delete(owner);
      if (callbacks !== undefined) {
        for (const callback of callbacks) queueMicrotask(() => report(callback));
      }
    },

    freeze: Object.freeze,
    // Properties set from native code would be looked up by name one by one.
    rows: (columns, changes, lastInsertRowId, values, ...cells) => ({
      columns,
      values: values ?? cells,
      changes,
      lastInsertRowId,
    }),
  };
});
