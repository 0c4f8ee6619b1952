import { expect } from "vitest";
import type { Fixture } from "../fixture.ts";
import { bytes, end, HOLD, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

export const claims: Suite = {
  noun: "claims",
  cases: {
    "a claim holds the run for the worker: epoch + 1, running, not due any more": async (t) => {
      const { run } = await t.start();
      const workerId = await t.worker();
      await t.advance(20);
      const claimId = t.newId();
      const result = await t.claim(workerId, { claimId });
      const stored = await t.run(run.runId);
      expect(stored).toMatchObject({
        status: "running",
        epoch: 1,
        commit: 0,
        heldBy: workerId,
        claimId,
        availableAt: null,
        startedAt: t.now,
        alone: false,
      });
      expect(result).toEqual({
        live: true,
        runs: [stored],
        messages: [],
        now: t.now,
        moreDue: false,
        nextDueAt: null,
        suspectDue: false,
      });
    },

    "the claimed run comes with its input": async (t) => {
      await t.start({ input: bytes('"in"') });
      const { runs } = await t.claim(await t.worker());
      expect(runs[0]?.input).toEqual(bytes('"in"'));
    },

    "a held run is claimed by nobody else": async (t) => {
      await t.start();
      expect((await t.claim(await t.worker())).runs).toHaveLength(1);
      expect((await t.claim(await t.worker())).runs).toEqual([]);
    },

    "every claim takes the epoch on, and startedAt stays": async (t) => {
      const holder = await t.held();
      const startedAt = t.now;
      await holder.commit(suspend(t.now + 10), { events: 1 });
      await t.advance(10);
      const next = await t.claimOne(await t.worker());
      expect(await t.run(next.runId)).toMatchObject({ epoch: 2, commit: 1, startedAt, waitingFor: [] });
    },

    "a run that was compensating still is": async (t) => {
      const holder = await t.held();
      await holder.commit(suspend(t.now, { status: "compensating" }), { events: 1 });
      expect((await t.claim(await t.worker())).runs[0]?.status).toBe("compensating");
    },

    "a run is claimed when it is due and not a millisecond earlier": async (t) => {
      await t.start({ startDelayMs: 100 });
      const workerId = await t.worker();
      await t.advance(99);
      expect(await t.claim(workerId)).toMatchObject({ runs: [], nextDueAt: t.now + 1 });
      await t.advance(1);
      expect((await t.claim(workerId)).runs).toHaveLength(1);
    },

    "closed, waiting and parked runs are not claimed": async (t) => {
      const workerId = await t.worker();
      await (await t.held({}, workerId)).commit(end());
      await (await t.held({}, workerId)).commit(suspend(null));
      await (await t.held({}, workerId)).commit({ type: "park", error: { name: "E", message: "m", kind: "Unknown" } });
      await t.advance(1_000_000);
      expect(await t.claim(workerId)).toMatchObject({ runs: [], nextDueAt: null });
    },

    "only the namespace asked for": async (t) => {
      await t.start({ namespace: "one" });
      const two = await t.start({ namespace: "two" });
      expect(await t.claim(await t.worker())).toMatchObject({ runs: [], nextDueAt: null });
      const workerId = await t.worker({ namespace: "two" });
      expect(runIds(await t.claim(workerId, { namespace: "two" }))).toEqual([two.run.runId]);
    },

    "only the queues asked for": async (t) => {
      const [a, b] = [await t.start({ queue: "a" }), await t.start({ queue: "b" })];
      await t.start({ queue: "c" });
      const { runs } = await t.claim(await t.worker(), { queues: ["a", "b", "x"] });
      expect(runs.map((run) => run.runId).sort()).toEqual([a.run.runId, b.run.runId]);
      expect((await t.claim(await t.worker(), { queues: [] })).runs).toEqual([]);
    },

    "only the workflow versions asked for, in the pairs asked for": async (t) => {
      const wanted = [await t.start({ workflow: "a", version: "1" }), await t.start({ workflow: "b", version: "2" })];
      await t.start({ workflow: "a", version: "2" });
      await t.start({ workflow: "b", version: "1" });
      const workerId = await t.worker();
      const handlers = [
        { workflow: "a", version: "1" },
        { workflow: "b", version: "2" },
      ];
      const { runs, nextDueAt } = await t.claim(workerId, { handlers });
      expect(runs.map((run) => run.runId).sort()).toEqual(wanted.map(({ run }) => run.runId));
      expect(nextDueAt).toBeNull();
      expect((await t.claim(workerId, { handlers: [] })).runs).toEqual([]);
    },

    "no more than the limit, and what is left is due": async (t) => {
      await t.startMany(Array.from({ length: 5 }, () => t.newRun()));
      const workerId = await t.worker();
      const first = await t.claim(workerId, { limit: 3 });
      expect(first.runs).toHaveLength(3);
      expect(first).toMatchObject({ moreDue: true, nextDueAt: null });
      const second = await t.claim(workerId, { limit: 3 });
      expect(second).toMatchObject({ moreDue: false, nextDueAt: null });
      expect(new Set([...runIds(first), ...runIds(second)]).size).toBe(5);
    },

    "higher priorities first": async (t) => {
      const priorities = [0, 9, -9, 3, -1, 9];
      await t.startMany(priorities.map((priority) => t.newRun({ priority })));
      const workerId = await t.worker();
      const claimed: number[] = [];
      for (let i = 0; i < 3; i++) {
        const { runs } = await t.claim(workerId, { limit: 2 });
        claimed.push(...runs.map((run) => run.priority));
      }
      expect(claimed).toEqual([9, 9, 3, 0, -1, -9]);
    },

    "a higher priority goes before one that has been due for longer, also across workflows": async (t) => {
      const low = await t.start({ workflow: "a", priority: 0 });
      await t.advance(1_000);
      const high = await t.start({ workflow: "b", priority: 1 });
      const handlers = ["a", "b"].map((workflow) => ({ workflow, version: "1" }));
      expect(runIds(await t.claim(await t.worker(), { handlers }))).toEqual([high.run.runId, low.run.runId]);
    },

    "within one workflow version and priority the longest due first": async (t) => {
      const delays = [40, 10, 30, 20, 0];
      const started = await t.startMany(delays.map((startDelayMs) => t.newRun({ startDelayMs })));
      await t.advance(50);
      const workerId = await t.worker();
      const claimed: string[] = [];
      for (let i = 0; i < 5; i++) claimed.push(...runIds(await t.claim(workerId, { limit: 1 })));
      expect(claimed).toEqual([4, 1, 3, 2, 0].map((i) => started[i]?.run.runId));
    },

    "nextDueAt is when the earliest run that the claim could take becomes due": async (t) => {
      await t.start({ startDelayMs: 500 });
      await t.start({ startDelayMs: 300 });
      await t.start({ startDelayMs: 100, queue: "other" });
      await t.start({ startDelayMs: 100, version: "2" });
      await t.start({ startDelayMs: 100, namespace: "other" });
      expect(await t.claim(await t.worker())).toMatchObject({ runs: [], moreDue: false, nextDueAt: t.now + 300 });
    },

    "nextDueAt is told as well when due runs are left": async (t) => {
      await t.startMany([t.newRun(), t.newRun(), t.newRun({ startDelayMs: 300 })]);
      const claimed = await t.claim(await t.worker(), { limit: 1 });
      expect(claimed.runs).toHaveLength(1);
      expect(claimed).toMatchObject({ moreDue: true, nextDueAt: t.now + 300 });
    },

    "a worker that is offline or unknown claims nothing, and is told": async (t) => {
      await t.start();
      const stopped = await t.worker();
      await t.store.workers.stop({ namespace: "default", workerId: stopped });
      for (const workerId of [stopped, t.newId()]) {
        expect(await t.claim(workerId)).toMatchObject({ live: false, runs: [], messages: [] });
        expect(await t.claim(workerId, { again: true })).toMatchObject({ live: false, runs: [] });
      }
      expect((await t.claim(await t.worker())).runs).toHaveLength(1);
    },

    "a lease that has run out counts only once a sweep has noticed it": async (t) => {
      const workerId = await t.worker({ leaseMs: 1_000 });
      await t.start();
      await t.advance(5_000);
      expect(await t.claim(workerId)).toMatchObject({ live: true });
      await t.sweep();
      await t.start();
      expect(await t.claim(workerId)).toMatchObject({ live: false, runs: [] });
    },

    "a draining worker may claim": async (t) => {
      const workerId = await t.worker();
      await t.store.workers.heartbeat({ namespace: "default", workerId, leaseMs: 10_000, draining: true });
      await t.start();
      expect((await t.claim(workerId)).runs).toHaveLength(1);
    },

    "again returns what was taken under the claim id, and takes no more": async (t) => {
      await t.startMany([t.newRun(), t.newRun(), t.newRun()]);
      const workerId = await t.worker();
      const claimId = t.newId();
      const first = await t.claim(workerId, { claimId, limit: 2 });
      await t.deliver(t.ref(first.runs[1]?.runId as string), { name: "hello" });
      const again = await t.claim(workerId, { claimId, limit: 2, again: true });
      expect(again.live).toBe(true);
      expect(again.runs.map((run) => [run.runId, run.epoch]).sort()).toEqual(
        first.runs.map((run) => [run.runId, 1]).sort(),
      );
      expect(again.messages.map((message) => message.name)).toEqual(["hello"]);
      expect((await t.claim(workerId)).runs).toHaveLength(1);
    },

    "again does not return runs that another claim of the worker took, or that it has let go": async (t) => {
      const workerId = await t.worker();
      await t.startMany([t.newRun(), t.newRun()]);
      const claimId = t.newId();
      const [first, second] = (await t.claim(workerId, { claimId })).runs;
      await t.store.runs.releaseIfHeld({
        namespace: "default",
        workerId,
        runs: [{ runId: first?.runId as string, epoch: 1 }],
      });
      await t.claim(workerId);
      const again = await t.claim(workerId, { claimId, again: true });
      expect(runIds(again)).toEqual([second?.runId]);
    },

    "again after a claim that never reached the store takes no more than the limit": async (t) => {
      await t.startMany([t.newRun(), t.newRun(), t.newRun()]);
      const workerId = await t.worker();
      const claimId = t.newId();
      const { live, runs } = await t.claim(workerId, { claimId, again: true, limit: 2 });
      // The store may claim or only read; what it returns is held under this id.
      expect(live).toBe(true);
      expect(runs.length).toBeLessThanOrEqual(2);
      for (const run of runs) expect(run).toMatchObject({ heldBy: workerId, claimId });
      expect(await t.store.workers.readHeld({ namespace: "default", workerId })).toHaveLength(runs.length);
    },

    "the unconsumed messages of the claimed runs come along, in order": async (t) => {
      const holder = await t.held();
      for (const name of ["one", "two", "three"]) await t.deliver(t.ref(holder.runId), { name });
      await holder.commit({ type: "release" }, { consumed: 1 });
      const other = await t.start();
      await t.deliver(t.ref(other.run.runId), { name: "four", payload: bytes("4") });
      const { messages } = await t.claim(await t.worker());
      const ofFirst = messages.filter((message) => message.runId === holder.runId);
      expect(ofFirst.map(({ name, number }) => [name, number])).toEqual([
        ["two", 2],
        ["three", 3],
      ]);
      const ofOther = messages.filter((message) => message.runId === other.run.runId);
      expect(ofOther).toMatchObject([{ name: "four", number: 1, kind: "signal", payload: bytes("4"), at: t.now }]);
      expect(messages).toHaveLength(3);
    },

    "suspects are left to a solo claim, which takes one of them alone": async (t) => {
      const suspects = await twoSuspects(t);
      const innocent = await t.start();
      const workerId = await t.worker();
      const usual = await t.claim(workerId);
      expect(runIds(usual)).toEqual([innocent.run.runId]);
      expect(usual.suspectDue).toBe(true);
      const alone = await t.claim(workerId, { solo: true });
      expect(alone.runs).toHaveLength(1);
      expect(suspects).toContain(alone.runs[0]?.runId);
      expect(alone.runs[0]).toMatchObject({ alone: true, suspect: true, heldBy: workerId });
    },

    "a solo claim leaves what is no suspect": async (t) => {
      await t.start();
      const result = await t.claim(await t.worker(), { solo: true });
      expect(result).toMatchObject({ live: true, runs: [], suspectDue: false });
    },

    "progress clears the suspicion, and so does nothing else": async (t) => {
      await twoSuspects(t);
      const holder = await t.claimOne(await t.worker(), { solo: true });
      await holder.commit(HOLD);
      expect(await t.run(holder.runId)).toMatchObject({ suspect: true, alone: true, deaths: 2 });
      await holder.commit(HOLD, { events: 1 });
      expect(await t.run(holder.runId)).toMatchObject({ suspect: false, alone: false, deaths: 0, aloneDeaths: 0 });
    },

    "no suspect is due while it is held or asleep": async (t) => {
      await twoSuspects(t);
      const workerId = await t.worker();
      const [a, b] = [await t.claimOne(workerId, { solo: true }), await t.claimOne(workerId, { solo: true })];
      expect((await t.claim(workerId)).suspectDue).toBe(false);
      await a.commit(suspend(t.now + 100));
      await b.commit(suspend(null));
      expect((await t.claim(workerId)).suspectDue).toBe(false);
      await t.advance(100);
      expect((await t.claim(workerId)).suspectDue).toBe(true);
    },
  },
};

function runIds(result: { readonly runs: readonly { readonly runId: string }[] }): string[] {
  return result.runs.map((run) => run.runId);
}

/** Two runs whose worker died twice. */
async function twoSuspects(t: Fixture): Promise<string[]> {
  const started = await t.startMany([t.newRun(), t.newRun()]);
  for (let i = 0; i < 2; i++) {
    await t.claim(await t.worker({ leaseMs: 10 }));
    await t.advance(10);
    await t.sweep({ suspectAfter: 2 });
  }
  return started.map(({ run }) => run.runId);
}
