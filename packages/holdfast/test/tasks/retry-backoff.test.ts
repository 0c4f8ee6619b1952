import { signal, task, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openWorld } from "../lab/world.ts";

const word = signal<string>("word");

for (const kind of ["step", "task"] as const) {
  test(`a failed ${kind} is done again after the backoff of its run, also if a signal wakes the run before`, async () => {
    const world = openWorld();
    const at: number[] = [];
    const flaky = (): void => {
      at.push(world.clock.now());
      if (at.length === 1) throw new Error("down");
    };
    const work = task({ name: "work", retry: "none" }, flaky);
    const main = workflow({ name: "main", retry: { attempts: 2, fixed: "1h" } }, async (ctx) => {
      const done = kind === "task" ? ctx.task(work) : ctx.step("work", flaky, { retry: "none" });
      const [heard] = await Promise.all([ctx.receive(word), done]);
      return heard;
    });
    const client = world.client();
    await world.worker(client, { workflows: [main], tasks: [work], cacheSize: 0 });
    const run = await client.start(main);
    await world.clock.advance("1m");
    await run.signal(word, "hello");
    expect(await world.result(run)).toBe("hello");
    expect((at[1] as number) - (at[0] as number)).toBeGreaterThanOrEqual(3_600_000);
  });
}
