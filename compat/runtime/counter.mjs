// An actor of the published package that counts, for programs that are about
// something else.

import { actor } from "rivetkit";

export const counter = actor({
  state: { count: 0 },
  actions: {
    add: (c, n) => {
      c.state.count += n;
      return c.state.count;
    },
  },
});
