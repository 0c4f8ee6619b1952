import { workflow } from "holdfast";
import { MemoryNotifier, MemoryStore, VirtualClock } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { type Deferred, deferred } from "../lab/deferred.ts";
import { openEngine, openFleet } from "../lab/fleet.ts";

const WORKER = { namespace: "default", name: "w", queues: ["default"], workflows: [], labels: {}, leaseMs: 1_000 };
const ERROR = { name: "Error", message: "replaced", kind: "Unknown" } as const;
const [RUN, FIRST, SECOND] = ["01", "02", "03"].map((n) => `00000000-0000-7000-8000-0000000000${n}`) as [
  string,
  string,
  string,
];

/** A store with one run that the first worker holds, and the next commit that it may send. */
async function heldRun() {
  const clock = new VirtualClock();
  const store = new MemoryStore({ clock, notifier: new MemoryNotifier(clock) });
  for (const workerId of [FIRST, SECOND]) await store.workers.register({ ...WORKER, workerId });
  const run = {
    namespace: "default",
    runId: RUN,
    id: "r",
    workflow: "w",
    version: "1",
    queue: "default",
    priority: 0,
    input: new Uint8Array(),
    seed: "s",
    attributes: {},
  };
  const start = { run, ifRunning: "return", ifClosed: "return", hold: true, pick: null } as const;
  await store.runs.start({ starts: [start], holdBy: { workerId: FIRST, claimId: SECOND }, replaceError: ERROR });
  const commit = (workerId: string, seq: number, fence: { epoch: number; commit: number }) => ({
    namespace: "default",
    runId: RUN,
    workerId,
    ...fence,
    events: [{ seq, type: "step_completed" as const, op: `step ${seq}`, at: 0 }],
    eventCount: seq,
    consumed: 0,
    attributes: null,
    clearDeadline: false,
    transition: { type: "hold" as const, status: "running" as const },
  });
  const send = async (workerId: string, seq: number, fence: { epoch: number; commit: number }) => {
    const { outcomes } = await store.runs.commit({ commits: [commit(workerId, seq, fence)] });
    return outcomes[0]?.outcome;
  };
  const events = async () => {
    const [page] = await store.histories.read({
      runs: [{ namespace: "default", runId: RUN, afterSeq: 0 }],
      limitPerRun: 100,
    });
    return page?.map(({ seq }) => seq);
  };
  return { store, send, events };
}

describe("an append to a history", () => {
  test("is taken from the holder with the right epoch and commit number, and the next one must carry the next number", async () => {
    const { send, events } = await heldRun();
    expect(await send(FIRST, 1, { epoch: 1, commit: 0 })).toBe("written");
    expect(await send(FIRST, 2, { epoch: 1, commit: 1 })).toBe("written");
    expect(await events()).toEqual([1, 2]);
  });

  test("with any other pair is lost and writes nothing", async () => {
    const { send, events } = await heldRun();
    await send(FIRST, 1, { epoch: 1, commit: 0 });
    for (const [workerId, fence] of [
      [FIRST, { epoch: 1, commit: 5 }],
      [FIRST, { epoch: 2, commit: 1 }],
      [FIRST, { epoch: 0, commit: 1 }],
      [SECOND, { epoch: 1, commit: 1 }],
    ] as const) {
      expect(await send(workerId, 2, fence)).toBe("lost");
    }
    expect(await events()).toEqual([1]);
  });

  test("that is sent again, because its answer was lost, counts as written and is there once", async () => {
    const { send, events } = await heldRun();
    for (let i = 0; i < 3; i++) expect(await send(FIRST, 1, { epoch: 1, commit: 0 })).toBe("written");
    expect(await events()).toEqual([1]);
  });

  test("at the same position by two holders succeeds once: after a take-over the old holder is told that it has lost", async () => {
    const { store, send, events } = await heldRun();
    await send(FIRST, 1, { epoch: 1, commit: 0 });
    await store.workers.stop({ namespace: "default", workerId: FIRST });
    const claim = { namespace: "default", queues: ["default"], handlers: [{ workflow: "w", version: "1" }] };
    const { runs } = await store.runs.claim({
      ...claim,
      workerId: SECOND,
      claimId: RUN,
      again: false,
      limit: 1,
      solo: false,
    });
    const { epoch = 0, commit = 0 } = runs[0] ?? {};
    const both = await Promise.all([send(FIRST, 2, { epoch: 1, commit: 1 }), send(SECOND, 2, { epoch, commit })]);
    expect(both).toEqual(["lost", "written"]);
    expect(await events()).toEqual([1, 2]);
  });
});

describe("a worker that was thought dead", () => {
  test("and comes back with a result finds that it has lost the run; the result of the new holder counts", async () => {
    const gates: Deferred<string>[] = [];
    const job = workflow("job", async (ctx) => {
      const result = await ctx.step("work", () => {
        const gate = deferred<string>();
        gates.push(gate);
        return gate.promise;
      });
      return ctx.step("report", () => `reported ${result}`);
    });
    const fleet = openFleet();
    const old = await fleet.worker({ workflows: [job], lease: "10s" });
    const run = await fleet.client().start(job);
    await fleet.clock.settle();
    const zombie = old.workerId;
    // Its heartbeats do not get through; everything else does.
    fleet.store.fault = (moment, method, params) =>
      moment === "before" && method === "workers.heartbeat" && (params as { workerId?: string }).workerId === zombie
        ? Object.assign(new Error("cut off"), { code: "store_unavailable", [Symbol.for("holdfast.error")]: true })
        : undefined;
    await fleet.worker({ workflows: [job], lease: "10s" });
    await fleet.clock.advance("25s");
    expect(gates).toHaveLength(2);
    gates[0]?.resolve("by the zombie");
    await fleet.clock.advance("1s");
    gates[1]?.resolve("by the new holder");
    fleet.store.fault = undefined;
    expect(await fleet.clock.until(run.result(), "1 day")).toBe("reported by the new holder");
    const done = (await run.history()).filter((event) => event.type === "step_completed");
    expect(done.map(({ op, value }) => [op, value])).toEqual([
      ["work", "by the new holder"],
      ["report", "reported by the new holder"],
    ]);
  });
});

describe("the run row", () => {
  test("says what its history says: length, output and end are those of the events", async () => {
    const order = workflow("order", async (ctx) => {
      ctx.set({ stage: "new" });
      await ctx.step("charge", () => 1);
      await ctx.sleep("nap", "1h");
      ctx.set({ stage: "done" });
      return "done";
    });
    const t = await openEngine(order);
    const run = await t.client.start(order);
    for (let stage = 0; stage < 3; stage++) {
      await t.clock.settle();
      const [row, history] = [await run.describe(), await run.history()];
      expect(row.historyLength).toBe(history.length);
      const attributes = Object.assign({}, ...history.map((event) => event.attributes ?? {}));
      expect(row.attributes).toEqual(attributes);
      expect(row.startedAt).toEqual(history[0]?.at);
      if (row.endedAt) expect([row.endedAt, row.output]).toEqual([history.at(-1)?.at, history.at(-1)?.value]);
      await t.clock.advance("50m");
    }
    expect(await run.status()).toBe("completed");
  });
});
