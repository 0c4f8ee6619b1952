import { task, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

for (const by of ["a person", "itself"] as const) {
  test(`a task that was taken back when another branch failed is done after a retry by ${by}`, async () => {
    const fleet = openFleet();
    let broken = true;
    const slow = task("slow", () => "done");
    const retry = by === "itself" ? { retry: { attempts: 2, fixed: "1m" } as const } : {};
    const main = workflow({ name: "main", ...retry }, async (ctx) =>
      ctx.parallel([
        (c) => c.task(slow),
        (c) =>
          c.step(
            "check",
            () => {
              if (broken) throw new Error("not yet");
              return "checked";
            },
            { retry: "none" },
          ),
      ]),
    );
    await fleet.worker({ workflows: [main], cacheSize: 0 });
    const run = await fleet.client().start(main);
    await fleet.clock.settle();
    if (by === "a person") expect(await run.status()).toBe("failed");
    broken = false;
    await fleet.worker({ tasks: [slow] });
    if (by === "a person") await run.retry();
    expect(await fleet.clock.until(run.result())).toEqual(["done", "checked"]);
  });
}

for (const by of ["a person", "itself"] as const) {
  test(`a task that a failed branch took back, long before the run failed, is done after a retry by ${by}`, async () => {
    const fleet = openFleet();
    let broken = true;
    const slow = task("slow", () => "done");
    const retry = by === "itself" ? { retry: { attempts: 2, fixed: "1m" } as const } : {};
    const main = workflow({ name: "main", ...retry }, async (ctx) => {
      const check = (): string => {
        if (broken) throw new Error("not yet");
        return "checked";
      };
      try {
        return await ctx.parallel([(c) => c.task(slow), (c) => c.step("check", check, { retry: "none" })]);
      } catch (error) {
        await ctx.sleep("think", "1h");
        throw error;
      }
    });
    await fleet.worker({ workflows: [main], cacheSize: 0 });
    const run = await fleet.client().start(main);
    await fleet.clock.settle();
    await fleet.clock.advance("1h");
    await fleet.clock.settle();
    if (by === "a person") expect(await run.status()).toBe("failed");
    broken = false;
    await fleet.worker({ tasks: [slow] });
    if (by === "a person") await run.retry();
    expect(await fleet.clock.until(run.result())).toEqual(["done", "checked"]);
  });
}
