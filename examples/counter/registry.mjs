// The actors of this example. A real program would write this in TypeScript;
// plain JavaScript lets a fresh clone run it without a compile step.

import { actor, event, setup, UserError } from "greenroom";

export const counter = actor({
  state: { count: 0 },
  events: { count: event() },
  actions: {
    /** Adds `by` and answers when the new count is on disk. */
    increment: async (c, by = 1) => {
      if (!Number.isSafeInteger(by)) {
        throw new UserError("increment takes a whole number", {
          code: "not_a_whole_number",
          metadata: { got: String(by) },
        });
      }
      c.state.count += by;
      await c.saveState({ immediate: true });
      c.broadcast("count", c.state.count);
      return c.state.count;
    },

    get: (c) => c.state.count,
  },
});

export const registry = setup({ use: { counter } });
