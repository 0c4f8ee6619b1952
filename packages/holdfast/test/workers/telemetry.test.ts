/** What telemetry hears of crashes, replays and other workers. */
import { describe, expect, test } from "vitest";
import { signal, task, workflow } from "../../src/index.ts";
import type { Span, SpanAbout, Telemetry } from "../../src/ports/telemetry.ts";
import { openFleet } from "../lab/fleet.ts";
import { Cluster, Gate, NEVER } from "../lab/harness.ts";

const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

function recorder() {
  const spans: SpanAbout[] = [];
  const said: string[] = [];
  const totals = new Map<string, number>();
  const values = new Map<string, number[]>();
  const key = (metric: string, labels: object) => [metric, ...Object.values(labels)].join(" ");
  const telemetry: Telemetry = {
    count: (metric, times, labels) =>
      void totals.set(key(metric, labels), (totals.get(key(metric, labels)) ?? 0) + times),
    duration: (metric, ms, labels) =>
      void values.set(key(metric, labels), [...(values.get(key(metric, labels)) ?? []), ms]),
    level: (metric, value, labels) => void values.set(key(metric, labels), [value]),
    trace: ({ by }) => (by === "call" ? TRACE : undefined),
    span: (about): Span => {
      spans.push(about);
      const name = `${about.kind} ${about.op ?? about.workflow}${about.attempt ? ` ${about.attempt}` : ""}`;
      said.push(`begin ${name}`);
      return { end: (outcome) => void said.push(`end ${name} ${outcome}`) };
    },
  };
  return { telemetry, spans, said, totals, values };
}

describe("when a worker dies", () => {
  test("what it had recorded has no span on the next worker, and what it had begun has one on both", async () => {
    const cluster = new Cluster();
    const entered = new Gate();
    const three = workflow("three", async (ctx) => {
      await ctx.step("a", () => "a");
      await ctx.step("b", () => {
        if (doomed.life.dead) return "b";
        entered.open();
        return NEVER;
      });
      await ctx.step("c", () => "c");
    });
    const first = recorder();
    cluster.telemetry = first.telemetry;
    const doomed = cluster.process("doomed");
    await doomed.worker({ workflows: [three], name: "doomed" });
    const second = recorder();
    cluster.telemetry = second.telemetry;
    const heir = cluster.process("heir");
    await heir.worker({ workflows: [three], name: "heir" });
    await cluster.until(doomed.client.start(three, undefined, { id: "r" }));
    await cluster.until(entered.opened);
    doomed.kill();
    await cluster.until(heir.client.get("r").result());
    expect(first.said).toEqual(["begin run three", "begin step a 1", "end step a 1 completed", "begin step b 1"]);
    expect(second.said).toEqual([
      "begin run three",
      "begin step b 1",
      "end step b 1 completed",
      "begin step c 1",
      "end step c 1 completed",
      "end run three completed",
    ]);
    expect(second.spans.every(({ trace }) => trace === TRACE)).toBe(true);
    expect(Object.fromEntries(second.totals)).toMatchObject({
      "runs_replayed three": 1,
      "swept dead": 1,
      "swept returned": 1,
      "runs_ended three 1 completed": 1,
    });
    expect(second.totals.get("step_attempts three a completed")).toBeUndefined();
    expect(second.values.get("replay three")).toHaveLength(1);
    expect(second.values.get("runs_held heir")).toBeDefined();
  });

  test("one that only seemed dead has lost its lease, and learns that it was declared dead", async () => {
    const cluster = new Cluster();
    const { telemetry, totals, values } = recorder();
    const nap = workflow("nap", (ctx) => ctx.step("hang", () => NEVER));
    cluster.telemetry = telemetry;
    const frozen = cluster.process("frozen");
    await frozen.worker({ workflows: [nap], name: "frozen" });
    cluster.telemetry = undefined;
    const other = cluster.process("other");
    await other.worker({ workflows: [] });
    await cluster.until(frozen.client.start(nap, undefined, { id: "r" }));
    frozen.life.freeze();
    await cluster.when(() => cluster.runOf("r").heldBy === null);
    frozen.thaw();
    await cluster.when(() => totals.has("leases_lost dead"));
    expect(totals.get("leases_lost dead")).toBe(1);
    expect(totals.get("runs_lost nap")).toBe(1);
    await cluster.when(() => values.get("runs_held frozen")?.[0] === 1);
  });
});

test("flushes tell what became of their commits, how large they were, and what they moved out of the inbox", async () => {
  const fleet = openFleet();
  const { telemetry, totals, values } = recorder();
  const word = signal<string>("word");
  const nap = workflow("nap", async (ctx) => {
    await ctx.step("say", () => "x".repeat(1_000));
    await ctx.sleep("nap", "1h");
    return ctx.receive(word);
  });
  await fleet.worker({ workflows: [nap], name: "w" }, { telemetry });
  const run = await fleet.client().start(nap, undefined, { id: "r" });
  await run.signal(word, "now");
  await fleet.result(run);
  expect(totals.get("commits written")).toBeGreaterThanOrEqual(2);
  expect(totals.get("flushed_bytes")).toBeGreaterThan(1_000);
  expect(totals.get("messages_received")).toBe(1);
  expect(values.get("timer_lateness nap")).toHaveLength(1);
  expect(values.get("queue_wait default run")).toHaveLength(1);
  expect(values.get("run nap completed")).toEqual([expect.closeTo(3_600_000, -3)]);
});

describe("the trace context of a start", () => {
  const deliver = task("deliver", () => "delivered");
  const child = workflow("child", async (ctx) => ctx.step("pack", () => "packed"));
  const parent = workflow("parent", async (ctx, again: boolean) => {
    await ctx.child(child);
    await ctx.task(deliver);
    if (again) return ctx.continueAsNew(false);
    return "done";
  });

  test("reaches the spans of the run, its tasks and its children on every worker, and ends with the run", async () => {
    const fleet = openFleet();
    const [runs, tasks] = [recorder(), recorder()];
    await fleet.worker({ workflows: [parent, child], cacheSize: 0 }, { telemetry: runs.telemetry });
    await fleet.worker({ workflows: [], tasks: [deliver] }, { telemetry: tasks.telemetry });
    const run = await fleet.client({ telemetry: recorder().telemetry }).start(parent, true, { id: "r" });
    expect(await fleet.result(run)).toBe("done");
    const traced = ({ kind, workflow, op, trace }: SpanAbout) => `${kind} ${workflow ?? op} ${trace === TRACE}`;
    expect(new Set(runs.spans.map(traced))).toEqual(
      // A run that continues for years would be one endless trace.
      new Set([
        "run parent true",
        "run child true",
        "step child true",
        "run parent false",
        "run child false",
        "step child false",
      ]),
    );
    expect(tasks.spans.map(traced)).toEqual(["task deliver true", "task deliver false"]);
    expect(tasks.said).toContain("end task deliver 1 completed");
  });

  test.each(["", "nonsense", 7, "00-x-y-01"])("is left out if it is %o", async (trace) => {
    const fleet = openFleet();
    const { telemetry, spans } = recorder();
    await fleet.worker({ workflows: [child] }, { telemetry });
    const client = fleet.client({ telemetry: { ...telemetry, trace: () => trace as string } });
    expect(await fleet.result(await client.start(child, undefined, { id: "c" }))).toBe("packed");
    expect(spans.map((span) => span.trace)).toEqual([undefined, undefined]);
  });
});
