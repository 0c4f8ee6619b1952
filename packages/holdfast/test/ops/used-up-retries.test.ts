import { workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

test("a step that waits for its retry shows its attempts, its error and when it will be tried again", async () => {
  const work = workflow("work", (ctx) =>
    ctx.step("call", () => Promise.reject(new Error("down")), { retry: { attempts: 9, fixed: "1m" } }),
  );
  const fleet = openFleet();
  const began = fleet.clock.now();
  await fleet.worker({ workflows: [work] });
  const run = await fleet.client().start(work);
  await fleet.clock.advance("2m");
  const minute = 60_000;
  const seen = { op: "call", status: "retrying", error: { message: "down", kind: "Unknown" } };
  expect(await run.steps()).toMatchObject([{ ...seen, attempts: 3, dueAt: new Date(began + 3 * minute) }]);
  expect(await run.describe()).toMatchObject({ status: "sleeping", error: null, endedAt: null });
  const failed = (await run.history()).filter((event) => event.type === "step_attempt_failed");
  expect(failed.map(({ attempt, at, retryAt }) => [attempt, at, retryAt])).toEqual(
    [0, 1, 2].map((n) => [n + 1, new Date(began + n * minute), new Date(began + (n + 1) * minute)]),
  );
});

test("a step's own retries come first, then those of the workflow, by the same rule; then the run is failed, and says when", async () => {
  const times: number[] = [];
  const stubborn = workflow(
    { name: "stubborn", retry: { attempts: 4, initial: "10s", factor: 3, max: "50s", jitter: false } },
    (ctx) =>
      ctx.step(
        "call",
        () => {
          times.push(t.clock.now() - began);
          throw new Error("down");
        },
        { retry: { attempts: 2, fixed: "1s" } },
      ),
  );
  const t = await testEngine({ workflows: [stubborn] });
  const began = t.clock.now();
  const run = await t.client.start(stubborn);
  await expect(run.result()).rejects.toMatchObject({ code: "run_failed", cause: { message: "down", attempts: 2 } });
  // Two attempts of the step, one second apart, in each of the run's four; between those 10 s, 30 s and 50 s.
  const rounds = [0, 11, 42, 93];
  expect(times).toEqual(rounds.flatMap((second) => [second * 1000, (second + 1) * 1000]));
  expect(await run.describe()).toMatchObject({
    status: "failed",
    error: { message: "down", op: "call" },
    endedAt: new Date(began + 94_000),
    availableAt: null,
    workerId: null,
  });
  await t.close();
});
