import type { CarriedMessage, NewRun, StartOutcome, StartRun } from "holdfast/adapter";
import { expect } from "vitest";
import { aStart, type Fixture, REPLACED } from "../../fixture.ts";
import { bytes, end, HOLD } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";

/** Starts that bring messages along: the run and its messages are there together, or not at all. */
export const startMessages: Suite = {
  noun: "start messages",
  cases: {
    "a new run has its messages from the beginning, in order": async (t) => {
      const messages = [signal("a"), { ...signal("b"), kind: "update", name: "add" } as const];
      const started = await startWith(t, messages, { id: "x" });
      expect(started).toMatchObject({
        outcome: "created",
        messages: ["delivered", "delivered"],
        run: { delivered: 2 },
      });
      const { runId } = started.run;
      expect(await t.inbox(runId)).toMatchObject([
        { number: 1, ...messages[0] },
        { number: 2, ...messages[1] },
      ]);
      const claimed = await t.claim(await t.worker());
      expect(claimed.messages.map(({ messageId }) => messageId)).toEqual(["a", "b"]);
      expect(await t.talks.reply(t.ref(runId), "b")).toMatchObject({ runId, stage: "unread" });
      expect(await t.deliver(t.ref(runId), { messageId: "a" })).toMatchObject({ outcome: "duplicate" });
    },

    "a run that is held from its start has its messages": async (t) => {
      const holdBy = { workerId: await t.worker(), claimId: t.newId() };
      const started = await startWith(t, [signal("a")], {}, { hold: true }, holdBy);
      expect(started.run).toMatchObject({ heldBy: holdBy.workerId, delivered: 1, consumed: 0 });
      expect(await t.inbox(started.run.runId)).toHaveLength(1);
    },

    "a start that says nothing of messages is answered without them": async (t) => {
      expect((await t.start()).messages).toBeUndefined();
      expect((await startWith(t, [], {})).messages ?? []).toEqual([]);
    },

    "an open run gets the messages, and is woken": async (t) => {
      const run = await t.held({ id: "x" });
      await run.commit({ type: "suspend", status: "waiting", availableAt: null, waitingFor: [] });
      const found = await startWith(t, [signal("a")], { id: "x" }, { ifRunning: "return" });
      expect(found).toMatchObject({ outcome: "returned", messages: ["delivered"], run: { runId: run.runId } });
      expect(found.run.delivered).toBe(1);
      expect(await t.run(run.runId)).toMatchObject({ delivered: 1, availableAt: t.now });
      const again = await startWith(t, [signal("a")], { id: "x" }, { ifRunning: "return" });
      expect(again).toMatchObject({ outcome: "returned", messages: ["duplicate"] });
      expect(await t.inbox(run.runId)).toHaveLength(1);
    },

    "a run that is not to be there gets nothing": async (t) => {
      const run = await t.held({ id: "x" });
      const found = await startWith(t, [signal("a")], { id: "x" }, { ifRunning: "fail" });
      expect(found).toMatchObject({ outcome: "exists", run: { runId: run.runId } });
      expect(found.messages).toBeUndefined();
      expect(await t.run(run.runId)).toMatchObject({ delivered: 0 });
    },

    "a closed run that is returned gets nothing": async (t) => {
      const run = await t.held({ id: "x" });
      await run.commit(end());
      const found = await startWith(t, [signal("a")], { id: "x" }, { ifClosed: "return" });
      expect(found).toMatchObject({ outcome: "returned", messages: ["closed"], run: { status: "completed" } });
      expect(await t.run(run.runId)).toMatchObject({ delivered: 0 });
    },

    "a start that is repeated under its run id delivers nothing twice": async (t) => {
      const start = aStart(t.newRun(), { messages: [signal("a"), signal("b")] });
      const params = { starts: [start], holdBy: null, replaceError: REPLACED, inboxMax: 10 };
      await t.store.runs.start(params);
      const { outcomes } = await t.store.runs.start(params);
      expect(outcomes).toMatchObject([{ outcome: "created", messages: ["duplicate", "duplicate"] }]);
      expect(await t.run(start.run.runId)).toMatchObject({ delivered: 2 });
    },

    "a start whose first message has come before starts and ends nothing, whatever it asks for": async (t) => {
      const policies: readonly Partial<StartRun>[] = [{ ifRunning: "replace" }, { ifRunning: "fail" }, {}];
      for (const [i, policy] of policies.entries()) {
        const id = `open ${i}`;
        const run = await t.held({ id });
        await t.deliver(t.ref(run.runId), { messageId: "a" });
        const found = await startWith(t, [signal("a"), signal("b")], { id }, policy);
        expect(found).toMatchObject({ outcome: "returned", run: { runId: run.runId, status: "running" } });
        expect(found.messages).toEqual(["duplicate", "delivered"]);
      }
      const over = await t.held({ id: "over" });
      await t.deliver(t.ref(over.runId), { messageId: "a" });
      await over.commit(end(), { consumed: 1 });
      const found = await startWith(t, [signal("a")], { id: "over" }, { ifClosed: "start" });
      expect(found).toMatchObject({ outcome: "returned", messages: ["duplicate"], run: { runId: over.runId } });
      expect(await startWith(t, [signal("b")], { id: "over" }, { ifClosed: "start" })).toMatchObject({
        outcome: "created",
        messages: ["delivered"],
      });
    },

    "a message that a run has left unread at its end does not count: it comes with a new run": async (t) => {
      const ends: readonly ((run: Awaited<ReturnType<typeof t.held>>) => Promise<unknown>)[] = [
        (run) => run.commit(end(), { consumed: 1 }),
        (run) => t.store.runs.terminate({ runs: [t.ref(run.runId)], error: REPLACED }),
      ];
      for (const [i, close] of ends.entries()) {
        const id = `over ${i}`;
        const over = await t.held({ id });
        await t.deliver(t.ref(over.runId), { messageId: "read" });
        await t.deliver(t.ref(over.runId), { messageId: "unread" });
        await close(over);
        const kept = await startWith(t, [signal("unread")], { id }, { ifClosed: "return" });
        expect(kept).toMatchObject({ outcome: "returned", messages: ["duplicate"], run: { runId: over.runId } });
        const started = await startWith(t, [signal("unread")], { id }, { ifClosed: "start" });
        expect(started).toMatchObject({ outcome: "created", messages: ["delivered"], run: { delivered: 1 } });
        const again = await startWith(t, [signal("unread")], { id }, { ifClosed: "start", ifRunning: "fail" });
        expect(again).toMatchObject({
          outcome: "returned",
          messages: ["duplicate"],
          run: { runId: started.run.runId },
        });
      }
    },

    "a message that has come to a run before it continued counts": async (t) => {
      const run = await t.held({ id: "x" });
      await t.deliver(t.ref(run.runId), { messageId: "a" });
      const next = t.newRun({ id: "x" });
      await run.commit({ type: "continue", next, carried: [] }, { consumed: 1 });
      const found = await startWith(t, [signal("a")], { id: "x" }, { ifRunning: "replace" });
      expect(found).toMatchObject({ outcome: "returned", messages: ["duplicate"], run: { runId: next.runId } });
    },

    "a message that was for an earlier run of the id does not count": async (t) => {
      const run = await t.held({ id: "x" });
      await t.deliver(t.ref(run.runId), { messageId: "a" });
      await run.commit(end(), { consumed: 1 });
      await t.start({ id: "x" }, { ifClosed: "start" });
      const found = await startWith(t, [signal("a")], { id: "x" }, { ifRunning: "return" });
      expect(found).toMatchObject({ outcome: "returned", messages: ["delivered"] });
    },

    "a run that is replaced leaves the messages to the new one": async (t) => {
      const run = await t.held({ id: "x" });
      const started = await startWith(t, [signal("a")], { id: "x" }, { ifRunning: "replace" });
      expect(started).toMatchObject({ outcome: "created", messages: ["delivered"] });
      expect(await t.run(run.runId)).toMatchObject({ status: "terminated", delivered: 0 });
      expect(await t.inbox(started.run.runId)).toHaveLength(1);
    },

    "a full inbox takes no more, of an open run or a new one": async (t) => {
      const run = await t.held({ id: "x" });
      await t.deliver(t.ref(run.runId));
      const three = [signal("a"), { ...signal("b"), kind: "cancel", name: "" } as const, signal("c")];
      const found = await startWith(t, three, { id: "x" }, { ifRunning: "return" }, null, 2);
      expect(found.messages).toEqual(["delivered", "delivered", "full"]);
      const fresh = await startWith(t, [signal("a"), signal("b")], { id: "y" }, {}, null, 1);
      expect(fresh).toMatchObject({ outcome: "created", messages: ["delivered", "full"] });
    },

    "signals do not bring the start time forward, a cancel does": async (t) => {
      const waiting = await startWith(t, [signal("a")], { startDelayMs: 500 });
      expect(waiting.run).toMatchObject({ availableAt: t.now + 500, delivered: 1 });
      const cancel = { ...signal("b"), kind: "cancel", name: "" } as const;
      const canceled = await startWith(t, [cancel], { startDelayMs: 500 });
      expect(canceled.run).toMatchObject({ availableAt: t.now, delivered: 1 });
    },

    "starts of one call with and without messages keep their order": async (t) => {
      const open = await t.held({ id: "open" });
      const start = (id: string, fields: Partial<StartRun>) => aStart(t.newRun({ id }), fields);
      const starts = [
        start("1", { messages: [signal("a")] }),
        start("2", {}),
        start("open", { ifRunning: "return", messages: [signal("a"), signal("b")] }),
        start("3", { messages: [signal("c")] }),
      ];
      const { outcomes } = await t.store.runs.start({ starts, holdBy: null, replaceError: REPLACED, inboxMax: 10 });
      expect(outcomes.map(({ run }) => [run?.id, run?.delivered])).toEqual([
        ["1", 1],
        ["2", 0],
        ["open", 2],
        ["3", 1],
      ]);
      expect(await open.commit(HOLD)).toMatchObject({ outcome: "written", delivered: 2 });
    },
  },
};

function signal(messageId: string): CarriedMessage {
  return { kind: "signal", name: "paid", messageId, payload: bytes(messageId) };
}

async function startWith(
  t: Fixture,
  messages: readonly CarriedMessage[],
  fields: Partial<NewRun>,
  policy: Partial<StartRun> = {},
  holdBy: { readonly workerId: string; readonly claimId: string } | null = null,
  inboxMax = 1_000,
): Promise<StartOutcome> {
  const starts = [aStart(t.newRun(fields), { messages, ...policy })];
  const { outcomes } = await t.store.runs.start({ starts, holdBy, replaceError: REPLACED, inboxMax });
  return outcomes[0] as StartOutcome;
}
