import { due, ended, expectHints } from "../../expected-hints.ts";
import { aStart, REPLACED } from "../../fixture.ts";
import { bytes, end, errorRecord, HOLD, suspend } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";

/** Hints that let conversations go on at once. */
export const conversationHints: Suite = {
  noun: "conversation hints",
  cases: {
    "an update that is accepted or answered is announced": async (t) => {
      const run = await t.held();
      await t.talks.update(t.ref(run.runId), "u");
      const hint = { type: "replied", runId: run.runId } as const;
      await expectHints(t, [hint], () => run.commit(HOLD, { events: 1, consumed: 1, replies: [{ number: 1 }] }));
      await expectHints(t, [hint], () => run.commit(HOLD, { replies: [{ number: 1, seq: 1 }] }));
      await t.talks.update(t.ref(run.runId), "v");
      const error = errorRecord("no");
      const replies = [{ number: 2, error }];
      await expectHints(t, [hint, ended(run.runId)], () => run.commit(end(), { consumed: 2, replies }));
    },

    "a question is announced to workers, and its answer to the caller": async (t) => {
      const { run } = await t.start();
      const about = { namespace: "default", runId: run.runId, workflow: "order", version: "1" };
      const ask = { askId: t.newId(), ...about, name: "total", payload: bytes("[]"), ttlMs: 10_000 };
      await expectHints(t, [{ type: "asked", namespace: "default" }], () => t.store.asks.ask({ asks: [ask] }));
      const answers = [{ namespace: "default", askId: ask.askId, answer: { type: "answered", payload: bytes("1") } }];
      await expectHints(t, [{ type: "answered", askId: ask.askId }], () =>
        t.store.asks.answer({ answers: answers as Parameters<typeof t.store.asks.answer>[0]["answers"] }),
      );
    },

    "the end of a child is announced to the worker that holds its parent, or to all that could": async (t) => {
      const parent = await t.held();
      const fields = { kind: "child_completed", name: "ship#1" } as const;
      const inbox = { type: "inbox", runId: parent.runId, workerId: parent.workerId } as const;
      await expectHints(t, [inbox], () => t.deliver(t.ref(parent.runId), fields));
      await parent.commit(suspend(null), { consumed: 1, results: [1] });
      await expectHints(t, [due("default")], () => t.deliver(t.ref(parent.runId), fields));
    },

    "a start that finds an open run announces its messages": async (t) => {
      const run = await t.held({ id: "x" });
      const messages = [{ kind: "signal", name: "paid", messageId: "a", payload: bytes("1") }] as const;
      const starts = [aStart(t.newRun({ id: "x" }), { ifRunning: "return", messages })];
      const inbox = { type: "inbox", runId: run.runId, workerId: run.workerId } as const;
      await expectHints(t, [inbox], () =>
        t.store.runs.start({ starts, holdBy: null, replaceError: REPLACED, inboxMax: 10 }),
      );
    },

    "a child that is started is announced, unless it is held": async (t) => {
      const parent = await t.held();
      await expectHints(t, [due("urgent")], () => t.talks.child(parent, {}, { queue: "urgent" }));
    },
  },
};
