/** What comes for a run when its failed attempt is being written and the next one has not begun. */
import { signal, workflow } from "holdfast";
import type { StoreHooks } from "holdfast/adapter";
import { expect, test } from "vitest";
import { openWorld } from "../lab/world.ts";

const word = signal<string>("word");

test("signals that come while a run is suspended for its next try are received by that try, one after the other", async () => {
  const world = openWorld();
  const outside = world.client();
  let calls = 0;
  const commitRuns: StoreHooks["runs.commit"] = async ({ commits }, call) => {
    const retried = commits.some(({ events }) => events.some(({ type }) => type === "run_retried"));
    if (retried) for (const text of ["one", "two"]) await outside.get("r").signal(word, text);
    return call();
  };
  const client = world.client({ hooks: { "runs.commit": commitRuns } });
  const flaky = (): number => {
    calls += 1;
    if (calls === 1) throw new Error("down");
    return calls;
  };
  const job = workflow({ name: "job", retry: { attempts: 2, fixed: "1m" } }, async (ctx) =>
    Promise.all([
      ctx.step("flaky", flaky, { retry: "none" }),
      (async () => {
        const first = await ctx.receive(word);
        await ctx.sleep("between", "1s");
        return `${first} ${await ctx.receive(word)}`;
      })(),
    ]),
  );
  await world.worker(client, { workflows: [job] });
  const run = await client.start(job, undefined, { id: "r" });
  expect(await world.result(run)).toEqual([2, "one two"]);
});
