/** What telemetry costs those who have none: nothing, by count. */
import { expect, test } from "vitest";
import { RetryableError, signal, task, workflow } from "../../src/index.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Telemetry } from "../../src/ports/telemetry.ts";
import { openFleet } from "../lab/fleet.ts";

const STEPS = 10;
const go = signal<string>("go");
const pack = task("pack", () => "packed");
const child = workflow("child", (ctx) => ctx.step("inner", () => "done"));
const busy = workflow("busy", async (ctx) => {
  for (let i = 0; i < STEPS; i++)
    await ctx.step("work", (s) => {
      if (i === 0 && s.attempt === 1) throw new RetryableError("once more");
      return i;
    });
  await ctx.child(child);
  await ctx.task(pack);
  await ctx.sleep("nap", "1 hour");
  return ctx.receive(go);
});

/** How often each function of the clock was called. */
function counting(clock: Clock): { readonly clock: Clock; readonly reads: () => number } {
  let reads = 0;
  const counted = new Proxy(clock, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (name === "monotonic" || name === "now") reads += 1;
        return value.apply(target, args);
      };
    },
  });
  return { clock: counted, reads: () => reads };
}

/** A run of the workflow: what the store was asked, what it keeps, and how often the clock was read. */
async function measure(telemetry: Telemetry | undefined) {
  const fleet = openFleet();
  const { clock, reads } = counting(fleet.clock);
  const process = { clock, ...(telemetry ? { telemetry } : {}) };
  await fleet.worker({ workflows: [busy, child], tasks: [pack], cacheSize: 0 }, process);
  const run = await fleet.client(process).start(busy, undefined, { id: "r" });
  await run.signal(go, "now");
  await fleet.result(run);
  const read = reads();
  return { calls: { ...fleet.store.calls }, kept: withoutStacks(await run.history()), reads: read };
}

/** Stacks show what calls a function: a span is one of them. */
function withoutStacks(history: object): unknown {
  return JSON.parse(JSON.stringify(history, (key, value) => (key === "stack" ? undefined : value)));
}

test("without telemetry the store gets the same calls and keeps the same, and no clock is read for it", async () => {
  const reported: string[] = [];
  const off = await measure(undefined);
  const on = await measure({
    count: (metric) => void reported.push(metric),
    duration: (metric) => void reported.push(metric),
    level: (metric) => void reported.push(metric),
    span: ({ kind }) => {
      reported.push(kind);
      return { end() {} };
    },
  });
  expect(reported.filter((metric) => metric === "step_attempts")).toHaveLength(STEPS + 2);
  expect(new Set(reported)).toContain("task");
  expect(off.calls).toEqual(on.calls);
  expect(off.kept).toEqual(on.kept);
  // Every attempt that is measured costs a reading of the clock at its end.
  expect(on.reads - off.reads).toBeGreaterThanOrEqual(STEPS + 2);
});

test("a trace is kept only with what was started or sent in one", async () => {
  const traced = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const size = async (trace: string | undefined) => {
    const telemetry: Telemetry = { count() {}, duration() {}, trace: () => trace, signal: () => trace };
    return JSON.stringify((await measure(telemetry)).kept).length;
  };
  const plain = JSON.stringify((await measure(undefined)).kept).length;
  expect(await size(undefined)).toBe(plain);
  // Once with the seed of the run, once with its task; the signal leaves nothing in the history.
  expect(await size(traced)).toBe(plain + " ".length + traced.length + `,"trace":"${traced}"`.length);
});
