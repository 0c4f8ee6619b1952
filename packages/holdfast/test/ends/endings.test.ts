import { describe, expect, test } from "vitest";
import type { StartOptions } from "../../src/client/client-options.ts";
import { signal, workflow } from "../../src/define/definitions.ts";
import type { CompensationInfo } from "../../src/replay/ops/step-options.ts";
import { CLAIM_FALLBACK_MS, Cluster, faultsInStore, HEARTBEAT_MS, NEVER, type Process } from "../lab/harness.ts";

const DAY_MS = 24 * 3600 * 1000;
const never = signal("never");

interface Subject {
  readonly cluster: Cluster;
  /** Has a worker for the workflow, except where the state says that there is none. */
  readonly holder: Process;
  /** Only a client. */
  readonly outside: Process;
  readonly aborted: string[];
  readonly undone: string[];
  /** Gives the run the worker that it has been without. */
  startWorker(): Promise<void>;
}

const STATES = [
  "pending",
  "delayed",
  "in a step",
  "asleep",
  "waiting",
  "in backoff",
  "held elsewhere",
  "in a sure step",
] as const;
type State = (typeof STATES)[number];

function makeFlow(aborted: string[], undone: string[]) {
  const hang = (name: string) => (info: { readonly signal: AbortSignal }) => {
    info.signal.addEventListener("abort", () => aborted.push(name));
    return NEVER;
  };
  const undo =
    (name: string) =>
    (_result: unknown, { outcome }: CompensationInfo) =>
      void undone.push(`${name} ${outcome}`);
  return workflow("flow", async (ctx, state: State) => {
    await ctx.step("book", () => "booked", { compensate: undo("book") });
    if (state === "asleep") await ctx.sleep("z", "1 day");
    else if (state === "waiting") await ctx.receive(never);
    else if (state === "in backoff")
      await ctx.step("fail", () => Promise.reject(new Error("no")), { retry: { attempts: 9, fixed: "1h" } });
    else if (state === "in a sure step") await ctx.step("sure", hang("sure"), { compensate: undo("sure") });
    else await ctx.step("hang", hang("hang"));
  });
}

/** A run in the given state, with nothing else going on. */
async function bring(state: State, options: StartOptions = {}): Promise<Subject> {
  const cluster = new Cluster();
  const aborted: string[] = [];
  const undone: string[] = [];
  const flow = makeFlow(aborted, undone);
  const holder = cluster.process("holder");
  const outside = cluster.process("outside");
  const startWorker = async (): Promise<void> =>
    void (await holder.worker({ workflows: [flow], tuning: { windUpMs: 5_000 } }));
  if (state !== "pending") await startWorker();
  // Keeps the store swept, whatever becomes of the holder.
  await cluster.process("keeper").worker({ workflows: [] });
  const starter = state === "held elsewhere" ? outside : holder;
  const delay = state === "delayed" ? { startAt: new Date(cluster.clock.now() + DAY_MS) } : {};
  // A client whose clock is right refuses to start a run after its timeout.
  if (state === "delayed") starter.life.skewMs = DAY_MS;
  await cluster.until(starter.client.start(flow, state, { id: "r", ...delay, ...options }));
  starter.life.skewMs = 0;
  await cluster.clock.advance("2s");
  return { cluster, holder, outside, aborted, undone, startWorker };
}

const BOOKED: readonly State[] = STATES.filter((state) => state !== "pending" && state !== "delayed");

describe.each([false, true])("with hints lost: %s, a cancel from another process", (losesHints) => {
  test.each(STATES)("ends a run that is %s, once it has cleaned up", async (state) => {
    const { cluster, outside, aborted, undone, startWorker } = await bring(state);
    if (losesHints) cluster.hints.loses = () => true;
    await cluster.until(outside.client.get("r").cancel("enough"));
    const canceledMs = cluster.clock.monotonic();
    if (state === "pending") await startWorker();
    const result = cluster.until(outside.client.get("r").result());
    await expect(result).rejects.toMatchObject({ code: "run_canceled", data: { reason: "enough" } });
    // A step whose outcome matters is aborted and waited for, but not for ever.
    const windUpMs = state === "in a sure step" ? 5_000 : 0;
    const lookMs = losesHints ? HEARTBEAT_MS + CLAIM_FALLBACK_MS : 0;
    const endedMs = (cluster.runOf("r").endedAt ?? 0) - cluster.clock.now() + cluster.clock.monotonic();
    expect(endedMs - canceledMs).toBeLessThanOrEqual(windUpMs + lookMs);
    expect(aborted).toEqual(state === "in a sure step" ? ["sure"] : cluster.count("r", "hang") === 1 ? ["hang"] : []);
    const begun = state === "in a sure step" ? ["sure unknown", "book completed"] : ["book completed"];
    expect(undone).toEqual(BOOKED.includes(state) ? begun : []);
    expect(cluster.runOf("r")).toMatchObject({ status: "canceled", heldBy: null, availableAt: null });
    expect(faultsInStore(cluster.store)).toEqual([]);
    expect(cluster.repeated()).toEqual([]);
  });
});

