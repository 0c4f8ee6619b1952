import { task, workflow } from "holdfast";
import type { Fleet } from "../../lab/fleet.ts";
import { declined, ended, type Feature, taking } from "../feature.ts";

let lab: Fleet | undefined;
let broken = true;

const work = task("work", async (n: number, { attempt }) => {
  if (n > 0) await taking(lab as Fleet, n);
  else if (attempt === 1) declined();
  return n;
});
const ship = task({ name: "ship", retry: "none" }, async () => {
  await taking(lab as Fleet, 10);
  return broken ? declined() : "shipped";
});
const approval = task<undefined, string>({ name: "approval", external: true, retry: "none" });
const lonely = task("lonely", () => {});
const deaf = task("deaf", () => new Promise<never>(() => {}));

const worked = workflow("tasks-worked", async (ctx) => [await ctx.task(work, 20), await ctx.task(work, 0)]);

const approved = workflow("tasks-approved", async (ctx) => {
  const yes = await ctx.task(approval);
  const no = await ctx.task(approval).catch((error: Error) => error.name);
  return [yes, no];
});

const rescheduled = workflow("tasks-rescheduled", async (ctx) => {
  await ctx.race([(c) => c.task(lonely), (c) => c.sleep("wait", "1s")]);
  return ctx.task(ship);
});

const undone = workflow("tasks-undone", async (ctx) => {
  const compensate = (): void => {};
  await Promise.all([ctx.task(deaf, undefined, { compensate }), ctx.task(lonely, undefined, { compensate })]);
});

export const tasks: Feature = {
  name: "tasks",
  workflows: [worked, approved, rescheduled, undone],
  tasks: [work, ship, deaf],
  async happen(fleet) {
    lab = fleet;
    const client = fleet.client();
    await ended(fleet, await client.start(worked));
    const asked = await client.start(approved);
    for (const answer of ["yes", "no"]) {
      await fleet.clock.settle();
      const token = (await client.tasks.list({ status: "external" })).tasks[0]?.token as string;
      if (answer === "yes") await client.tasks.complete(token, answer);
      else await client.tasks.fail(token, new Error(answer));
    }
    await ended(fleet, asked);
    const again = await client.start(rescheduled);
    await ended(fleet, again);
    broken = false;
    await again.retry();
    await ended(fleet, again);
    broken = true;
    const canceled = await client.start(undone);
    await fleet.clock.settle();
    await canceled.cancel();
    await ended(fleet, canceled);
  },
};
