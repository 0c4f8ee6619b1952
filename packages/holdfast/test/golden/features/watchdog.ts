import { task, workflow } from "holdfast";
import type { Fleet } from "../../lab/fleet.ts";
import { ended, type Feature, taking } from "../feature.ts";

let lab: Fleet | undefined;
let executions = 0;

const hangs = workflow("watchdog-restarted", async (ctx) => {
  const order = await ctx.step("order", () => "o-1");
  await ctx.step("hang", () => (++executions === 1 ? taking(lab as Fleet, 86_400_000) : Promise.resolve()));
  return order;
});

const send = task("watchdog-send", async (_input: undefined, { attempt }) => {
  if (attempt === 1) await taking(lab as Fleet, 86_400_000);
  return attempt;
});
const sends = workflow("watchdog-noted", (ctx) => ctx.task(send, undefined));

export const watchdog: Feature = {
  name: "watchdog",
  workflows: [hangs, sends],
  tasks: [send],
  async happen(fleet) {
    lab = fleet;
    executions = 0;
    const rules = [
      { detect: "stalled_run", after: "1m", action: "restart", workflow: "watchdog-restarted" },
      { detect: "stalled_task", after: "1m", action: "timeout_task" },
    ] as const;
    await fleet.worker({ name: "watcher", watchdog: { every: "10s", rules } });
    const client = fleet.client();
    await ended(fleet, await client.start(hangs), await client.start(sends));
  },
};
