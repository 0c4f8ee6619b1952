import type { EventDraft, Run } from "holdfast/adapter";
import { expect } from "vitest";
import type { Fixture } from "../fixture.ts";
import { Holder } from "../holder.ts";
import { end, errorRecord, HOLD, LEASE_MS, park, someEvents, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

const STOPPED = errorRecord("stopped by an operator");
const RETRIED: EventDraft = { type: "run_retried", op: null, meta: { forgets: ["charge"] } };

/** What people do to runs from outside: terminate, resume, reopen. */
export const operators: Suite = {
  noun: "operators",
  cases: {
    "terminate ends a run that nobody holds": async (t) => {
      const { run } = await t.start({ id: "a" });
      await t.advance(5);
      expect(await t.store.runs.terminate({ runs: [t.ref(run.runId)], error: STOPPED })).toEqual([
        { outcome: "terminated", runId: run.runId, status: "terminated" },
      ]);
      expect(await t.run(run.runId)).toMatchObject({
        status: "terminated",
        error: STOPPED,
        output: null,
        epoch: 1,
        endedAt: t.now,
        availableAt: null,
        heldBy: null,
        compensation: null,
      });
      expect((await t.claim(await t.worker())).runs).toEqual([]);
    },

    "terminate ends a run whoever holds it, and the holder's next write is refused": async (t) => {
      const holder = await t.held();
      await holder.commit(HOLD, { events: 1 });
      await t.store.runs.terminate({ runs: [t.ref(holder.runId)], error: STOPPED });
      expect(await t.run(holder.runId)).toMatchObject({
        status: "terminated",
        epoch: holder.epoch + 1,
        commit: 1,
        heldBy: null,
        claimId: null,
      });
      expect(await holder.commit(end(), { events: 1 })).toMatchObject({ outcome: "lost", held: false });
      expect(await t.run(holder.runId)).toMatchObject({ status: "terminated", eventCount: 1 });
      expect(await t.store.workers.readHeld({ namespace: "default", workerId: holder.workerId })).toEqual([]);
    },

    "terminate ends waiting, sleeping and parked runs": async (t) => {
      for (const transition of [suspend(null), suspend(t.now + 1_000), park("odd")]) {
        const holder = await t.held();
        await holder.commit(transition);
        await t.store.runs.terminate({ runs: [t.ref(holder.runId)], error: STOPPED });
        expect(await t.run(holder.runId)).toMatchObject({
          status: "terminated",
          error: STOPPED,
          waitingFor: [],
          availableAt: null,
        });
      }
    },

    "terminate leaves a closed run alone": async (t) => {
      const holder = await t.held();
      await holder.commit(end());
      const before = await t.run(holder.runId);
      const closed = [{ outcome: "closed", runId: holder.runId, status: "completed" }];
      expect(await t.store.runs.terminate({ runs: [t.ref(holder.runId)], error: STOPPED })).toEqual(closed);
      expect(await t.run(holder.runId)).toEqual(before);
    },

    "a repeated terminate changes nothing": async (t) => {
      const { run } = await t.start();
      await t.store.runs.terminate({ runs: [t.ref(run.runId)], error: STOPPED });
      const before = await t.run(run.runId);
      await t.advance(5);
      expect(await t.store.runs.terminate({ runs: [t.ref(run.runId)], error: errorRecord("again") })).toEqual([
        { outcome: "closed", runId: run.runId, status: "terminated" },
      ]);
      expect(await t.run(run.runId)).toEqual(before);
    },

    "terminate by id ends the newest run of the id and frees it": async (t) => {
      const old = await t.held({ id: "a" });
      await old.commit(end());
      const { run } = await t.start({ id: "a" }, { ifClosed: "start" });
      const byId = { namespace: "default", id: "a" };
      expect(await t.store.runs.terminate({ runs: [byId], error: STOPPED })).toMatchObject([{ runId: run.runId }]);
      expect(await t.run(old.runId)).toMatchObject({ status: "completed" });
      expect(await t.start({ id: "a" }, { ifClosed: "start" })).toMatchObject({ outcome: "created" });
    },

    "terminate does not follow a run that has continued": async (t) => {
      const holder = await t.held({ id: "a" });
      const next = t.newRun({ id: "a" });
      await holder.commit({ type: "continue", next, carried: [] });
      expect(await t.store.runs.terminate({ runs: [t.ref(holder.runId)], error: STOPPED })).toEqual([
        { outcome: "closed", runId: holder.runId, status: "continued" },
      ]);
      expect(await t.run(next.runId)).toMatchObject({ status: "pending" });
    },

    "many runs are terminated one by one, and answered in order": async (t) => {
      const closed = await t.held();
      await closed.commit(end());
      const [a, b] = [await t.start(), await t.start({ id: "b" })];
      const outcomes = await t.store.runs.terminate({
        runs: [
          t.ref(t.newId()),
          t.ref(closed.runId),
          { namespace: "default", id: "b" },
          { namespace: "elsewhere", id: "b" },
          t.ref(a.run.runId),
        ],
        error: STOPPED,
      });
      expect(outcomes).toEqual([
        { outcome: "not_found", runId: null, status: null },
        { outcome: "closed", runId: closed.runId, status: "completed" },
        { outcome: "terminated", runId: b.run.runId, status: "terminated" },
        { outcome: "not_found", runId: null, status: null },
        { outcome: "terminated", runId: a.run.runId, status: "terminated" },
      ]);
    },

    "resume makes a parked run due, with its error and deaths forgotten": async (t) => {
      const runId = await crashLoop(t);
      await t.advance(5);
      const parked = await t.run(runId);
      expect(await t.resume(t.ref(runId))).toMatchObject({ status: "running" });
      expect(await t.run(runId)).toMatchObject({
        status: "running",
        epoch: parked.epoch + 1,
        availableAt: t.now,
        error: null,
        deaths: 0,
        aloneDeaths: 0,
        suspect: false,
        alone: false,
        heldBy: null,
      });
      expect((await t.claim(await t.worker())).runs).toHaveLength(1);
    },

    "a repeated resume changes nothing": async (t) => {
      const holder = await t.held();
      await holder.commit(park("odd"));
      await t.resume(t.ref(holder.runId));
      const before = await t.run(holder.runId);
      await t.advance(5);
      expect(await t.resume(t.ref(holder.runId))).toMatchObject({ status: "running" });
      expect(await t.run(holder.runId)).toEqual(before);
    },

    "resume of anything else leaves it alone and says what it is": async (t) => {
      const running = await t.held();
      const done = await t.held();
      await done.commit(end());
      const { run } = await t.start({ id: "a", startDelayMs: 1_000 });
      const before = await Promise.all([running.runId, done.runId, run.runId].map((runId) => t.run(runId)));
      expect(await t.resume(t.ref(running.runId))).toMatchObject({ status: "running" });
      expect(await t.resume(t.ref(done.runId))).toMatchObject({ status: "completed" });
      expect(await t.resume({ namespace: "default", id: "a" })).toMatchObject({ status: "pending" });
      expect(await t.resume(t.ref(t.newId()))).toMatchObject({ status: null });
      expect(await Promise.all(before.map(({ runId }) => t.run(runId)))).toEqual(before);
    },

    "the commit that parked a run is lost once it was resumed": async (t) => {
      const holder = await t.held();
      const commit = holder.draft(park("odd"));
      await holder.send(commit);
      expect(await holder.send(commit)).toMatchObject({ outcome: "written", held: false });
      await t.resume(t.ref(holder.runId));
      expect(await holder.send(commit)).toMatchObject({ outcome: "lost", held: false });
      expect(await t.run(holder.runId)).toMatchObject({ status: "running" });
    },

    "messages that came while a run was parked are there when it is claimed": async (t) => {
      const holder = await t.held();
      await holder.commit(park("odd"));
      await t.deliver(t.ref(holder.runId), { name: "late" });
      await t.resume(t.ref(holder.runId));
      expect((await t.claim(await t.worker())).messages).toMatchObject([{ name: "late", number: 1 }]);
    },

    "reopen makes a failed run go on": async (t) => {
      const holder = await failed(t, { id: "a", timeoutMs: 1_000 });
      await t.advance(400);
      expect(await reopen(t, holder)).toEqual({ outcome: "reopened", status: "running" });
      expect(await t.run(holder.runId)).toMatchObject({
        status: "running",
        epoch: holder.epoch + 1,
        commit: 1,
        eventCount: 3,
        availableAt: t.now,
        heldBy: null,
        endedAt: null,
        error: null,
        compensation: null,
        deaths: 0,
        deadlineAt: t.now + 1_000,
      });
      expect(await t.history(holder.runId)).toEqual([...someEvents(0, 2), { seq: 3, at: t.now, ...RETRIED }]);
      const next = await t.claimOne(await t.worker());
      expect(await next.commit(end(), { events: 1 })).toMatchObject({ outcome: "written" });
      expect(await t.run(holder.runId)).toMatchObject({ status: "completed", eventCount: 4 });
    },

    "each reopening gives a run its whole timeout again, and no more": async (t) => {
      const holder = await failed(t, { id: "a", timeoutMs: 1_000 });
      for (let events = 2; events < 8; events += 2) {
        await t.advance(400);
        expect(await reopen(t, holder, events)).toMatchObject({ outcome: "reopened" });
        const renewed = { deadlineAt: t.now + 1_000, timeoutMs: 1_000 };
        expect(await t.run(holder.runId)).toMatchObject(renewed);
        const workerId = await t.worker();
        const [claimed] = (await t.claim(workerId)).runs;
        expect(claimed).toMatchObject(renewed);
        const next = new Holder(t.store, workerId, claimed as Run);
        await next.commit(end({ status: "failed", output: null }), { events: 1 });
      }
    },

    "a deadline that no longer counts is not brought back by a reopening": async (t) => {
      const holder = await t.held({ id: "a", timeoutMs: 1_000 });
      await holder.commit(end({ status: "failed", output: null }), { events: 2, clearDeadline: true });
      await reopen(t, holder);
      expect(await t.run(holder.runId)).toMatchObject({ deadlineAt: null, timeoutMs: 1_000 });
    },

    "the event of a reopened run is never earlier than the one before": async (t) => {
      const holder = await t.held();
      await holder.commit(end({ status: "failed", output: null }), { events: someEvents(0, 1, t.now + 50) });
      await reopen(t, holder);
      expect((await t.history(holder.runId)).map((event) => event.at)).toEqual([t.now + 50, t.now + 50]);
    },

    "a repeated reopen counts as reopened and appends nothing": async (t) => {
      const holder = await failed(t);
      await reopen(t, holder);
      const before = await t.run(holder.runId);
      expect(await reopen(t, holder)).toEqual({ outcome: "reopened", status: "running" });
      expect(await t.run(holder.runId)).toEqual(before);
      expect(await t.history(holder.runId)).toHaveLength(3);
    },

    "reopen refuses what has not failed, or has other events": async (t) => {
      const failedRun = await failed(t);
      expect(await reopen(t, failedRun, 1)).toEqual({ outcome: "not_failed", status: "failed" });
      expect(await reopen(t, failedRun, 3)).toEqual({ outcome: "not_failed", status: "failed" });
      const done = await t.held();
      await done.commit(end(), { events: 2 });
      expect(await reopen(t, done)).toEqual({ outcome: "not_failed", status: "completed" });
      const open = await t.held();
      await open.commit(HOLD, { events: 2 });
      expect(await reopen(t, open)).toEqual({ outcome: "not_failed", status: "running" });
      expect(await t.store.runs.reopenIfFailed({ run: t.ref(t.newId()), eventCount: 0, event: RETRIED })).toEqual({
        outcome: "not_found",
        status: null,
      });
      expect(await t.history(failedRun.runId)).toHaveLength(2);
      expect(await t.run(failedRun.runId)).toMatchObject({ status: "failed", epoch: failedRun.epoch });
    },

    "reopen refuses a run whose id has a newer run": async (t) => {
      const holder = await failed(t, { id: "a" });
      const { run } = await t.start({ id: "a" }, { ifClosed: "start" });
      expect(await reopen(t, holder)).toEqual({ outcome: "superseded", status: "failed" });
      await t.store.runs.terminate({ runs: [t.ref(run.runId)], error: STOPPED });
      expect(await reopen(t, holder)).toEqual({ outcome: "superseded", status: "failed" });
    },

    "a reopened run is open: its id is taken, its deadline counts, messages reach it": async (t) => {
      const holder = await failed(t, { id: "a", timeoutMs: 1_000 });
      await t.deliver(t.ref(holder.runId), { messageId: "refused" });
      await reopen(t, holder);
      expect(await t.start({ id: "a" }, { ifClosed: "start" })).toMatchObject({ outcome: "exists" });
      expect(await t.deliver(t.ref(holder.runId), { messageId: "refused" })).toMatchObject({
        outcome: "delivered",
      });
      expect(await t.run(holder.runId)).toMatchObject({ deadlineAt: t.now + 1_000 });
    },
  },
};

async function failed(t: Fixture, fields: Parameters<Fixture["held"]>[0] = {}): Promise<Holder> {
  const holder = await t.held(fields);
  const error = errorRecord("no luck");
  await holder.commit(end({ status: "failed", output: null, error, compensation: "compensated" }), { events: 2 });
  return holder;
}

function reopen(t: Fixture, holder: Holder, eventCount: number = holder.eventCount) {
  return t.store.runs.reopenIfFailed({ run: t.ref(holder.runId), eventCount, event: RETRIED });
}

/** A run that is parked because its workers died. */
async function crashLoop(t: Fixture): Promise<string> {
  const { run } = await t.start();
  for (const solo of [false, true]) {
    await t.claim(await t.worker(), { solo });
    await t.advance(LEASE_MS);
    await t.sweep({ suspectAfter: 1, parkAfter: 1 });
  }
  return run.runId;
}
