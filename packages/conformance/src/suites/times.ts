import type { EventDraft } from "holdfast/adapter";
import { expect } from "vitest";
import type { Fixture } from "../fixture.ts";
import { end, errorRecord, HOLD, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

const STOPPED = errorRecord("stopped by an operator");
const RETRIED: EventDraft = { type: "run_retried", op: null, meta: { forgets: [] } };
const HOUR_MS = 3_600_000;

/** The times of a run's history are in order, even if the clock was set back in between. */
export const times: Suite = {
  noun: "times",
  cases: {
    "a run that is held from its start does not start before it was created": async (t) => {
      const first = await t.held({ id: "a" });
      await first.commit(end());
      await t.advance(-HOUR_MS);
      const { run } = await t.start(
        { id: "a" },
        { ifClosed: "start", holdBy: { workerId: first.workerId, claimId: t.newId() } },
      );
      const { createdAt } = await t.run(run.runId);
      expect(run).toMatchObject({ createdAt, startedAt: createdAt });
      expect(await t.run(run.runId)).toMatchObject({ createdAt, startedAt: createdAt });
    },

    "a run that is claimed does not start before it was created": async (t) => {
      const { run } = await t.start();
      await t.advance(-HOUR_MS);
      // Its due time is unchanged: it is not claimed before the clock reaches it, except for a cancel.
      await t.deliver(t.ref(run.runId), { kind: "cancel" });
      const claimed = await t.claimOne(await t.worker());
      expect(await t.run(claimed.runId)).toMatchObject({ createdAt: run.createdAt, startedAt: run.createdAt });
    },

    "an end is not earlier than the start": async (t) => {
      const holder = await t.held();
      const startedAt = t.now;
      await t.advance(-HOUR_MS);
      await holder.commit(end());
      expect(await t.run(holder.runId)).toMatchObject({ startedAt, endedAt: startedAt });
    },

    "an end is not earlier than the last event, in the same commit or in one before": async (t) => {
      for (const inOneCommit of [true, false]) {
        const holder = await t.held();
        const at = t.now + 10;
        const events = [{ seq: 1, type: "step_completed", op: "a", at } as const];
        if (!inOneCommit) await holder.commit(HOLD, { events });
        await t.advance(-HOUR_MS);
        await holder.commit(end(), inOneCommit ? { events } : {});
        expect(await t.run(holder.runId)).toMatchObject({ endedAt: at, eventCount: 1 });
        await t.advance(HOUR_MS);
      }
    },

    "an end is when it was, if the clock has gone on": async (t) => {
      const holder = await t.held();
      await t.advance(5);
      await holder.commit(end(), { events: [{ seq: 1, type: "step_completed", op: "a", at: t.now - 1 }] });
      expect(await t.run(holder.runId)).toMatchObject({ endedAt: t.now });
    },

    "a run that continues as new does not end before its last event": async (t) => {
      const holder = await t.held({ id: "a" });
      const at = t.now + 10;
      await holder.commit(HOLD, { events: [{ seq: 1, type: "step_completed", op: "a", at }] });
      await t.advance(-HOUR_MS);
      await holder.commit({ type: "continue", next: t.newRun({ id: "a" }), carried: [] });
      expect(await t.run(holder.runId)).toMatchObject({ status: "continued", endedAt: at });
    },

    "a run that is terminated or replaced does not end before its last event, or its creation": async (t) => {
      const ways: ((id: string, runId: string) => Promise<unknown>)[] = [
        (_id, runId) => t.store.runs.terminate({ runs: [t.ref(runId)], error: STOPPED }),
        (id) => t.start({ id }, { ifRunning: "replace" }),
      ];
      for (const [i, way] of ways.entries()) {
        const { at, runId } = await suspendedWithEvent(t, `begun-${i}`);
        const { run } = await t.start({ id: `new-${i}` });
        await t.advance(-HOUR_MS);
        await way(`begun-${i}`, runId);
        await way(`new-${i}`, run.runId);
        expect(await t.run(runId)).toMatchObject({ status: "terminated", endedAt: at });
        expect(await t.run(run.runId)).toMatchObject({ status: "terminated", endedAt: run.createdAt });
        await t.advance(HOUR_MS);
      }
    },

    "a retried run goes on no earlier than it began, or than its last event": async (t) => {
      const empty = await t.held();
      const startedAt = t.now;
      await empty.commit(end({ status: "failed" }));
      const full = await t.held();
      const at = t.now + 10;
      await full.commit(end({ status: "failed" }), { events: [{ seq: 1, type: "step_completed", op: "a", at }] });
      await t.advance(-HOUR_MS);
      for (const [run, eventCount] of [
        [empty, 0],
        [full, 1],
      ] as const)
        await t.store.runs.reopenIfFailed({ run: t.ref(run.runId), eventCount, event: RETRIED });
      expect((await t.history(empty.runId)).at(-1)).toMatchObject({ type: "run_retried", at: startedAt });
      expect((await t.history(full.runId)).at(-1)).toMatchObject({ type: "run_retried", at });
    },
  },
};

async function suspendedWithEvent(t: Fixture, id: string): Promise<{ readonly at: number; readonly runId: string }> {
  const holder = await t.held({ id });
  const at = t.now + 10;
  await holder.commit(suspend(null), { events: [{ seq: 1, type: "step_completed", op: "a", at }] });
  return { at, runId: holder.runId };
}
