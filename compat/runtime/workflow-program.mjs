// A workflow of the published package: steps, a sleep, a wait for a message.

import { actor, queue, setup } from "rivetkit";
import { workflow } from "rivetkit/workflow";

const order = actor({
  state: { trail: [] },
  queues: { paid: queue() },
  options: { sleepTimeout: 200 },
  run: workflow(async (ctx) => {
    const number = await ctx.step("open", async (c) => {
      c.state.trail.push("opened");
      return 7;
    });
    await ctx.sleep("think", 1_500);
    await ctx.step("ask", async (c) => {
      c.state.trail.push(`asked for ${number}`);
    });
    const payment = await ctx.queue.next("payment", { names: ["paid"] });
    await ctx.step("close", async (c) => {
      c.state.trail.push(`closed with ${payment.body}`);
    });
  }),
  actions: {
    trail: (c) => c.state.trail,
  },
});

const registry = setup({ use: { order }, noWelcome: true, startServices: false });
await registry.startAndWait();
process.send("ready");

process.on("message", async () => {
  process.disconnect();
  await registry.shutdown();
});
