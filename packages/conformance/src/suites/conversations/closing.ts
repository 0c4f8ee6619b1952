import { DEBT_PAGE, type Transition } from "holdfast/adapter";
import { expect } from "vitest";
import type { RunKey } from "../../conversation-calls.ts";
import { type Fixture, REPLACED, SWEEP } from "../../fixture.ts";
import type { Holder } from "../../holder.ts";
import { end, errorRecord, HOLD } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";

const STOP = errorRecord("stop");
const RETRIED = { type: "run_retried", op: null, meta: { forgets: [] } } as const;

/** What the end of a parent owes to its children, and what giving them up does. */
export const closing: Suite = {
  noun: "closing",
  cases: {
    "a run that ends owes a close for its open children, with their policies": async (t) => {
      const parent = await t.held();
      const a = await t.talks.child(parent, { policy: "cancel" });
      const b = await t.talks.child(parent, { policy: "terminate", op: null });
      await t.talks.child(parent, { policy: "abandon" });
      expect(await parent.commit(end())).toMatchObject({ outcome: "written", owes: true });
      const debt = await t.talks.closeOf(parent);
      const { id } = await t.run(parent.runId);
      expect(debt).toEqual({
        debtNo: expect.any(Number),
        namespace: "default",
        runId: parent.runId,
        id,
        kind: "close",
        children: expect.any(Array),
      });
      expect(byRunId(debt.children)).toEqual([
        { namespace: "default", runId: a, openRunId: a, policy: "cancel" },
        { namespace: "default", runId: b, openRunId: b, policy: "terminate" },
      ]);
    },

    "every end of a parent owes a close": async (t) => {
      const ends: readonly Transition[] = [end(), end({ status: "failed" }), end({ status: "canceled" })];
      for (const transition of ends) {
        const [parent, child] = await family(t);
        expect(await parent.commit(transition)).toMatchObject({ owes: true });
        expect(await t.talks.toClose(parent)).toEqual([child]);
      }
      const [terminated, first] = await family(t);
      const [outcome] = await t.store.runs.terminate({ runs: [t.ref(terminated.runId)], error: STOP });
      expect(outcome).toMatchObject({ outcome: "terminated", owes: true });
      expect(await t.talks.toClose(terminated)).toEqual([first]);
      const [replaced, second] = await family(t, "p");
      expect(await t.start({ id: "p" }, { ifRunning: "replace" })).toMatchObject({ owes: { runId: replaced.runId } });
      expect(await t.talks.toClose(replaced)).toEqual([second]);
      const [continued, third] = await family(t, "q");
      const next = t.newRun({ id: "q" });
      expect(await continued.commit({ type: "continue", next, carried: [] })).toMatchObject({ owes: true });
      expect(await t.talks.toClose(continued)).toEqual([third]);
    },

    "a parent that times out before a worker has it owes a close": async (t) => {
      const { run } = await t.start({ timeoutMs: 100 });
      const child = await t.talks.child(run);
      await t.advance(100 + SWEEP.timeoutGraceMs);
      expect(await t.sweep()).toMatchObject({ timedOut: 1, owes: true });
      expect(await t.talks.toClose(run)).toEqual([child]);
    },

    "a run whose children were abandoned, or have ended, owes nothing": async (t) => {
      const parent = await t.held();
      await t.talks.child(parent, { policy: "abandon" });
      const ended = await t.talks.heldChild(parent);
      await ended.commit(end());
      const stopped = await t.talks.child(parent, { policy: "terminate" });
      await t.store.runs.terminate({ runs: [t.ref(stopped)], error: STOP });
      expect((await parent.commit(end())).owes).toBeUndefined();
      expect(await t.talks.debts(parent)).toEqual([]);
    },

    "a child that has ended since is not listed, and the debt that is left can be paid": async (t) => {
      const [parent] = await family(t);
      const child = await t.talks.heldChild(parent);
      await parent.commit(end());
      expect(await t.talks.toClose(parent)).toHaveLength(2);
      await child.commit(end());
      expect(await t.talks.toClose(parent)).toHaveLength(1);
      const [other] = await t.talks.toClose(parent);
      await t.store.runs.terminate({ runs: [t.ref(other as string)], error: STOP });
      const debt = await t.talks.closeOf(parent);
      expect(debt.children).toEqual([]);
      expect(await t.talks.pay(debt)).toBe(1);
      expect(await t.talks.debts(parent)).toEqual([]);
    },

    "children that were closed are not listed again, and the debt goes with the last": async (t) => {
      const [parent, a] = await family(t);
      const b = await t.talks.child(parent);
      await parent.commit(end());
      const debt = await t.talks.closeOf(parent);
      expect(await t.talks.pay(debt, { children: [a, t.newId()] })).toBe(1);
      expect(await t.talks.toClose(parent)).toEqual([b]);
      expect(await t.talks.pay(debt, { children: [a] })).toBe(1);
      expect(await t.talks.toClose(parent)).toEqual([b]);
      expect(await t.talks.pay(debt, { children: [b] })).toBe(1);
      expect(await t.talks.debts(parent)).toEqual([]);
      expect(await t.talks.pay(debt, { children: [b] })).toBe(0);
    },

    "many children are closed in pages": async (t) => {
      const parent = await t.held();
      const count = DEBT_PAGE + 3;
      const starts = Array.from({ length: count }, (_, i) => t.talks.childStart(parent, { op: `ship#${i}` }));
      const { outcomes } = await t.store.runs.start({ starts, holdBy: null, replaceError: REPLACED });
      expect(outcomes.filter(({ outcome }) => outcome === "created")).toHaveLength(count);
      await parent.commit(end());
      const first = await t.talks.closeOf(parent);
      expect(first.children).toHaveLength(DEBT_PAGE);
      await t.talks.pay(first);
      const second = await t.talks.closeOf(parent);
      expect(second.children).toHaveLength(3);
      const listed = [...first.children, ...second.children].map(({ runId }) => runId);
      expect(new Set(listed).size).toBe(count);
      await t.talks.pay(second);
      expect(await t.talks.debts()).toEqual([]);
      expect(await t.store.runs.count({ namespace: "default", parent: parent.runId, atMost: null })).toBe(count);
    },

    "a commit that gives children up owes a close for these, and the run goes on": async (t) => {
      const [parent, a] = await family(t);
      const b = await t.talks.child(parent, { policy: "terminate" });
      const c = await t.talks.child(parent);
      expect(await parent.commit(HOLD, { events: 1, closes: [a, b] })).toMatchObject({ held: true, owes: true });
      const { children } = await t.talks.closeOf(parent);
      expect(byRunId(children)).toMatchObject([
        { runId: a, policy: "cancel" },
        { runId: b, policy: "terminate" },
      ]);
      await t.talks.payAll();
      expect(await t.run(a)).toMatchObject({ status: "pending", delivered: 1 });
      expect(await t.run(b)).toMatchObject({ status: "terminated" });
      expect(await t.run(c)).toMatchObject({ status: "pending", delivered: 0 });
      expect(await parent.commit(HOLD)).toMatchObject({ outcome: "written", held: true });
      await parent.commit(end());
      expect(await t.talks.toClose(parent)).toEqual([c]);
    },

    "a commit that gives up is repeated without effect": async (t) => {
      const [parent, child] = await family(t);
      const draft = parent.draft(HOLD, { events: 1, closes: [child] });
      await parent.send(draft);
      const debt = await t.talks.closeOf(parent);
      expect(await parent.send(draft)).toMatchObject({ outcome: "written", owes: true });
      expect(await t.talks.closeOf(parent)).toEqual(debt);
      await t.talks.pay(debt);
      expect((await parent.send(draft)).owes).toBeUndefined();
      expect(await t.talks.debts()).toEqual([]);
    },

    "giving up a child that was abandoned, has ended, or is another's owes nothing": async (t) => {
      const parent = await t.held();
      const abandoned = await t.talks.child(parent, { policy: "abandon" });
      const ended = await t.talks.heldChild(parent);
      await ended.commit(end());
      const [other, foreign] = await family(t);
      const outcome = await parent.commit(HOLD, { closes: [abandoned, ended.runId, foreign] });
      expect(outcome.owes).toBeUndefined();
      expect(await t.talks.debts(parent)).toEqual([]);
      await other.commit(end());
      expect(await t.talks.toClose(other)).toEqual([foreign]);
    },

    "a run that gives children up and ends owes one close": async (t) => {
      const [parent, a] = await family(t);
      const b = await t.talks.child(parent);
      expect(await parent.commit(end(), { closes: [a] })).toMatchObject({ owes: true });
      expect([...(await t.talks.toClose(parent))].sort()).toEqual([a, b].sort());
    },

    "a child that has continued is closed under the id that its parent knows": async (t) => {
      const parent = await t.held();
      const child = await t.talks.heldChild(parent, {}, { id: "c" });
      const next = t.newRun({ id: "c" });
      await child.commit({ type: "continue", next, carried: [] });
      await parent.commit(end());
      expect(await t.talks.toClose(parent)).toEqual([child.runId]);
      await t.talks.payAll();
      expect(await t.inbox(next.runId)).toMatchObject([{ kind: "cancel" }]);
    },

    "a child whose first runs were purged is closed where it is now": async (t) => {
      for (const policy of ["cancel", "terminate"] as const) {
        const parent = await t.held();
        const child = await t.talks.heldChild(parent, { policy }, { id: `c ${policy}` });
        await continued(t, child);
        const second = await t.claimOne(await t.worker());
        const last = await continued(t, second);
        const bystander = await t.talks.child(parent);
        await t.advance(10);
        await t.store.runs.purge({ namespace: "default", endedBefore: t.now, limit: 10, statuses: ["continued"] });
        await parent.commit(end());
        const { children } = await t.talks.closeOf(parent);
        expect(byRunId(children)).toEqual(
          byRunId([
            { namespace: "default", runId: bystander, openRunId: bystander, policy: "cancel" },
            { namespace: "default", runId: child.runId, openRunId: last, policy },
          ]),
        );
        await t.talks.payAll();
        if (policy === "cancel") expect(await t.inbox(last)).toMatchObject([{ kind: "cancel" }]);
        else expect(await t.run(last)).toMatchObject({ status: "terminated" });
        expect(await t.talks.debts(parent)).toEqual([]);
        await t.store.runs.terminate({ runs: [t.ref(last), t.ref(bystander)], error: STOP });
      }
    },

    "a child that continues and ends is not to be closed any more": async (t) => {
      const parent = await t.held();
      const child = await t.talks.heldChild(parent, {}, { id: "c" });
      await child.commit({ type: "continue", next: t.newRun({ id: "c" }), carried: [] });
      await (await t.claimOne(await t.worker())).commit(end());
      expect((await parent.commit(end())).owes).toBeUndefined();
    },

    "a child that is retried is to be closed again": async (t) => {
      const parent = await t.held();
      const child = await t.talks.heldChild(parent);
      await child.commit(end({ status: "failed", output: null }));
      await t.store.runs.reopenIfFailed({ run: t.ref(child.runId), eventCount: 0, event: RETRIED });
      expect(await parent.commit(end())).toMatchObject({ owes: true });
      expect(await t.talks.toClose(parent)).toEqual([child.runId]);
    },

    "a parent that is retried keeps the children that it has not given up": async (t) => {
      const [parent, kept] = await family(t);
      const given = await t.talks.child(parent);
      await parent.commit(HOLD, { closes: [given] });
      await parent.commit(end({ status: "failed", output: null }));
      await t.store.runs.reopenIfFailed({ run: t.ref(parent.runId), eventCount: 0, event: RETRIED });
      expect(await t.talks.toClose(parent)).toEqual([given]);
      await t.talks.payAll();
      expect(await t.run(kept)).toMatchObject({ delivered: 0 });
      await t.store.runs.terminate({ runs: [t.ref(parent.runId)], error: STOP });
      expect(await t.talks.toClose(parent)).toEqual([kept]);
    },

    "the result of a child outlives its parent, and reaches nobody": async (t) => {
      const parent = await t.held();
      const child = await t.talks.heldChild(parent, { policy: "abandon" });
      await parent.commit(end());
      expect(await child.commit(end())).toMatchObject({ owes: true });
      expect(await t.talks.resultOf(child)).toMatchObject({ parent: { runId: parent.runId } });
      await t.talks.payAll();
      expect(await t.inbox(parent.runId)).toEqual([]);
    },

    "a purge leaves a parent alone until its children are closed": async (t) => {
      const [parent] = await family(t);
      await parent.commit(end());
      await t.advance(10);
      const purge = () => t.store.runs.purge({ namespace: "default", endedBefore: t.now, limit: 10 });
      expect(await purge()).toMatchObject({ purged: 0, more: false });
      await t.talks.payAll();
      expect(await purge()).toMatchObject({ purged: 1, more: false });
    },

    "a run may owe a result and a close": async (t) => {
      const parent = await t.held();
      const child = await t.talks.heldChild(parent);
      const grandchild = await t.talks.child(child, { depth: 2, policy: "terminate" });
      await child.commit(end());
      const owed = await t.talks.debts(child);
      expect(owed.map(({ kind }) => kind).sort()).toEqual(["close", "result"]);
      const result = owed.find(({ kind }) => kind === "result");
      if (result) await t.talks.pay(result);
      expect(await t.talks.toClose(child)).toEqual([grandchild]);
    },
  },
};

/** A held run, and a child of it that is to be canceled. */
async function family(t: Fixture, id?: string): Promise<readonly [Holder, string]> {
  const parent = await t.held(id === undefined ? {} : { id });
  return [parent, await t.talks.child(parent)];
}

/** Continues it as new; returns the run id of the successor. */
async function continued(t: Fixture, run: Holder): Promise<string> {
  const { id } = await t.run(run.runId);
  const next = t.newRun({ id });
  await run.commit({ type: "continue", next, carried: [] });
  return next.runId;
}

function byRunId<T extends RunKey>(items: readonly T[]): T[] {
  return [...items].sort((a, b) => (a.runId < b.runId ? -1 : 1));
}
