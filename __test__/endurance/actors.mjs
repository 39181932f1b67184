// The actor of the endurance tests.

import { actor, setup } from "greenroom";

export const registry = setup({
  use: {
    counter: actor({
      state: { count: 0 },
      vars: { wakes: 0 },
      options: { noSleep: true },
      actions: {
        increment: async (c, by) => {
          c.state.count += by;
          await c.saveState({ immediate: true });
          return c.state.count;
        },
        get: (c) => c.state.count,
        nap: (c) => c.sleep(),
        end: (c) => c.destroy(),
      },
    }),
  },
});
