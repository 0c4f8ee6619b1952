/** Where the trace context of a start goes, and what it leaves alone. */
import { describe, expect, test } from "vitest";
import { signal, type TraceHeaders, task, workflow } from "../../src/index.ts";
import type { SignalAbout, SpanAbout, StartAbout, Telemetry } from "../../src/ports/telemetry.ts";
import { openFleet } from "../lab/fleet.ts";

const traceOf = (digit: number): string => `00-${String(digit).repeat(32)}-${String(digit).repeat(16)}-01`;
const GIVEN = { traceparent: traceOf(7), tracestate: "shop=1" };

/** Each start and each signal gets a context of its own: 1, 2, 3… */
function tracer() {
  let last = 0;
  const [starts, signals, spans] = [[] as StartAbout[], [] as SignalAbout[], [] as SpanAbout[]];
  const received: string[] = [];
  const next = () => traceOf(++last);
  const telemetry: Telemetry = {
    count() {},
    duration() {},
    trace: (start) => {
      starts.push(start);
      return start.by === "call" && start.trace ? start.trace : next();
    },
    signal: (about) => {
      signals.push(about);
      return next();
    },
    span: (about) => {
      spans.push(about);
      return { received: (name, trace) => void received.push(`${about.workflow} ${name} ${trace}`), end() {} };
    },
  };
  return { telemetry, starts, signals, spans, received };
}

const headersOf = task("headers of a task", (_: undefined, t): TraceHeaders => ({ ...t.traceHeaders }));
const leaf = workflow("leaf", (ctx) => ctx.step("look", (s): TraceHeaders => ({ ...s.traceHeaders })));
const tree = workflow("tree", async (ctx) => ({
  step: await ctx.step("look", (s): TraceHeaders => ({ ...s.traceHeaders })),
  task: await ctx.task(headersOf),
  child: await ctx.child(leaf),
}));

describe("the headers of the request that asks for a start", () => {
  test("reach its steps, tasks and children on every worker, with no telemetry anywhere", async () => {
    const fleet = openFleet();
    await fleet.worker({ workflows: [tree, leaf], cacheSize: 0 });
    await fleet.worker({ workflows: [], tasks: [headersOf] });
    const run = await fleet.client().start(tree, undefined, { id: "r", trace: GIVEN });
    expect(await fleet.result(run)).toEqual({ step: GIVEN, task: GIVEN, child: GIVEN });
  });

  test("are what the span of the start is part of, and that span is what goes on", async () => {
    const fleet = openFleet();
    const { telemetry, starts } = tracer();
    await fleet.worker({ workflows: [leaf] });
    const trace = (start: StartAbout): string => (starts.push(start) > 0 ? traceOf(9) : "");
    const client = fleet.client({ telemetry: { ...telemetry, trace } });
    const run = await client.start(leaf, undefined, { id: "r", trace: GIVEN });
    expect(await fleet.result(run)).toEqual({ traceparent: traceOf(9) });
    expect(starts).toMatchObject([{ by: "call", trace: `${GIVEN.traceparent} ${GIVEN.tracestate}`, id: "r" }]);
  });

  test("count as none if they cannot be read, as the W3C wants it", async () => {
    const fleet = openFleet();
    await fleet.worker({ workflows: [leaf] });
    const run = await fleet.client().start(leaf, undefined, { id: "r", trace: { traceparent: "00-1-2-3" } });
    expect(await fleet.result(run)).toEqual({});
  });

  test.each([
    [{ traceparent: 7 }, "trace.traceparent is 7, not a text"],
    [{ traceParent: "x" }, 'there is no option "trace.traceParent". Did you mean `traceparent`?'],
    ["00-1-2-3", "trace is "],
  ])("are refused if they are %o", async (trace, fault) => {
    const client = openFleet().client();
    await expect(client.start(leaf, undefined, { trace: trace as TraceHeaders })).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringContaining(fault),
    });
  });
});

test("a compensation has them, too", async () => {
  const fleet = openFleet();
  const seen: TraceHeaders[] = [];
  const undone = workflow("undone", async (ctx) => {
    await ctx.step("do", () => "done", { compensate: (_, c) => void seen.push(c.traceHeaders) });
    throw new Error("no");
  });
  await fleet.worker({ workflows: [undone] });
  const run = await fleet.client().start(undone, undefined, { id: "r", trace: GIVEN });
  await expect(fleet.result(run)).rejects.toThrow();
  expect(seen).toEqual([GIVEN]);
});

test("an attempt passes on its own span, if it has one", async () => {
  const fleet = openFleet();
  const { telemetry } = tracer();
  const within: Telemetry = { ...telemetry, span: () => ({ context: () => traceOf(5), end() {} }) };
  await fleet.worker({ workflows: [tree, leaf], tasks: [headersOf] }, { telemetry: within });
  const run = await fleet.client().start(tree, undefined, { id: "r", trace: GIVEN });
  const own = { traceparent: traceOf(5) };
  expect(await fleet.result(run)).toEqual({ step: own, task: own, child: own });
});

test("what a run draws does not depend on tracing", async () => {
  const drawing = workflow("drawing", async (ctx) => [ctx.random(), ctx.uuid(), ctx.uuid("name")]);
  const drawn = async (trace?: TraceHeaders) => {
    const fleet = openFleet();
    await fleet.worker({ workflows: [drawing] });
    return fleet.result(await fleet.client().start(drawing, undefined, { id: "r", ...(trace ? { trace } : {}) }));
  };
  expect(await drawn(GIVEN)).toEqual(await drawn());
});

