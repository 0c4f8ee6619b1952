import { workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { expect, test } from "vitest";

test("a run that is to be tried again loses nothing when its worker dies while other steps still run", async () => {
  const calls = { a: 0, b: 0, c: 0 };
  let finishB = (_: string): void => {};
  const wide = workflow({ name: "wide", retry: { attempts: 2, fixed: "1s" } }, (ctx) =>
    Promise.all([
      ctx.step("a", () => (++calls.a === 1 ? Promise.reject(new Error("not now")) : "a"), { retry: "none" }),
      ctx.step("b", () => {
        calls.b += 1;
        return new Promise<string>((resolve) => {
          finishB = resolve;
        });
      }),
      ctx.step("c", () => (++calls.c === 1 ? new Promise<never>(() => {}) : "c")),
    ]),
  );
  const t = await testEngine({ workflows: [wide] });
  const run = await t.client.start(wide, undefined, { id: "w" });
  await t.clock.advance("100ms");
  finishB("b");
  await t.clock.advance("100ms");
  expect((await run.history()).map((event) => event.type)).toEqual(["run_started", "step_failed", "step_completed"]);
  // The worker's lease has expired; another worker takes over.
  for (const worker of t.store.state.workers.values()) worker.leaseExpiresAt = t.clock.now();
  await t.client.worker({ workflows: [wide], lease: "30s" }).start();
  await t.clock.advance("1m");
  expect(await run.describe()).toMatchObject({ status: "completed", output: ["a", "b", "c"] });
  expect(calls).toEqual({ a: 2, b: 1, c: 2 });
  await t.close();
});
