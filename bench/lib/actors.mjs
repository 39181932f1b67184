// The actors that are measured.

import { actor, setup } from "greenroom";

const counter = actor({
  state: { count: 0 },
  // Nothing may fall asleep in the middle of a round but what is told to.
  options: { noSleep: true },
  actions: {
    increment: (c, by) => {
      c.state.count += by;
      return c.state.count;
    },
    /** Answers when the new count is on disk. */
    incrementDurably: async (c, by) => {
      c.state.count += by;
      await c.saveState({ immediate: true });
      return c.state.count;
    },
    get: (c) => c.state.count,
    nap: (c) => c.sleep(),
  },
});

/** A fresh registry: each server and each figure has its own. */
export const makeRegistry = () => setup({ use: { counter } });