describe.each([false, true])("with hints lost: %s, a terminate from another process", (losesHints) => {
  test.each(STATES)(
    "ends a run that is %s at once; whoever holds it drops it, and nothing of it goes on",
    async (state) => {
      const { cluster, outside, undone, aborted, startWorker } = await bring(state);
      if (losesHints) cluster.hints.loses = () => true;
      const executed = cluster.executions.length;
      const { eventCount } = cluster.runOf("r");
      await cluster.until(outside.client.get("r").terminate("enough"));
      expect(cluster.runOf("r")).toMatchObject({ status: "terminated", heldBy: null, availableAt: null });
      await expect(cluster.until(outside.client.get("r").result())).rejects.toMatchObject({ code: "run_terminated" });
      if (state === "pending") await startWorker();
      await cluster.clock.advance("1 minute");
      expect(cluster.executions).toHaveLength(executed);
      expect(undone).toEqual([]);
      const hanging = cluster.executions.filter(({ op }) => op === "hang" || op === "sure").map(({ op }) => op);
      expect(aborted).toEqual(hanging);
      expect(cluster.runOf("r")).toMatchObject({ status: "terminated", eventCount });
      expect([...cluster.store.state.held.values()].every((runs) => runs.size === 0)).toBe(true);
      // Whatever comes later is refused.
      await expect(cluster.until(outside.client.get("r").signal(never))).rejects.toMatchObject({ code: "run_closed" });
      await cluster.until(outside.client.get("r").cancel());
      await cluster.until(outside.client.get("r").terminate());
    },
  );
});

test("the result of a step that ends after its run was terminated is refused", async () => {
  const cluster = new Cluster();
  const slow = workflow("slow", async (ctx) => {
    await ctx.step("work", () => cluster.wait(3_000));
    await ctx.step("next", () => 1);
  });
  cluster.hints.loses = () => true;
  const process = cluster.process("p");
  const worker = await process.worker({ workflows: [slow] });
  const run = await cluster.until(process.client.start(slow, undefined, { id: "r" }));
  await cluster.clock.advance("500ms");
  await cluster.until(run.terminate());
  await cluster.clock.advance("5s");
  expect(cluster.runOf("r")).toMatchObject({ status: "terminated", eventCount: 0 });
  expect(cluster.count("r", "next")).toBe(0);
  expect(worker.activeRuns).toBe(0);
});

describe("the deadline", () => {
  test.each(STATES)("ends a run that is %s in time, once it has cleaned up", async (state) => {
    const { cluster, outside, aborted, undone } = await bring(state, { timeout: "1m" });
    const createdMs = cluster.runOf("r").createdAt - cluster.clock.now() + cluster.clock.monotonic();
    const result = cluster.until(outside.client.get("r").result());
    await expect(result).rejects.toMatchObject({ code: "run_timed_out" });
    const endedMs = (cluster.runOf("r").endedAt ?? 0) - cluster.clock.now() + cluster.clock.monotonic();
    // If it has no worker, a sweep ends it after a grace period.
    const lateMs = state === "pending" ? 70_000 : state === "in a sure step" ? 5_000 : 0;
    expect(endedMs - createdMs).toBeGreaterThanOrEqual(60_000);
    expect(endedMs - createdMs).toBeLessThanOrEqual(60_000 + lateMs);
    const begun = state === "in a sure step" ? ["sure unknown", "book completed"] : ["book completed"];
    expect(undone).toEqual(BOOKED.includes(state) ? begun : []);
    expect(aborted).toHaveLength(cluster.count("r", "hang") + cluster.count("r", "sure"));
    expect(cluster.runOf("r")).toMatchObject({ status: "timed_out", heldBy: null, availableAt: null });
    expect(faultsInStore(cluster.store)).toEqual([]);
    expect(cluster.repeated()).toEqual([]);
  });

  test("does not cut short the cleaning up, however long that takes, nor does it make the store busy", async () => {
    const cluster = new Cluster();
    let undone = 0;
    const saga = workflow("saga", async (ctx) => {
      await ctx.step("book", () => 1, {
        compensate: (_result, { attempt }) => {
          if (attempt < 8) throw new Error("not yet");
          undone += 1;
        },
      });
      await ctx.receive(never);
    });
    const process = cluster.process("p");
    await process.worker({ workflows: [saga] });
    const run = await cluster.until(process.client.start(saga, undefined, { id: "r", timeout: "1m" }));
    await cluster.clock.advance("61s");
    const before = { ...cluster.store.calls };
    await expect(cluster.until(run.result())).rejects.toMatchObject({ code: "run_timed_out" });
    expect(undone).toBe(1);
    expect(cluster.runOf("r").compensation).toBe("compensated");
    expect(cluster.clock.monotonic()).toBeGreaterThan(120_000);
    expect((cluster.store.calls["runs.claim"] ?? 0) - (before["runs.claim"] ?? 0)).toBeLessThan(200);
  });

  test("that passes while the worker is dead is dealt with by the next one, with compensation", async () => {
    const cluster = new Cluster();
    const undone: string[] = [];
    const flow = makeFlow([], undone);
    const doomed = cluster.process("doomed");
    const heir = cluster.process("heir");
    await doomed.worker({ workflows: [flow] });
    await cluster.until(doomed.client.start(flow, "in a step", { id: "r", timeout: "10s" }));
    await cluster.when(() => cluster.count("r", "hang") === 1);
    doomed.kill();
    await heir.worker({ workflows: [flow] });
    await expect(cluster.until(heir.client.get("r").result())).rejects.toMatchObject({ code: "run_timed_out" });
    expect(undone).toEqual(["book completed"]);
    expect(cluster.count("r", "hang")).toBe(1);
  });
});
