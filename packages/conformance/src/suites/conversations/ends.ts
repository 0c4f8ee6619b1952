import type { MessageKind } from "holdfast/adapter";
import { expect } from "vitest";
import { bytes, end, HOLD, park, suspend } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";

const KINDS: readonly MessageKind[] = ["child_completed", "child_failed", "watch_completed", "watch_failed"];

/** Messages that tell a run of the end of another one. */
export const ends: Suite = {
  noun: "ends of others",
  cases: {
    "the end of another run arrives as it was sent, and wakes the run": async (t) => {
      for (const kind of KINDS) {
        const run = await t.held();
        await run.commit(suspend(null));
        const fields = { kind, name: "ship#1", messageId: "\tend\tx", payload: bytes(kind) };
        expect(await t.deliver(t.ref(run.runId), fields)).toMatchObject({ outcome: "delivered", runId: run.runId });
        expect(await t.inbox(run.runId)).toMatchObject([{ number: 1, ...fields }]);
        const { runs, messages } = await t.claim(await t.worker());
        expect(runs.map(({ runId }) => runId)).toEqual([run.runId]);
        expect(messages).toMatchObject([fields]);
      }
    },

    "it goes to exactly the run that is named, and not to its successor": async (t) => {
      for (const kind of KINDS) {
        const run = await t.held({ id: kind });
        const next = t.newRun({ id: kind });
        await run.commit({ type: "continue", next, carried: [] });
        const outcome = await t.deliver(t.ref(run.runId), { kind, name: "ship#1" });
        expect(outcome).toEqual({ outcome: "closed", runId: run.runId, status: "continued" });
        expect(await t.run(next.runId)).toMatchObject({ delivered: 0 });
        expect(await t.inbox(next.runId)).toEqual([]);
      }
    },

    "a closed run does not get it, and one that does not exist is not found": async (t) => {
      const run = await t.held();
      await run.commit(end());
      expect(await t.deliver(t.ref(run.runId), { kind: "child_failed" })).toMatchObject({ outcome: "closed" });
      expect(await t.deliver(t.ref(t.newId()), { kind: "child_failed" })).toMatchObject({ outcome: "not_found" });
    },

    "it is never too much for an inbox, and its id is not remembered": async (t) => {
      const run = await t.held();
      for (const kind of KINDS)
        expect(await t.deliver(t.ref(run.runId), { kind, messageId: "same" }, 1)).toMatchObject({
          outcome: "delivered",
        });
      expect(await t.inbox(run.runId)).toHaveLength(4);
      expect(await t.deliver(t.ref(run.runId), {}, 1)).toMatchObject({ outcome: "full" });
      expect(await t.deliver(t.ref(run.runId), { messageId: "same" })).toMatchObject({ outcome: "delivered" });
    },

    "the commit that consumes it deletes it, and no other": async (t) => {
      const run = await t.held();
      await t.deliver(t.ref(run.runId), { name: "before" });
      for (const kind of KINDS) await t.deliver(t.ref(run.runId), { kind, name: "ship#1" });
      await run.commit(HOLD, { events: 1, consumed: 4, results: [2, 3] });
      expect((await t.inbox(run.runId)).map(({ number }) => number)).toEqual([1, 4, 5]);
      expect(await t.run(run.runId)).toMatchObject({ delivered: 5, consumed: 4 });
      await t.deliver(t.ref(run.runId), { name: "after" });
      expect((await t.inbox(run.runId, 4)).map(({ number }) => number)).toEqual([5, 6]);
    },

    "unread ones do not follow a run that continues": async (t) => {
      const run = await t.held({ id: "x" });
      for (const kind of KINDS) await t.deliver(t.ref(run.runId), { kind });
      await t.deliver(t.ref(run.runId), { name: "paid" });
      const next = t.newRun({ id: "x" });
      await run.commit({ type: "continue", next, carried: [] });
      expect((await t.inbox(next.runId)).map(({ number, name }) => [number, name])).toEqual([[1, "paid"]]);
    },

    "it holds back an end that would miss it, and leaves a parked run alone": async (t) => {
      const run = await t.held();
      await t.deliver(t.ref(run.runId), { kind: "child_completed" });
      expect(await run.commit(end({ unlessBehind: true }))).toMatchObject({ outcome: "behind", delivered: 1 });
      expect(await run.commit(suspend(null))).toMatchObject({ outcome: "written", held: true });
      await run.commit(park("diverged"), { consumed: 1 });
      await t.deliver(t.ref(run.runId), { kind: "child_completed" });
      expect(await t.run(run.runId)).toMatchObject({ status: "parked", availableAt: null, delivered: 2 });
    },
  },
};
