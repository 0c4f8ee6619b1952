import { workflow } from "holdfast";
import { expect, test } from "vitest";
import { Gate } from "../lab/harness.ts";
import { openWorld } from "../lab/world.ts";

test("a child that was started after a step had ended is undone before it, also if it was asked for earlier", async () => {
  const world = openWorld();
  const log: string[] = [];
  const does = (what: string) => (): void => void log.push(what);
  const booked = new Gate();
  const ship = workflow("ship", async (ctx) => ctx.step("send", does("ship")));
  const main = workflow("main", async (ctx) => {
    const shipped = ctx.child(ship, undefined, { compensate: does("call back") });
    await ctx.step("book", does("book"), { compensate: does("cancel booking") });
    booked.open();
    await shipped;
    throw new Error("sold out");
  });
  const client = world.client({
    hooks: {
      "runs.start": async (params, call) => {
        if (params.starts.some(({ parent }) => parent)) await booked.opened;
        return call();
      },
    },
  });
  await world.worker(client, { workflows: [main, ship] });
  const run = await client.start(main);
  await expect(world.result(run)).rejects.toMatchObject({ code: "run_failed" });
  expect(log).toEqual(["book", "ship", "call back", "cancel booking"]);
});
