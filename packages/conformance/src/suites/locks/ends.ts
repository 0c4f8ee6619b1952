import { expect } from "vitest";
import { type Fixture, REPLACED, SWEEP } from "../../fixture.ts";
import type { LockRun } from "../../lock-calls.ts";
import { end, errorRecord, LEASE_MS, park, suspend } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";

const STOP = errorRecord("stop");
const RETRIED = { type: "run_retried", op: null, meta: { forgets: [] } } as const;

/** Every end of a run gives back its locks. Nothing else does. */
export const lockEnds: Suite = {
  noun: "ends of runs with locks",
  cases: {
    "a run that ends in a commit gives back what it holds and what it waits for": async (t) => {
      for (const status of ["completed", "failed", "canceled", "timed_out"] as const) {
        const { first, second } = await pair(t);
        const [waiting = 0] = await t.locks.request(first.holder, ["other"]);
        const blocking = await t.locks.run("other");
        expect(await first.holder.commit(end({ status }), { events: 1 })).toMatchObject({ owes: true });
        await expectPassedOn(t, first, second);
        expect(await t.locks.ask(first.holder, waiting)).toMatchObject({ outcome: "gone" });
        expect((await t.locks.line("other")).holders).toEqual([blocking.holder.runId]);
        await second.holder.commit(end());
        await blocking.holder.commit(end());
        for (const { holder } of [second, blocking]) await t.locks.passOn(holder);
      }
    },

    "a run that is terminated gives back its locks": async (t) => {
      const { first, second } = await pair(t);
      const [outcome] = await t.store.runs.terminate({ runs: [t.ref(first.holder.runId)], error: STOP });
      expect(outcome).toMatchObject({ outcome: "terminated", owes: true });
      await expectPassedOn(t, first, second);
    },

    "a run that is replaced gives back its locks, and the start says so": async (t) => {
      const { first, second } = await pair(t, "replaced");
      const started = await t.start({ id: "replaced" }, { ifRunning: "replace" });
      expect(started).toMatchObject({ outcome: "created", owes: { runId: first.holder.runId } });
      expect((await t.run(first.holder.runId)).error).toEqual(REPLACED);
      await expectPassedOn(t, first, second);
    },

    "a run that continues as new does not hand its locks on": async (t) => {
      const { first, second } = await pair(t, "continued");
      const next = t.newRun({ id: "continued" });
      const outcome = await first.holder.commit({ type: "continue", next, carried: [] }, { events: 1 });
      expect(outcome).toMatchObject({ outcome: "written", owes: true });
      await expectPassedOn(t, first, second);
    },

    "a run keeps its locks when it is suspended, parked, paused or released, and when its worker dies": async (t) => {
      const { first, second } = await pair(t);
      const { holder } = first;
      await holder.commit(suspend(null));
      await t.pause(t.ref(holder.runId));
      await t.resume(t.ref(holder.runId));
      const worker = await t.worker();
      const again = await t.claimOne(worker);
      await again.commit(park("no"));
      await t.resume(t.ref(holder.runId));
      await t.claimOne(worker);
      await t.advance(LEASE_MS * 2);
      await t.sweep(SWEEP);
      expect((await t.locks.line("x")).holders).toEqual([holder.runId]);
      expect((await t.locks.ask(second.holder, second.seq)).outcome).toBe("waiting");
      expect(await t.locks.owed(holder)).toBeUndefined();
    },

    "a grant that a run has not read is gone with its end": async (t) => {
      const { first, second } = await pair(t);
      const third = await t.locks.run("x");
      await second.holder.commit(suspend(null));
      await t.locks.giveBack(first.holder, [first.seq]);
      await t.store.runs.terminate({ runs: [t.ref(second.holder.runId)], error: STOP });
      await expectPassedOn(t, second, third);
    },

    "a failed run that is reopened has no locks, and those that it gave back stay given back": async (t) => {
      const { first, second } = await pair(t);
      await first.holder.commit(end({ status: "failed", error: STOP }), { events: 1 });
      const { eventCount } = await t.run(first.holder.runId);
      const run = t.ref(first.holder.runId);
      expect((await t.store.runs.reopenIfFailed({ run, eventCount, event: RETRIED })).outcome).toBe("reopened");
      await expectPassedOn(t, first, second);
      const again = await t.claimOne(await t.worker());
      const [seq = 0] = await t.locks.request(again, ["x"]);
      expect((await t.locks.ask(again, seq)).outcome).toBe("waiting");
    },

    "a run that owes a lock is not purged before that is passed on": async (t) => {
      const { first, second } = await pair(t);
      await first.holder.commit(end());
      await t.advance(1_000);
      const purge = () => t.store.runs.purge({ namespace: "default", endedBefore: t.now, limit: 10 });
      expect((await purge()).purged).toBe(0);
      await expectPassedOn(t, first, second);
      const debt = await t.locks.owed(first.holder);
      const { namespace, runId } = first.holder;
      await t.store.debts.pay({ debts: [{ debtNo: debt?.debtNo as number, namespace, runId }] });
      expect((await purge()).purged).toBe(1);
    },

    "a continuation has a message of a lock neither from its predecessor nor for it": async (t) => {
      const first = await t.locks.run("x");
      const holder = await t.held({ id: "chain" });
      await t.locks.request(holder, ["x"]);
      await t.locks.giveBack(first.holder, [first.seq]);
      expect(await t.locks.told(holder.runId)).toHaveLength(1);
      const next = t.newRun({ id: "chain" });
      await holder.commit({ type: "continue", next, carried: [] }, { events: 1 });
      expect(await t.locks.told(next.runId)).toEqual([]);
    },
  },
};

/** A run that holds lock x, and another one that waits for it. */
async function pair(t: Fixture, id?: string): Promise<{ first: LockRun; second: LockRun }> {
  const holder = await t.held(id === undefined ? {} : { id });
  const [seq = 0] = await t.locks.request(holder, ["x"]);
  const first = { holder, seq, answer: await t.locks.ask(holder, seq) };
  expect(first.answer.outcome).toBe("granted");
  return { first, second: await t.locks.run("x") };
}

async function expectPassedOn(t: Fixture, { holder }: LockRun, next: LockRun): Promise<void> {
  expect(await t.locks.owed(holder)).toMatchObject({ kind: "lock", id: expect.any(String) });
  expect(await t.locks.passOn(holder)).toBe(true);
  expect((await t.locks.line("x")).holders).toEqual([next.holder.runId]);
  expect(await t.locks.told(next.holder.runId)).toHaveLength(1);
}
