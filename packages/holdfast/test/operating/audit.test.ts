import { workflow } from "holdfast";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

/** Everything that was done to a run from outside: who, what, when and why, from its history alone. */
async function auditOf(run: { history(): Promise<readonly Audited[]> }, sinceMs: number): Promise<string[]> {
  return (await run.history())
    .filter(({ category, type }) => category === "command" || type === "run_retried" || type === "run_terminated")
    .map(({ at, type, data, error }) => {
      const code = type === "run_parked" ? ` (${error?.code})` : "";
      const why = data?.reason === undefined ? "" : `: ${data.reason}`;
      return `${new Date(at.getTime() - sinceMs).toISOString().slice(11, 16)} ${type}${code} by ${data?.by ?? "nobody"}${why}`;
    });
}

interface Audited {
  readonly type: string;
  readonly category: string;
  readonly at: Date;
  readonly data?: { readonly by?: string; readonly reason?: string };
  readonly error?: { readonly code?: string };
}

test("everything that was done to a run can be read from its history alone: who, what, when and why", async () => {
  let mood: "buggy" | "failing" | "well" = "well";
  const order = workflow("order", async (ctx) => {
    await ctx.sleep("nap", "1h");
    if (mood === "buggy") (undefined as unknown as { fail(): void }).fail();
    const work = () => {
      if (mood === "failing") throw new Error("declined");
    };
    await ctx.step("work", work, { retry: "none" });
    await ctx.sleep("long", "1 day");
  });
  const fleet = openFleet();
  const begin = fleet.clock.now();
  await fleet.worker({ workflows: [order], name: "one" });
  const run = await fleet.client().start(order, undefined, { id: "o" });
  const minute = async (): Promise<void> => fleet.clock.advance("1m");

  await minute();
  await run.pause({ by: "ana", reason: "a break" });
  await minute();
  await run.resume({ by: "ben", reason: "back" });
  await minute();
  mood = "buggy";
  await fleet.clock.advance("57m");
  mood = "failing";
  await minute();
  await run.resume("the code is mended");
  await minute();
  mood = "well";
  await run.retry({ by: "ana", reason: "the card is good again" });
  await minute();
  await run.pause("lunch");
  await minute();
  await run.cancel({ by: "eve", reason: "no longer wanted" });
  await minute();

  expect(await auditOf(run, begin)).toEqual([
    "00:01 run_parked (paused) by ana: a break",
    "00:02 run_resumed by ben: back",
    "01:00 run_parked (workflow_bug) by nobody",
    "01:01 run_resumed by nobody: the code is mended",
    "01:02 run_retried by ana: the card is good again",
    "01:03 run_parked (paused) by nobody: lunch",
    "01:04 run_resumed by eve: no longer wanted",
    "01:04 cancel_requested by eve: no longer wanted",
  ]);
  expect(await run.status()).toBe("canceled");

  const second = await fleet.client().start(order, undefined, { id: "p" });
  await minute();
  await second.terminate({ by: "eve", reason: "all of it" });
  expect(await auditOf(second, begin)).toEqual(["01:06 run_terminated by eve: all of it"]);
});

test("a run that other code takes up says which worker did", async () => {
  const broken = workflow("order", async () => (undefined as unknown as { fail(): void }).fail());
  const mended = workflow("order", async (ctx) => ctx.sleep("nap", "1h"));
  const fleet = openFleet();
  const begin = fleet.clock.now();
  const bad = await fleet.worker({ workflows: [broken] });
  const run = await fleet.client().start(broken);
  await fleet.clock.settle();
  await fleet.clock.until(bad.stop());
  await fleet.worker({ workflows: [mended], name: "mended" });
  await fleet.clock.settle();
  expect(await auditOf(run, begin)).toEqual([
    "00:00 run_parked (workflow_bug) by nobody",
    "00:00 run_resumed by worker mended: other code took the run up",
  ]);
});
