import { expect } from "vitest";
import { SWEEP } from "../../fixture.ts";
import { end, errorRecord, LEASE_MS, park, suspend } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";

const STOP = errorRecord("stop");
const RETRIED = { type: "run_retried", op: null, meta: { forgets: [] } } as const;

/** Who has a place in a queue with limits, and when it is given back. */
export const places: Suite = {
  noun: "places in a queue with limits",
  cases: {
    "a claim takes as many runs as there are places, the longest due first": async (t) => {
      await t.queues.set({ concurrency: 2 });
      const [a, b, c] = await t.queues.start(3);
      const worker = await t.worker();
      const first = await t.queues.claim(worker);
      expect(first.map(({ runId }) => runId)).toEqual([a, b]);
      expect(await t.queues.claimed(worker)).toEqual([]);
      expect(await t.run(c as string)).toMatchObject({
        status: "pending",
        availableAt: null,
        epoch: 0,
        waitingFor: ["queue:default#05"],
      });
      await t.queues.end(first[0] as never);
      expect(await t.queues.claimed(worker)).toEqual([c]);
      expect(await t.run(c as string)).toMatchObject({ status: "running", waitingFor: [], epoch: 1 });
    },

    "limits are set for the revision that the queue has, and a copy of the call that comes late changes nothing":
      async (t) => {
        const [a, b, c] = [t.newId(), t.newId(), t.newId()];
        const set = (concurrency: number | null, revision: string | null, next: string) => {
          const limits = concurrency === null ? null : { concurrency };
          return t.store.queues.setIfRevision({ namespace: "default", queue: "default", limits, revision, next });
        };
        expect(await set(0, null, a)).toEqual({ outcome: "written" });
        expect(await set(3, a, b)).toEqual({ outcome: "written" });
        // Copies: of the last call, and of the one before.
        expect(await set(3, a, b)).toEqual({ outcome: "written" });
        expect(await set(0, null, a)).toEqual({ outcome: "moved", revision: b });
        expect((await t.queues.read()).limits).toEqual({ concurrency: 3 });
        // Also when there are no limits any more.
        expect(await set(null, b, c)).toEqual({ outcome: "written" });
        expect(await set(0, null, a)).toEqual({ outcome: "moved", revision: c });
        expect(await set(3, a, b)).toEqual({ outcome: "moved", revision: c });
        const runs = await t.queues.start(1);
        expect(await t.queues.claimed(await t.worker())).toEqual(runs);
      },

    "other queues and other namespaces are not limited": async (t) => {
      await t.queues.set({ concurrency: 0 });
      const worker = await t.worker();
      const there = await t.worker({ namespace: "there" });
      await t.queues.start(1);
      const [free] = await t.queues.start(2, { queue: "free" });
      const [away] = await t.queues.start(1, { namespace: "there" });
      expect(await t.queues.claimed(worker, { queues: ["default", "free"], limit: 1 })).toEqual([free]);
      expect((await t.claim(there, { namespace: "there" })).runs.map(({ runId }) => runId)).toEqual([away]);
    },

    "a start does not hold a run in a queue with limits": async (t) => {
      await t.queues.set({ concurrency: 5 });
      const holdBy = { workerId: await t.worker(), claimId: t.newId() };
      const { run } = await t.start({}, { holdBy });
      expect(run).toMatchObject({ heldBy: null, status: "pending" });
      expect(await t.queues.claimed(holdBy.workerId)).toEqual([run.runId]);
    },

    "every end of a run gives its place back, once": async (t) => {
      await t.queues.set({ concurrency: 1 });
      const worker = await t.worker();
      for (const status of ["completed", "failed", "canceled", "timed_out"] as const) {
        await t.queues.start(1);
        const [holder] = await t.queues.claim(worker);
        await holder?.commit(end({ status }), { events: 1 });
        expect(await holder?.send(holder.draft(end({ status })))).toMatchObject({ outcome: "lost" });
      }
      await t.queues.start(1, { id: "twice" });
      const [first] = await t.queues.claim(worker);
      await t.store.runs.terminate({ runs: [t.ref(first?.runId as string)], error: STOP });
      await t.queues.start(1, { id: "replaced" });
      await t.queues.claim(worker);
      const { run } = await t.start({ id: "replaced" }, { ifRunning: "replace" });
      expect(await t.queues.claimed(worker)).toEqual([run.runId]);
      expect((await t.queues.read()).runs).toMatchObject({ running: 1, waiting: 0 });
    },

    "a run keeps its place when it is suspended, released, parked or paused, and when its worker dies": async (t) => {
      await t.queues.set({ concurrency: 1 });
      const worker = await t.worker({ leaseMs: 100_000_000 });
      const [run] = (await t.queues.start(1)) as [string];
      const [other] = (await t.queues.start(1)) as [string];
      const only = async (transition: Parameters<typeof end>[0] | object) => {
        const [holder] = await t.queues.claim(worker);
        expect(holder?.runId).toBe(run);
        await holder?.commit(transition as never);
        return holder;
      };
      await only(suspend(t.now));
      await only({ type: "release" });
      await only(park("no"));
      expect(await t.queues.claimed(worker)).toEqual([]);
      await t.resume(t.ref(run));
      await only(suspend(null));
      await t.pause(t.ref(run));
      await t.resume(t.ref(run));
      const mortal = await t.worker();
      expect(await t.queues.claimed(mortal)).toEqual([run]);
      await t.advance(LEASE_MS * 2);
      await t.sweep(SWEEP);
      const [last] = await t.queues.claim(worker);
      expect(last?.runId).toBe(run);
      expect((await t.queues.read()).runs.holders).toMatchObject([{ runId: run, key: null }]);
      await t.queues.end(last as never);
      expect(await t.queues.claimed(worker)).toEqual([other]);
    },

    "a run that continues as new hands its place on": async (t) => {
      await t.queues.set({ concurrency: 1 });
      const worker = await t.worker();
      await t.queues.start(1, { id: "continued", key: "a" });
      const [first] = await t.queues.claim(worker);
      const next = t.newRun({ id: "continued", key: "a" });
      const [other] = await t.queues.start(1);
      await first?.commit({ type: "continue", next, carried: [] }, { events: 1 });
      const [second] = await t.queues.claim(worker);
      expect(second?.runId).toBe(next.runId);
      expect(await t.run(next.runId)).toMatchObject({ key: "a" });
      await t.store.runs.terminate({ runs: [t.ref(next.runId)], error: STOP });
      expect(await t.queues.claimed(worker)).toEqual([other]);
    },

    "a failed run that is reopened waits for a place, and so does a fork": async (t) => {
      await t.queues.set({ concurrency: 1 });
      const worker = await t.worker();
      const [failed] = (await t.queues.start(1)) as [string];
      const [first] = await t.queues.claim(worker);
      await first?.commit(end({ status: "failed", error: STOP, output: null }), { events: 1 });
      const [other] = await t.queues.start(1);
      const [second] = await t.queues.claim(worker);
      const reopened = await t.store.runs.reopenIfFailed({ run: t.ref(failed), eventCount: 1, event: RETRIED });
      expect(reopened.outcome).toBe("reopened");
      expect(second?.runId).toBe(other);
      expect(await t.queues.claimed(worker)).toEqual([]);
      expect((await t.run(failed)).waitingFor).toEqual(["queue:default#05"]);
      // A message does not let it in either.
      await t.deliver(t.ref(failed));
      expect(await t.queues.claimed(worker)).toEqual([]);
      await t.queues.end(second as never);
      expect(await t.queues.claimed(worker)).toEqual([failed]);
    },

    "limits that are set while runs are in progress count those that have begun": async (t) => {
      const worker = await t.worker();
      const [a, b] = await t.queues.start(2, { key: "k" });
      const [first] = await t.queues.claim(worker);
      await first?.commit(suspend(null));
      await t.queues.set({ perKey: { concurrency: 2 } });
      const [c] = await t.queues.start(1, { key: "k" });
      expect(await t.queues.claimed(worker)).toEqual([]);
      expect((await t.queues.read()).runs.holders.map(({ runId }) => runId).sort()).toEqual([a, b].sort());
      await t.store.runs.terminate({ runs: [t.ref(a as string)], error: STOP });
      expect(await t.queues.claimed(worker)).toEqual([c]);
    },

    "limits that are changed hold from the next claim on, and without them everything in line is due": async (t) => {
      await t.queues.set({ concurrency: 0 });
      const [a, b, c] = await t.queues.start(3);
      const worker = await t.worker();
      expect(await t.queues.claimed(worker)).toEqual([]);
      await t.queues.set({ concurrency: 1 });
      expect(await t.queues.claimed(worker)).toEqual([a]);
      await t.queues.set(null);
      expect(await t.run(b as string)).toMatchObject({ waitingFor: [], status: "pending" });
      expect(await t.queues.claimed(worker)).toEqual([b, c]);
      expect((await t.queues.read()).limits).toBeNull();
      // And start-and-hold works as ever.
      await t.held();
    },

    "a canceled run that waits is claimed without a place": async (t) => {
      await t.queues.set({ concurrency: 0 });
      const [a, b] = (await t.queues.start(2)) as [string, string];
      const worker = await t.worker();
      expect(await t.queues.claimed(worker)).toEqual([]);
      await t.deliver(t.ref(a), { kind: "cancel", name: "" });
      const { runs, messages } = await t.claim(worker);
      expect(runs).toMatchObject([{ runId: a, epoch: 1 }]);
      expect(messages).toHaveLength(1);
      expect((await t.queues.read()).runs).toMatchObject({ running: 0, waiting: 1 });
      expect(await t.queues.claimed(worker)).toEqual([]);
      await t.queues.set({ concurrency: 9 });
      expect(await t.queues.claimed(worker)).toEqual([b]);
    },

    "a run that waits is terminated, paused and resumed, and the line knows": async (t) => {
      await t.queues.set({ concurrency: 0 });
      const [gone, paused, last] = (await t.queues.start(3)) as [string, string, string];
      const worker = await t.worker();
      await t.queues.claimed(worker);
      await t.store.runs.terminate({ runs: [t.ref(gone)], error: STOP });
      expect(await t.pause(t.ref(paused))).toEqual({ outcome: "parked" });
      expect((await t.queues.read()).runs).toMatchObject({ waiting: 1, running: 0 });
      await t.queues.set({ concurrency: 1 });
      const [holder] = await t.queues.claim(worker);
      expect(holder?.runId).toBe(last);
      expect((await t.resume(t.ref(paused))).resumed).toBe(true);
      expect(await t.queues.claimed(worker)).toEqual([]);
      await t.queues.end(holder as never);
      expect(await t.queues.claimed(worker)).toEqual([paused]);
    },

    "a run whose deadline passes while it waits is claimed without a place, or ended by a sweep": async (t) => {
      await t.queues.set({ concurrency: 0 });
      const [a] = (await t.queues.start(1, { timeoutMs: 5_000 })) as [string];
      const worker = await t.worker({ leaseMs: 100_000_000 });
      expect((await t.claim(worker)).nextDueAt).toBe((await t.run(a)).deadlineAt);
      await t.advance(5_000);
      expect((await t.claim(worker)).runs).toMatchObject([{ runId: a }]);
      const [b] = (await t.queues.start(1, { timeoutMs: 5_000 })) as [string];
      await t.claim(worker);
      await t.advance(7_000);
      await t.sweep();
      expect((await t.run(b)).status).toBe("timed_out");
      expect((await t.queues.read()).runs.waiting).toBe(0);
    },

    "a delayed run waits for its time first": async (t) => {
      await t.queues.set({ concurrency: 1 });
      const [later] = await t.queues.start(1, { startDelayMs: 5_000 });
      const worker = await t.worker({ leaseMs: 100_000_000 });
      expect((await t.claim(worker)).runs).toEqual([]);
      await t.advance(5_000);
      expect(await t.queues.claimed(worker)).toEqual([later]);
    },

    "a worker that has put runs into line and dies leaves them to others": async (t) => {
      await t.queues.set({ concurrency: 1 });
      const runs = await t.queues.start(3, { key: "a" });
      expect(await t.queues.claimed(await t.worker())).toEqual([runs[0]]);
      await t.advance(LEASE_MS * 2);
      await t.sweep();
      const worker = await t.worker();
      for (const runId of runs) {
        const [holder, more] = await t.queues.claim(worker);
        expect([holder?.runId, more]).toEqual([runId, undefined]);
        await t.queues.end(holder as never);
      }
      expect((await t.queues.read()).runs).toMatchObject({ waiting: 0, running: 0 });
    },

    "half of the claims look at queues with limits first": async (t) => {
      await t.queues.set({ fair: true });
      const worker = await t.worker();
      const both = { queues: ["default", "free"], limit: 1 };
      const [limited] = await t.queues.start(1);
      const [free] = await t.queues.start(1, { queue: "free" });
      expect(await t.queues.claimed(worker, { ...both, claimId: `${t.newId().slice(0, -1)}3` })).toEqual([limited]);
      await t.queues.start(1);
      expect(await t.queues.claimed(worker, { ...both, claimId: `${t.newId().slice(0, -1)}c` })).toEqual([free]);
    },

    "the key of a run is kept, and purged with it": async (t) => {
      const holder = await t.held({ key: "tenant-1" });
      expect((await t.run(holder.runId)).key).toBe("tenant-1");
      await t.queues.set({ concurrency: 1 });
      await holder.commit(end());
      await t.advance(10);
      const purge = { namespace: "default", endedBefore: t.now, limit: 10 };
      expect((await t.store.runs.purge(purge)).purged).toBe(1);
      const [next] = await t.queues.start(1);
      expect(await t.queues.claimed(await t.worker())).toEqual([next]);
    },

    "a list of queues counts what waits and what is in progress, with and without limits": async (t) => {
      const worker = await t.worker();
      await t.queues.start(3, { queue: "free" });
      await t.queues.claimed(worker, { queues: ["free"], limit: 1 });
      await t.queues.set({ concurrency: 1 });
      const before = t.now;
      const [a] = await t.queues.start(2, { key: "k" });
      await t.queues.claimed(worker);
      const [limited, free] = await t.store.queues.list({ namespace: "default", holdersMax: 10 });
      expect(limited).toMatchObject({
        name: "default",
        limits: { concurrency: 1 },
        runs: { waiting: 1, running: 1, oldestDueAt: before + 1, holders: [{ runId: a, key: "k", since: t.now }] },
        tasks: { waiting: 0, running: 0, oldestDueAt: null, perSecond: 0, holders: [] },
      });
      expect(limited?.runs.perSecond).toBeGreaterThan(0);
      expect(free).toMatchObject({
        name: "free",
        limits: null,
        runs: { waiting: 2, running: 1, perSecond: 0, holders: [] },
      });
      expect((await t.queues.read("default", "k")).runs).toMatchObject({ waiting: 1, running: 1 });
      expect((await t.queues.read("default", "other")).runs).toMatchObject({ waiting: 0, running: 0, holders: [] });
      expect(await t.store.queues.list({ namespace: "there", holdersMax: 10 })).toEqual([]);
    },
  },
};
