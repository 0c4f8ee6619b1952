import type { DebounceParams, NewRun, StartOutcome } from "holdfast/adapter";
import { expect } from "vitest";
import { aStart, type Fixture, REPLACED } from "../../fixture.ts";
import { bytes, end, errorRecord } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";

async function bounded(t: Fixture, ...runs: readonly NewRun[]): Promise<string[]> {
  const starts = runs.map((run) => aStart(run, { ifRunning: "return" }));
  const params = { starts, holdBy: null, replaceError: REPLACED, bounded: true };
  return (await t.store.runs.start(params)).outcomes.map(({ outcome }) => outcome);
}

async function debounce(t: Fixture, fields: Partial<NewRun> = {}, rule: Partial<DebounceParams> = {}) {
  const start = aStart(t.newRun({ key: "k", ...fields }));
  return (await t.store.runs.debounce({ start, key: "k", forMs: 1_000, maxMs: null, ...rule })) as StartOutcome;
}

/** Starts that are refused because of a backlog, or put together. */
export const limitedStarts: Suite = {
  noun: "starts that wait",
  cases: {
    "a start beyond the backlog of its queue is refused, whether what waits is due or in line": async (t) => {
      await t.queues.set({ concurrency: 1, backlog: 2 });
      const [a, b, c, d] = [t.newRun(), t.newRun(), t.newRun(), t.newRun()];
      expect(await bounded(t, a, b, c)).toEqual(["created", "created", "queue_full"]);
      const worker = await t.worker();
      const [holder] = await t.queues.claim(worker);
      expect(await bounded(t, c, d)).toEqual(["created", "queue_full"]);
      // What is there is found, and what waits for nobody is no backlog.
      expect(await bounded(t, { ...t.newRun(), id: b.id }, t.newRun({ queue: "free" }))).toEqual([
        "returned",
        "created",
      ]);
      await t.queues.end(holder as never);
      expect(await t.queues.claimed(worker)).toHaveLength(1);
      expect(await bounded(t, d)).toEqual(["created"]);
    },

    "a start that is not bounded is never refused": async (t) => {
      await t.queues.set({ concurrency: 0, backlog: 0 });
      expect((await t.start()).outcome).toBe("created");
      expect(await bounded(t, t.newRun())).toEqual(["queue_full"]);
    },

    "a debounced start of another version, in another queue, gives the run its own": async (t) => {
      const first = await debounce(t, { version: "1", input: bytes("1") });
      const second = await debounce(t, { version: "2", queue: "slow", priority: 3, input: bytes("2") });
      expect(second).toMatchObject({
        outcome: "returned",
        run: { runId: first.run.runId, version: "2", queue: "slow" },
      });
      await t.advance(1_000);
      const worker = await t.worker();
      const old = await t.claim(worker, {
        handlers: [{ workflow: "order", version: "1" }],
        queues: ["default", "slow"],
      });
      expect(old.runs).toEqual([]);
      const { runs } = await t.claim(worker, { handlers: [{ workflow: "order", version: "2" }], queues: ["slow"] });
      expect(runs).toMatchObject([
        { runId: first.run.runId, version: "2", queue: "slow", priority: 3, input: bytes("2") },
      ]);
    },

    "the newest debounced start gives the run its attributes and its timeout, or takes them away": async (t) => {
      const MINUTE = 60_000;
      const none = await debounce(t, {}, { key: "none" });
      const asked = { attributes: { n: 1, first: true }, timeoutMs: 60 * MINUTE, queue: "q1", priority: 1 };
      const { run } = await debounce(t, asked);
      const count = (attributes: NewRun["attributes"]) =>
        t.store.runs.count({ namespace: run.namespace, attributes, atMost: null });
      expect([await count({ n: 1 }), await count({ first: true })]).toEqual([1, 1]);
      await t.advance(500);
      const newest = { attributes: { n: 2 }, timeoutMs: 120 * MINUTE, queue: "q2", priority: 5 };
      const second = await debounce(t, newest);
      // Its time counts from the newest start, as if there had been no other.
      const expected = { ...newest, deadlineAt: t.now + newest.timeoutMs, availableAt: t.now + 1_000 };
      expect(second).toMatchObject({ outcome: "returned", run: { ...expected, runId: run.runId } });
      expect(second.run.attributes).toEqual({ n: 2 });
      expect(await t.run(run.runId)).toMatchObject(expected);
      expect([await count({ n: 1 }), await count({ first: true }), await count({ n: 2 })]).toEqual([0, 0, 1]);
      const third = await debounce(t);
      expect(third.run).toMatchObject({ runId: run.runId, attributes: {}, timeoutMs: null, deadlineAt: null });
      expect(await count({ n: 2 })).toBe(0);
      await debounce(t, newest, { key: "none" });
      expect(await t.run(none.run.runId)).toMatchObject({ ...newest, deadlineAt: t.now + newest.timeoutMs });
      expect(await count({ n: 2 })).toBe(1);
    },

    "a debounced run is due at the deadline of the newest start, if that is before its time": async (t) => {
      const { run } = await debounce(t, { timeoutMs: 600 });
      expect(run.availableAt).toBe(t.now + 600);
      await t.advance(300);
      const second = await debounce(t, { timeoutMs: 900 });
      expect(second.run).toMatchObject({ runId: run.runId, availableAt: t.now + 900, deadlineAt: t.now + 900 });
      await t.advance(800);
      const third = await debounce(t, { timeoutMs: 5_000 });
      expect(third.run).toMatchObject({ runId: run.runId, availableAt: t.now + 1_000, deadlineAt: t.now + 5_000 });
    },

    "delayed starts do not wait, and are not refused because a queue is nearly full": async (t) => {
      await t.queues.set({ backlog: 2 });
      const later = Array.from({ length: 5 }, () => t.newRun({ startDelayMs: 1_000 }));
      const outcomes = await bounded(t, ...later, t.newRun(), t.newRun(), t.newRun());
      expect(outcomes).toEqual([...Array<string>(7).fill("created"), "queue_full"]);
    },

    "a debounced start is due after its time, and the next one for its key changes it": async (t) => {
      const first = await debounce(t, { input: bytes("1") });
      expect(first).toMatchObject({ outcome: "created", run: { availableAt: t.now + 1_000, status: "pending" } });
      await t.advance(900);
      const second = await debounce(t, { input: bytes("2") });
      expect(second).toMatchObject({
        outcome: "returned",
        run: { runId: first.run.runId, availableAt: t.now + 1_000 },
      });
      await t.advance(999);
      const worker = await t.worker();
      expect(await t.queues.claimed(worker)).toEqual([]);
      await t.advance(1);
      expect((await t.claim(worker)).runs).toMatchObject([{ runId: first.run.runId, input: bytes("2"), key: "k" }]);
    },

    "other keys, other workflows and other namespaces are other runs": async (t) => {
      const runs = [
        await debounce(t),
        await debounce(t, {}, { key: "l" }),
        await debounce(t, { workflow: "refund" }),
        await debounce(t, { namespace: "there" }),
      ];
      expect(runs.map(({ outcome }) => outcome)).toEqual(["created", "created", "created", "created"]);
    },

    "a run that has begun, ended, or was canceled is left alone": async (t) => {
      const { run } = await debounce(t);
      await t.advance(1_000);
      const holder = await t.claimOne(await t.worker());
      const second = await debounce(t);
      expect(second.outcome).toBe("created");
      await holder.commit(end());
      await t.deliver(t.ref(second.run.runId), { kind: "cancel", name: "" });
      const third = await debounce(t);
      expect(third.outcome).toBe("created");
      await t.store.runs.terminate({ runs: [t.ref(third.run.runId)], error: errorRecord("stop") });
      expect((await debounce(t)).outcome).toBe("created");
      expect((await t.run(run.runId)).status).toBe("completed");
    },

    "a run is put off until its maximum, and one that is paused stays paused": async (t) => {
      const rule = { maxMs: 1_500 };
      const { run } = await debounce(t, {}, rule);
      await t.advance(900);
      expect((await debounce(t, {}, rule)).run.availableAt).toBe(run.createdAt + 1_500);
      await t.pause(t.ref(run.runId));
      const paused = await debounce(t, { input: bytes("late") }, rule);
      expect(paused).toMatchObject({ outcome: "returned", run: { status: "parked", availableAt: null } });
      expect((await t.run(run.runId)).input).toEqual(bytes("late"));
    },

    "a call that is repeated gets the same answer": async (t) => {
      const start = aStart(t.newRun({ key: "k" }));
      const params = { start, key: "k", forMs: 0, maxMs: null };
      expect(await t.store.runs.debounce(params)).toMatchObject({ outcome: "created" });
      await t.claimOne(await t.worker());
      expect(await t.store.runs.debounce(params)).toMatchObject({
        outcome: "created",
        run: { runId: start.run.runId },
      });
      const other = await debounce(t, {}, { forMs: 5_000 });
      const changing = { ...params, start: aStart(t.newRun({ key: "k" })) };
      for (let i = 0; i < 2; i++)
        expect(await t.store.runs.debounce(changing)).toMatchObject({
          outcome: "returned",
          run: { runId: other.run.runId },
        });
    },

    "a debounced run that waits in line leaves it, and comes back": async (t) => {
      await t.queues.set({ concurrency: 0 });
      const { run } = await debounce(t, {}, { forMs: 0 });
      const worker = await t.worker();
      await t.queues.claimed(worker);
      expect((await t.queues.read()).runs.waiting).toBe(1);
      await debounce(t);
      expect((await t.queues.read()).runs.waiting).toBe(0);
      await t.queues.set({ concurrency: 1 });
      expect(await t.queues.claimed(worker)).toEqual([]);
      await t.advance(1_000);
      expect(await t.queues.claimed(worker)).toEqual([run.runId]);
    },
  },
};