describe("the trace of a run", () => {
  test("is kept when it is retried, and a fork of it is part of it", async () => {
    const fleet = openFleet();
    const { telemetry, spans } = tracer();
    let failing = true;
    const failed = workflow("failed", (ctx) =>
      ctx.step("try", () => (failing ? Promise.reject(new Error("no")) : "yes"), { retry: "none" }),
    );
    await fleet.worker({ workflows: [failed] }, { telemetry });
    const run = await fleet.client().start(failed, undefined, { id: "r", trace: GIVEN });
    await expect(fleet.result(run)).rejects.toThrow();
    failing = false;
    await run.retry();
    expect(await fleet.result(run)).toBe("yes");
    expect(await fleet.result(await run.fork({ before: "try" }))).toBe("yes");
    const texts = new Set(spans.map(({ trace }) => trace));
    expect(texts).toEqual(new Set([`${GIVEN.traceparent} ${GIVEN.tracestate}`]));
    expect(new Set(spans.map(({ runId }) => runId)).size).toBe(2);
  });

  test("ends with it: what continues it has its own, which knows of the first", async () => {
    const fleet = openFleet();
    const { telemetry, starts, spans } = tracer();
    const twice = workflow("twice", async (ctx, left: number): Promise<string> => {
      await ctx.sleep("nap", "1 hour");
      return left === 0 ? "done" : ctx.continueAsNew(left - 1);
    });
    await fleet.worker({ workflows: [twice], cacheSize: 0 }, { telemetry });
    const run = await fleet.client({ telemetry }).start(twice, 1, { id: "r" });
    await fleet.result(run);
    expect(starts.map(({ by, trace }) => [by, trace])).toEqual([
      ["call", undefined],
      ["continuation", traceOf(1)],
    ]);
    // Every stretch of the second run, before and after its sleep, has the same trace.
    expect(spans.map(({ trace }) => trace)).toEqual([traceOf(1), traceOf(1), traceOf(2), traceOf(2)]);
    expect(starts[1]?.runId).toBe(spans.at(-1)?.runId);
  });

  test("begins with each run of a schedule, however it was started", async () => {
    const fleet = openFleet();
    const { telemetry, starts, spans } = tracer();
    await fleet.worker({ workflows: [leaf] }, { telemetry });
    const schedule = await fleet.client({ telemetry }).schedules.create({ id: "s", workflow: leaf, every: "1 day" });
    await fleet.clock.advance("1 day");
    await fleet.result(await schedule.trigger());
    expect(starts.length).toBeGreaterThanOrEqual(2);
    expect(starts.every(({ by, trace }) => by === "schedule" && trace === undefined)).toBe(true);
    const runs = spans.filter(({ kind }) => kind === "run");
    expect(new Set(runs.map(({ trace }) => trace)).size).toBe(runs.length);
    expect(runs.every(({ trace }) => trace !== undefined)).toBe(true);
  });
});

describe("a signal", () => {
  const go = signal<string>("go");
  const waiting = workflow("waiting", (ctx) => ctx.receive(go));
  const sending = workflow("sending", async (ctx, to: string) => ctx.signal(to, go, "from a run"));

  test("carries the trace of whoever sends it to the stretch that receives it, and no further", async () => {
    const fleet = openFleet();
    const { telemetry, signals, received } = tracer();
    await fleet.worker({ workflows: [waiting, sending], cacheSize: 0 }, { telemetry });
    const client = fleet.client({ telemetry });
    const first = await client.start(waiting, undefined, { id: "a" });
    await first.signal(go, "from outside", { id: "once" });
    await first.signal(go, "from outside", { id: "once" }).catch(() => {});
    expect(await fleet.result(first)).toBe("from outside");
    const second = await client.start(waiting, undefined, { id: "b" });
    const sender = await client.start(sending, "b", { id: "c" });
    await fleet.result(sender);
    expect(await fleet.result(second)).toBe("from a run");
    expect(signals.map(({ signal: name, to, runId, trace }) => [name, to, runId === sender.runId, trace])).toEqual([
      ["go", "a", false, undefined],
      ["go", "a", false, undefined],
      ["go", "b", true, expect.stringMatching(/^00-/)],
    ]);
    expect(received).toHaveLength(2);
    expect(new Set(received.map((line) => line.split(" ").slice(0, 2).join(" ")))).toEqual(new Set(["waiting go"]));
    const history = JSON.stringify([await first.history(), await second.history()]);
    expect(history).toContain('"go"');
    for (const line of received) expect(history).not.toContain(line.split(" ")[2]);
  });

  test("that a run has not received when it continues is handed on by its name", async () => {
    const fleet = openFleet();
    const { telemetry } = tracer();
    const later = workflow("later", async (ctx, again: boolean): Promise<string> => {
      if (!again) return ctx.receive(go);
      await ctx.sleep("nap", "1 hour");
      return ctx.continueAsNew(false);
    });
    await fleet.worker({ workflows: [later] }, { telemetry });
    const run = await fleet.client({ telemetry }).start(later, true, { id: "r" });
    await run.signal(go, "early");
    expect(await fleet.result(run)).toBe("early");
  });
});
