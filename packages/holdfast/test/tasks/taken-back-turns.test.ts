import { HoldfastError, signal, task, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const word = signal<string>("word");

test("a task whose result is written while turns are repeated no longer exists", async () => {
  const fleet = openFleet();
  const echo = task("echo", (text: string) => text);
  const main = workflow("main", async (ctx) => {
    for (let i = 0; i < 50; i++) await ctx.step("before", () => i);
    const result = await ctx.task(echo, "hello");
    const heard = await ctx.receive(word, { timeout: "0ms" });
    if (heard !== undefined) await ctx.sleep("on", "1 day");
    return `${result} ${heard}`;
  });
  const client = fleet.client();
  await fleet.worker({ workflows: [main], tasks: [echo] });
  const run = await client.start(main);
  // A signal that comes before the end: what the code did since it looked is taken back.
  fleet.store.fault = (moment, method, params) => {
    if (moment !== "before" || method !== "runs.commit" || !JSON.stringify(params).includes('"end"')) return undefined;
    fleet.store.fault = undefined;
    void run.signal(word, "wait");
    return new HoldfastError("store_unavailable", "not now");
  };
  await fleet.clock.advance("1h");
  expect(await run.status()).toBe("sleeping");
  expect(fleet.store.state.tasks.size).toBe(0);
  expect(await fleet.clock.until(run.result())).toBe("hello wait");
});

test("a task that was given up before turns were taken back is asked about again", async () => {
  const fleet = openFleet();
  const idle = task("idle", () => 1);
  const undone: unknown[] = [];
  const main = workflow("main", async (ctx) => {
    await ctx.race({
      idle: (c) => c.task(idle, undefined, { compensate: (_, { outcome }) => void undone.push(outcome) }),
      timer: (c) => c.sleep("wait", "1m"),
    });
    const heard = await ctx.receive(word, { timeout: "0ms" });
    if (heard !== undefined) throw new Error(heard);
  });
  const client = fleet.client();
  await fleet.worker({ workflows: [main] });
  const run = await client.start(main);
  let told = false;
  fleet.store.fault = (moment, method, params) => {
    if (moment !== "before") return undefined;
    const isEnd = method === "runs.commit" && JSON.stringify(params).includes('"end"');
    if (told || (!isEnd && method !== "tasks.cancel")) return undefined;
    if (isEnd) {
      told = true;
      void run.signal(word, "stop");
    }
    return new HoldfastError("store_unavailable", "not now");
  };
  await expect(fleet.clock.until(run.result())).rejects.toMatchObject({ code: "run_failed" });
  expect(undone).toEqual([]);
  expect(fleet.store.state.tasks.size).toBe(0);
});
