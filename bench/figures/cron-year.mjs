// A year of a daily job on the manual clock of the test kit: how long a test that
// lives through it takes.

import { actor, setup } from "greenroom";
import { createTestKit } from "greenroom/test";

const DAY = 86_400_000;
const DAYS = 365;
const START = Date.UTC(2026, 0, 1);

export default {
  name: "cron-year",
  title: `A year of a daily cron job of an actor that stays awake, on the manual clock, ${DAYS} fires`,
  unit: "ms",
  baseline: `${DAYS} actions called in the process, one after the other`,
  ratio: "none",
  atMostSubject: 1_000,

  async round() {
    const days = [];
    const yearly = actor({
      options: { noSleep: true },
      actions: {
        set: (c) => c.cron.set({ name: "daily", expression: "0 6 * * *", action: "tick" }),
        tick: (_c, { scheduledAt }) => void days.push(scheduledAt),
        call: () => {},
      },
    });
    const kit = await createTestKit(setup({ use: { yearly } }), { clock: "manual", startAt: START });
    const handle = kit.client.yearly.getOrCreate("a");
    await handle.set();
    const timed = async (work) => {
      const since = performance.now();
      await work();
      return performance.now() - since;
    };
    const subject = await timed(() => kit.advance(DAYS * DAY));
    const inOrder = days.every((at, day) => at === START + day * DAY + DAY / 4);
    if (days.length !== DAYS || !inOrder) throw new Error(`${days.length} fires, in order: ${inOrder}`);
    const baseline = await timed(async () => {
      for (let call = 0; call < DAYS; call++) await handle.call();
    });
    await kit.dispose();
    return { subject, baseline };
  },
};
