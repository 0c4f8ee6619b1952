import { expect } from "vitest";
import type { Holder } from "../../holder.ts";
import { bytes, end, errorRecord, HOLD, suspend } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";

const UNKNOWN = { runId: null, status: null, name: null, stage: null, event: null, error: null };
const NO = errorRecord("no");

/** Updates: requests that a run answers, once. */
export const replies: Suite = {
  noun: "replies",
  cases: {
    "an update is unread, then accepted, then answered by an event": async (t) => {
      const run = await t.held();
      const ref = t.ref(run.runId);
      expect(await t.talks.update(ref, "u", { payload: bytes("3") })).toMatchObject({ outcome: "delivered" });
      expect(await t.inbox(run.runId)).toMatchObject([{ kind: "update", name: "add", messageId: "u" }]);
      const state = { runId: run.runId, status: "running", name: "add", event: null, error: null };
      expect(await t.talks.reply(ref, "u")).toEqual({ ...state, stage: "unread" });
      await run.commit(HOLD, { events: 1, consumed: 1, replies: [{ number: 1 }] });
      expect(await t.talks.reply(ref, "u")).toEqual({ ...state, stage: "accepted" });
      await answer(run, 1);
      const event = (await t.history(run.runId))[1];
      expect(event).toMatchObject({ seq: 2 });
      expect(await t.talks.reply(ref, "u")).toEqual({ ...state, stage: "answered", event });
    },

    "an update may be answered in the commit that reads it, by an event or an error": async (t) => {
      const run = await t.held({ id: "x" });
      for (const messageId of ["a", "b"]) await t.talks.update(t.ref(run.runId), messageId);
      await run.commit(HOLD, {
        events: 3,
        consumed: 2,
        replies: [
          { number: 2, error: NO },
          { number: 1, seq: 2 },
        ],
      });
      const updates = ["b", "a", "c"].map((messageId) => ({ run: { namespace: "default", id: "x" }, messageId }));
      const found = await t.store.inbox.replies({ updates });
      expect(found).toMatchObject([
        { stage: "answered", event: null, error: NO },
        { stage: "answered", event: { seq: 2, payload: bytes('"result 2"') }, error: null },
        UNKNOWN,
      ]);
    },

    "an update may be answered by an event of an earlier commit": async (t) => {
      const run = await t.held();
      await run.commit(HOLD, { events: 2 });
      await t.talks.update(t.ref(run.runId), "u");
      await run.commit(HOLD, { consumed: 1, replies: [{ number: 1, seq: 1 }] });
      expect(await t.talks.reply(t.ref(run.runId), "u")).toMatchObject({ stage: "answered", event: { seq: 1 } });
    },

    "an answer never changes": async (t) => {
      const run = await t.held();
      const ref = t.ref(run.runId);
      await t.talks.update(ref, "u");
      await run.commit(HOLD, { events: 2, consumed: 1, replies: [{ number: 1, seq: 1 }] });
      const first = await t.talks.reply(ref, "u");
      await run.commit(HOLD, { events: 1, replies: [{ number: 1, seq: 3 }] });
      await run.commit(HOLD, { replies: [{ number: 1, error: NO }] });
      await run.commit(HOLD, { replies: [{ number: 1 }] });
      expect(await t.talks.reply(ref, "u")).toEqual(first);
      await t.talks.update(ref, "v");
      await run.commit(HOLD, { consumed: 2, replies: [{ number: 2, error: NO }] });
      await run.commit(HOLD, { replies: [{ number: 2, seq: 3 }] });
      expect(await t.talks.reply(ref, "v")).toMatchObject({ stage: "answered", event: null, error: NO });
    },

    "the same update sent twice is one, also when it was answered": async (t) => {
      const run = await t.held();
      const ref = t.ref(run.runId);
      await t.talks.update(ref, "u");
      expect(await t.talks.update(ref, "u")).toMatchObject({ outcome: "duplicate" });
      await run.commit(HOLD, { events: 1, consumed: 1, replies: [{ number: 1, seq: 1 }] });
      expect(await t.talks.update(ref, "u")).toMatchObject({ outcome: "duplicate" });
      expect(await t.run(run.runId)).toMatchObject({ delivered: 1 });
      await run.commit(end());
      expect(await t.talks.update(ref, "u")).toMatchObject({ outcome: "duplicate" });
      expect(await t.talks.update(ref, "v")).toMatchObject({ outcome: "closed" });
      expect(await t.talks.reply(ref, "u")).toMatchObject({ status: "completed", stage: "answered" });
      expect(await t.talks.reply(ref, "v")).toEqual(UNKNOWN);
    },

    "an update keeps its name, whatever is sent under its id, in the successor of its run and after the end": async (
      t,
    ) => {
      const run = await t.held({ id: "x" });
      const first = t.ref(run.runId);
      await t.deliver(first, { kind: "update", name: "add", messageId: "u" });
      for (const again of ["take", "add"])
        expect(await t.deliver(first, { kind: "update", name: again, messageId: "u" })).toMatchObject({
          outcome: "duplicate",
        });
      const next = t.newRun({ id: "x" });
      await run.commit({ type: "continue", next, carried: [] });
      expect(await t.deliver(first, { kind: "update", name: "take", messageId: "u" })).toMatchObject({
        outcome: "duplicate",
      });
      expect(await t.talks.reply(first, "u")).toMatchObject({ runId: next.runId, name: "add" });
      const successor = await t.claimOne(await t.worker());
      await successor.commit(end(), { events: 1, consumed: 1, replies: [{ number: 1, seq: 1 }] });
      expect(await t.deliver(first, { kind: "update", name: "take", messageId: "u" })).toMatchObject({
        outcome: "duplicate",
      });
      expect(await t.talks.reply(first, "u")).toMatchObject({ name: "add", stage: "answered" });
    },

    "a commit that is repeated answers once, and one that is lost not at all": async (t) => {
      const run = await t.held();
      const ref = t.ref(run.runId);
      for (const messageId of ["a", "b"]) await t.talks.update(ref, messageId);
      const draft = run.draft(HOLD, { events: 1, consumed: 1, replies: [{ number: 1, seq: 1 }] });
      await run.send(draft);
      expect(await run.send(draft)).toMatchObject({ outcome: "written" });
      const lost = { ...run.draft(HOLD, { consumed: 2, replies: [{ number: 2, error: NO }] }), epoch: 7 };
      expect(await run.send(lost)).toMatchObject({ outcome: "lost" });
      expect(await t.talks.reply(ref, "a")).toMatchObject({ stage: "answered", event: { seq: 1 } });
      expect(await t.talks.reply(ref, "b")).toMatchObject({ stage: "unread" });
    },

    "only updates have answers, under their own ids, in their own runs": async (t) => {
      const [run, other] = [await t.held({ id: "x" }), await t.held()];
      await t.deliver(t.ref(run.runId), { messageId: "signal" });
      await t.talks.update(t.ref(run.runId), "u");
      expect(await t.talks.reply(t.ref(run.runId), "signal")).toEqual(UNKNOWN);
      expect(await t.talks.reply(t.ref(run.runId), "U")).toEqual(UNKNOWN);
      expect(await t.talks.reply(t.ref(other.runId), "u")).toEqual(UNKNOWN);
      expect(await t.talks.reply(t.ref(t.newId()), "u")).toEqual(UNKNOWN);
      expect(await t.talks.reply({ namespace: "other", runId: run.runId }, "u")).toEqual(UNKNOWN);
      expect(await t.talks.reply({ namespace: "other", id: "x" }, "u")).toEqual(UNKNOWN);
    },

    "a run that has ended without an answer says so by its status": async (t) => {
      const run = await t.held();
      for (const messageId of ["read", "unread"]) await t.talks.update(t.ref(run.runId), messageId);
      await run.commit(HOLD, { events: 1, consumed: 1, replies: [{ number: 1 }] });
      await t.store.runs.terminate({ runs: [t.ref(run.runId)], error: NO });
      const state = async (messageId: string) => t.talks.reply(t.ref(run.runId), messageId);
      expect(await state("read")).toMatchObject({ status: "terminated", stage: "accepted" });
      expect(await state("unread")).toMatchObject({ status: "terminated", stage: "unread" });
    },

    "unread updates go to the successor of their run, and are answered there": async (t) => {
      const run = await t.held({ id: "x" });
      const first = t.ref(run.runId);
      for (const messageId of ["answered", "accepted", "unread"]) await t.talks.update(first, messageId);
      await run.commit(HOLD, { events: 2, consumed: 2, replies: [{ number: 1, seq: 1 }] });
      const next = t.newRun({ id: "x" });
      await run.commit({ type: "continue", next, carried: [] });
      expect(await t.inbox(next.runId)).toMatchObject([{ number: 1, kind: "update", messageId: "unread" }]);
      expect(await t.talks.update(first, "unread")).toMatchObject({ outcome: "duplicate" });
      const successor = await t.claimOne(await t.worker());
      for (const ref of [first, t.ref(next.runId), { namespace: "default", id: "x" }]) {
        const kept = { runId: run.runId, status: "continued" };
        expect(await t.talks.reply(ref, "answered")).toMatchObject({ ...kept, stage: "answered", event: { seq: 1 } });
        expect(await t.talks.reply(ref, "accepted")).toMatchObject({ ...kept, stage: "accepted" });
        expect(await t.talks.reply(ref, "unread")).toMatchObject({ runId: next.runId, stage: "unread" });
      }
      await successor.commit(HOLD, { events: 1, consumed: 1, replies: [{ number: 1, seq: 1 }] });
      const event = (await t.history(next.runId))[0];
      expect(await t.talks.reply(first, "unread")).toMatchObject({ runId: next.runId, stage: "answered", event });
    },

    "an answer stays until its run is purged": async (t) => {
      const run = await t.held();
      await t.talks.update(t.ref(run.runId), "u");
      await run.commit(end(), { events: 1, consumed: 1, replies: [{ number: 1, seq: 1 }] });
      expect(await t.talks.reply(t.ref(run.runId), "u")).toMatchObject({ status: "completed", stage: "answered" });
      await t.advance(10);
      await t.store.runs.purge({ namespace: "default", endedBefore: t.now, limit: 10 });
      expect(await t.talks.reply(t.ref(run.runId), "u")).toEqual(UNKNOWN);
    },

    "the answers of a run stay when the runs that continue it are purged, but not what it handed on to them": async (
      t,
    ) => {
      const run = await t.held({ id: "x" });
      const first = t.ref(run.runId);
      for (const messageId of ["answered", "refused", "accepted", "unread"]) await t.talks.update(first, messageId);
      const replies = [{ number: 1, seq: 1 }, { number: 2, error: NO }, { number: 3 }];
      await run.commit(HOLD, { events: 2, consumed: 3, replies });
      const next = t.newRun({ id: "x" });
      await run.commit({ type: "continue", next, carried: [] });
      const successor = await t.claimOne(await t.worker());
      await successor.commit(end(), { events: 1, consumed: 1, replies: [{ number: 1, seq: 1 }] });
      await t.advance(10);
      const purged = { namespace: "default", endedBefore: t.now, statuses: ["completed" as const], limit: 10 };
      expect(await t.store.runs.purge(purged)).toMatchObject({ purged: 1 });
      for (const ref of [first, { namespace: "default", id: "x" }]) {
        const kept = { runId: run.runId, status: "continued" };
        expect(await t.talks.reply(ref, "answered")).toMatchObject({ ...kept, stage: "answered", event: { seq: 1 } });
        expect(await t.talks.reply(ref, "refused")).toMatchObject({ ...kept, stage: "answered", error: NO });
        expect(await t.talks.reply(ref, "accepted")).toMatchObject({ ...kept, stage: "accepted" });
        expect(await t.talks.reply(ref, "unread")).toEqual(UNKNOWN);
        for (const messageId of ["answered", "unread", "new"])
          expect(await t.talks.update(ref, messageId)).toMatchObject({ outcome: "not_found" });
      }
      expect(await t.talks.reply(t.ref(next.runId), "answered")).toEqual(UNKNOWN);
    },

    "an update that moved twice is found where it is, also when the run that handed it on is purged": async (t) => {
      const run = await t.held({ id: "x" });
      const first = t.ref(run.runId);
      await t.talks.update(first, "u");
      let holder = run;
      for (let i = 0; i < 2; i++) {
        await holder.commit({ type: "continue", next: t.newRun({ id: "x" }), carried: [] });
        holder = await t.claimOne(await t.worker());
        expect(await t.talks.reply(first, "u")).toMatchObject({ runId: holder.runId, stage: "unread" });
      }
      await t.advance(10);
      const purged = { namespace: "default", endedBefore: t.now, limit: 1 };
      expect(await t.store.runs.purge(purged)).toMatchObject({ purged: 1 });
      const last = t.ref(holder.runId);
      expect(await t.talks.reply(last, "u")).toMatchObject({ runId: holder.runId, stage: "unread" });
      await holder.commit(HOLD, { events: 1, consumed: 1, replies: [{ number: 1, seq: 1 }] });
      expect(await t.talks.reply(last, "u")).toMatchObject({ runId: holder.runId, stage: "answered" });
    },

    "a later run of the same id knows nothing of the updates of the one before": async (t) => {
      const run = await t.held({ id: "x" });
      await t.talks.update(t.ref(run.runId), "u");
      await run.commit(end(), { events: 1, consumed: 1, replies: [{ number: 1, seq: 1 }] });
      await t.start({ id: "x" }, { ifClosed: "start" });
      expect(await t.talks.reply({ namespace: "default", id: "x" }, "u")).toEqual(UNKNOWN);
      expect(await t.talks.reply(t.ref(run.runId), "u")).toMatchObject({ stage: "answered" });
      expect(await t.talks.update({ namespace: "default", id: "x" }, "u")).toMatchObject({ outcome: "delivered" });
    },

    "updates wake a run, wait for its start time, and fill an inbox as signals do": async (t) => {
      const run = await t.held();
      await run.commit(suspend(null));
      const replyTo = { namespace: "default", runId: t.newId(), op: "update#1" };
      expect(await t.deliver(t.ref(run.runId), { kind: "update", replyTo }, 1)).toMatchObject({ outcome: "delivered" });
      expect(await t.deliver(t.ref(run.runId), { kind: "update" }, 1)).toMatchObject({ outcome: "full" });
      expect(await t.run(run.runId)).toMatchObject({ availableAt: t.now, delivered: 1 });
      const { run: later } = await t.start({ startDelayMs: 500 });
      await t.talks.update(t.ref(later.runId), "early");
      expect(await t.run(later.runId)).toMatchObject({ availableAt: t.now + 500, delivered: 1 });
    },
  },
};

/** Answers a message with the event of this commit. */
function answer(run: Holder, number: number) {
  return run.commit(HOLD, { events: 1, replies: [{ number, seq: run.eventCount + 1 }] });
}
