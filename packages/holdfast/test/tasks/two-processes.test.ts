import { NonRetryableError, type RunHandle, task, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const echo = task("echo", async (text: string) => text.toUpperCase());
const call = workflow("call", async (ctx, text: string) => ctx.task(echo, text));

test("one process schedules a task, another executes it, and the run gets its result", async () => {
  const fleet = openFleet();
  await fleet.worker({ workflows: [call] });
  await fleet.worker({ tasks: [echo] });
  const run = await fleet.client().start(call, "hello");
  expect(await fleet.clock.until(run.result())).toBe("HELLO");
  expect(fleet.store.state.tasks.size).toBe(0);
});

test("a task waits for a worker that can do it, and is done when one comes", async () => {
  const fleet = openFleet();
  await fleet.worker({ workflows: [call] });
  const run = await fleet.client().start(call, "late");
  await fleet.clock.advance("1 day");
  expect(await run.status()).toBe("waiting");
  await fleet.worker({ tasks: [echo] });
  expect(await fleet.clock.until(run.result())).toBe("LATE");
});

test("a worker takes only tasks whose name, queue and labels it has", async () => {
  const fleet = openFleet();
  const done: string[] = [];
  const work = (name: string) => task({ name, queue: "q", requires: ["gpu=a100"] }, () => void done.push(name));
  const [a, b] = [work("a"), work("b")];
  const both = workflow("both", async (ctx) => {
    await Promise.all([ctx.task(a), ctx.task(b, undefined, { requires: ["fast"] })]);
  });
  await fleet.worker({ workflows: [both] });
  const run = await fleet.client().start(both);
  await fleet.worker({ tasks: [a, b], queues: ["other"], labels: ["gpu=a100", "fast"] });
  await fleet.worker({ tasks: [a, b], labels: { gpu: "h100" } });
  await fleet.clock.advance("1h");
  expect(done).toEqual([]);
  await fleet.worker({ tasks: [a, b], labels: { gpu: "a100" } });
  await fleet.clock.advance("1h");
  expect(done).toEqual(["a"]);
  await fleet.worker({ tasks: [b], labels: { gpu: "a100", fast: "yes" } });
  await fleet.clock.until(run.result());
  expect(done).toEqual(["a", "b"]);
});

test("higher priorities first, and first come first served within one", async () => {
  const fleet = openFleet();
  const order: string[] = [];
  const note = task("note", (name: string) => void order.push(name));
  const one = workflow("one", async (ctx, input: { name: string; priority: number }) => {
    await ctx.task(note, input.name, { priority: input.priority });
  });
  await fleet.worker({ workflows: [one] });
  const client = fleet.client();
  const runs: RunHandle[] = [];
  for (const [name, priority] of [
    ["low", -1],
    ["first", 0],
    ["second", 0],
    ["high", 5],
  ] as const) {
    runs.push(await client.start(one, { name, priority }));
    await fleet.clock.advance("1s");
  }
  await fleet.worker({ tasks: [note], taskConcurrency: 1 });
  for (const run of runs) await fleet.clock.until(run.result());
  expect(order).toEqual(["high", "first", "second", "low"]);
});

test("the last details reach the next attempt", async () => {
  const fleet = openFleet();
  const seen: unknown[] = [];
  const copy = task({ name: "copy", retry: { attempts: 2, fixed: "1s" } }, async (_: undefined, t) => {
    seen.push(t.lastDetails);
    await t.heartbeat({ row: 10 * t.attempt });
    await t.heartbeat({ row: 10 * t.attempt + 5 });
    if (t.attempt === 1) throw new Error("half way");
  });
  const main = workflow("main", async (ctx) => void (await ctx.task(copy)));
  await fleet.worker({ workflows: [main] });
  await fleet.worker({ tasks: [copy] });
  const run = await fleet.client().start(main);
  await fleet.clock.until(run.result());
  expect(seen).toEqual([undefined, { row: 15 }]);
});

test("an error that is not worth another attempt ends the task at once", async () => {
  const fleet = openFleet();
  let calls = 0;
  const no = task("no", () => {
    calls += 1;
    throw new NonRetryableError("no such account");
  });
  const main = workflow("main", async (ctx) => ctx.task(no).catch((error: { message: string }) => error.message));
  await fleet.worker({ workflows: [main] });
  await fleet.worker({ tasks: [no] });
  const run = await fleet.client().start(main);
  expect(await fleet.clock.until(run.result())).toBe("no such account");
  expect(calls).toBe(1);
});
