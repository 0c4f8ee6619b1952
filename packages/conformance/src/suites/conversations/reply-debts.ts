import { expect } from "vitest";
import type { Fixture } from "../../fixture.ts";
import type { Holder } from "../../holder.ts";
import { end, errorRecord, HOLD } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";

const NO = errorRecord("no");

/** What a run owes to the ops of other runs that have sent it updates. */
export const replyDebts: Suite = {
  noun: "reply debts",
  cases: {
    "an answer to an update from another run is owed to it, with the event that has it": async (t) => {
      const { sender, run } = await pair(t, "u");
      expect((await run.commit(HOLD, { consumed: 1, replies: [{ number: 1 }] })).owes).toBeUndefined();
      expect(await run.commit(HOLD, { events: 1, replies: [{ number: 1, seq: 1 }] })).toMatchObject({ owes: true });
      const { id } = await t.run(run.runId);
      const [event] = await t.history(run.runId);
      expect(await t.talks.replyOf(run)).toEqual({
        debtNo: expect.any(Number),
        namespace: "default",
        runId: run.runId,
        id,
        kind: "reply",
        status: "running",
        replies: [
          { messageId: "u", name: "add", to: t.talks.op(sender, "ask#1"), stage: "answered", event, error: null },
        ],
      });
    },

    "a refusal is owed with its error": async (t) => {
      const { run } = await pair(t, "u");
      await run.commit(HOLD, { consumed: 1, replies: [{ number: 1, error: NO }] });
      expect((await t.talks.replyOf(run)).replies).toMatchObject([{ stage: "answered", event: null, error: NO }]);
    },

    "an answer reaches the op that has asked once it is paid, and is used up": async (t) => {
      const { sender, run } = await pair(t, "u");
      await answered(run, 1);
      await t.talks.payAll();
      expect(await t.talks.debts()).toEqual([]);
      expect(await t.inbox(sender.runId)).toMatchObject([{ kind: "reply_completed", name: "ask#1" }]);
      await sender.commit(HOLD, { events: 1, consumed: 1, results: [1] });
      expect(await t.inbox(sender.runId)).toEqual([]);
      expect(await t.talks.reply(t.ref(run.runId), "u")).toMatchObject({ stage: "answered", event: { seq: 1 } });
    },

    "an update that no run has sent is owed to nobody": async (t) => {
      const run = await t.held();
      await t.talks.update(t.ref(run.runId), "u");
      expect((await answered(run, 1)).owes).toBeUndefined();
      expect((await run.commit(end())).owes).toBeUndefined();
      expect(await t.talks.debts()).toEqual([]);
    },

    "a commit with an answer that is repeated owes it once": async (t) => {
      const { run } = await pair(t, "u");
      const draft = run.draft(HOLD, { events: 1, consumed: 1, replies: [{ number: 1, seq: 1 }] });
      await run.send(draft);
      const debt = await t.talks.replyOf(run);
      expect(await run.send(draft)).toMatchObject({ outcome: "written", owes: true });
      expect(await t.talks.replyOf(run)).toEqual(debt);
      expect(await t.talks.pay(debt)).toBe(1);
      expect((await run.send(draft)).owes).toBeUndefined();
      expect(await t.talks.pay(debt)).toBe(0);
    },

    "answers that were told are not listed again, and the debt goes with the last": async (t) => {
      const { sender, run } = await pair(t, "a");
      await ask(t, sender, run, "b");
      await run.commit(HOLD, {
        events: 2,
        consumed: 2,
        replies: [
          { number: 1, seq: 1 },
          { number: 2, seq: 2 },
        ],
      });
      const debt = await t.talks.replyOf(run);
      expect(await t.talks.pay(debt, { replies: ["a", "nothing"] })).toBe(1);
      expect((await t.talks.replyOf(run)).replies).toMatchObject([{ messageId: "b" }]);
      expect(await t.talks.pay(debt, { replies: ["b"] })).toBe(1);
      expect(await t.talks.debts()).toEqual([]);
      expect((await run.commit(end())).owes).toBeUndefined();
    },

    "every end owes a reply to those whose updates were not answered": async (t) => {
      for (const how of ["commit", "terminate"] as const) {
        const { sender, run } = await pair(t, "read");
        await ask(t, sender, run, "unread");
        await run.commit(HOLD, { events: 1, consumed: 1, replies: [{ number: 1 }] });
        if (how === "commit") expect(await run.commit(end({ status: "failed" }))).toMatchObject({ owes: true });
        else
          expect(await t.store.runs.terminate({ runs: [t.ref(run.runId)], error: NO })).toMatchObject([{ owes: true }]);
        const { status, replies } = await t.talks.replyOf(run);
        expect(status).toBe(how === "commit" ? "failed" : "terminated");
        expect(replies).toMatchObject([
          { messageId: "read", stage: "accepted", event: null, error: null },
          { messageId: "unread", stage: "unread", event: null, error: null },
        ]);
      }
    },

    "a run that continues owes replies for what it had accepted, and hands on the rest": async (t) => {
      const { sender, run } = await pair(t, "accepted", "x");
      await ask(t, sender, run, "unread");
      await run.commit(HOLD, { events: 1, consumed: 1, replies: [{ number: 1 }] });
      const next = t.newRun({ id: "x" });
      expect(await run.commit({ type: "continue", next, carried: [] })).toMatchObject({ owes: true });
      const debt = await t.talks.replyOf(run);
      expect(debt).toMatchObject({ status: "continued", replies: [{ messageId: "accepted", stage: "accepted" }] });
      expect(debt.replies).toHaveLength(1);
      await t.talks.pay(debt);
      const successor = await t.claimOne(await t.worker());
      expect(await answered(successor, 1)).toMatchObject({ owes: true });
      expect((await t.talks.replyOf(successor)).replies).toMatchObject([{ messageId: "unread", stage: "answered" }]);
    },

    "a run that is retried before anybody was told owes nothing, until it answers": async (t) => {
      const { run } = await pair(t, "u");
      await run.commit(HOLD, { events: 1, consumed: 1, replies: [{ number: 1 }] });
      await run.commit(end({ status: "failed", output: null }));
      const event = { type: "run_retried", op: null, meta: { forgets: [] } } as const;
      await t.store.runs.reopenIfFailed({ run: t.ref(run.runId), eventCount: 1, event });
      const debt = await t.talks.replyOf(run);
      expect(debt.replies).toEqual([]);
      expect(await t.talks.pay(debt)).toBe(1);
      const again = await t.claimOne(await t.worker());
      expect(await again.commit(HOLD, { events: 1, replies: [{ number: 1, seq: 3 }] })).toMatchObject({ owes: true });
      expect((await t.talks.replyOf(run)).replies).toMatchObject([{ messageId: "u", stage: "answered" }]);
    },

    "a purge leaves a run alone until its answers are told": async (t) => {
      const { run } = await pair(t, "u");
      await run.commit(end(), { events: 1, consumed: 1, replies: [{ number: 1, seq: 1 }] });
      await t.advance(10);
      const purge = () => t.store.runs.purge({ namespace: "default", endedBefore: t.now, limit: 10 });
      expect(await purge()).toMatchObject({ purged: 0, more: false });
      await t.talks.payAll();
      expect(await purge()).toMatchObject({ purged: 1, more: false });
    },
  },
};

/** A run that sends updates, and one that has one of it. Both are held. */
async function pair(t: Fixture, messageId: string, id?: string): Promise<{ sender: Holder; run: Holder }> {
  const sender = await t.held();
  const run = await t.held(id === undefined ? {} : { id });
  await ask(t, sender, run, messageId);
  return { sender, run };
}

async function ask(t: Fixture, sender: Holder, run: Holder, messageId: string): Promise<void> {
  await t.talks.update(t.ref(run.runId), messageId, { replyTo: t.talks.op(sender, "ask#1") });
}

/** Consumes an update, and answers it with the event of this commit. */
function answered(run: Holder, number: number) {
  return run.commit(HOLD, { events: 1, consumed: number, replies: [{ number, seq: run.eventCount + 1 }] });
}
