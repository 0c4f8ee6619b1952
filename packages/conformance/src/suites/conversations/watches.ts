import { DEBT_PAGE } from "holdfast/adapter";
import { expect } from "vitest";
import { bytes, end, errorRecord } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";

const STOP = errorRecord("stop");
const RETRIED = { type: "run_retried", op: null, meta: { forgets: [] } } as const;

/** Ops of other runs that want to know how a run ends: each is told, once. */
export const watches: Suite = {
  noun: "watches",
  cases: {
    "a run that is watched owes its result to the watcher, and to nobody else": async (t) => {
      const [run, watcher] = [await t.held(), await t.held()];
      expect(await t.talks.watch(t.ref(run.runId), t.talks.op(watcher))).toEqual({ outcome: "watching", end: null });
      expect(await t.talks.debts()).toEqual([]);
      expect(await run.commit(end(), { events: 1 })).toMatchObject({ outcome: "written", owes: true });
      expect(await t.talks.resultOf(run)).toMatchObject({
        kind: "result",
        end: { runId: run.runId, status: "completed", output: bytes('"done"'), eventCount: 1 },
        parent: null,
        watchers: [{ namespace: "default", runId: watcher.runId, op: "await#1" }],
      });
    },

    "a run that has ended says how, and owes nothing": async (t) => {
      const [run, watcher] = [await t.held(), await t.held()];
      await run.commit(end({ status: "failed", output: null, error: STOP, compensation: "compensated" }));
      const { namespace, runId, id, firstRunId, workflow, version } = await t.run(run.runId);
      expect(await t.talks.watch(t.ref(runId), t.talks.op(watcher))).toEqual({
        outcome: "ended",
        end: {
          ...{ namespace, runId, id, firstRunId, workflow, version, status: "failed", output: null, error: STOP },
          compensation: "compensated",
          eventCount: 0,
        },
      });
      expect(await t.talks.debts()).toEqual([]);
    },

    "the newest run of an id is watched, and a chain is followed": async (t) => {
      const watcher = await t.held();
      const old = await t.held({ id: "x" });
      await old.commit(end());
      const first = (await t.start({ id: "x" }, { ifClosed: "start" })).run;
      await t.talks.watch({ namespace: "default", id: "x" }, t.talks.op(watcher));
      const holder = await t.claimOne(await t.worker());
      expect(holder.runId).toBe(first.runId);
      const next = t.newRun({ id: "x" });
      expect((await holder.commit({ type: "continue", next, carried: [] })).owes).toBeUndefined();
      expect(await t.talks.watch(t.ref(first.runId), t.talks.op(watcher, "await#2"))).toMatchObject({
        outcome: "watching",
      });
      const successor = await t.claimOne(await t.worker());
      expect(await successor.commit(end())).toMatchObject({ owes: true });
      const { watchers, end: ended } = await t.talks.resultOf(successor);
      expect(watchers.map(({ op }) => op).sort()).toEqual(["await#1", "await#2"]);
      expect(ended).toMatchObject({ runId: next.runId, firstRunId: first.runId });
      const late = await t.talks.watch(t.ref(first.runId), t.talks.op(watcher, "await#3"));
      expect(late).toMatchObject({ outcome: "ended", end: { runId: next.runId } });
      const otherRun = await t.talks.watch(t.ref(old.runId), t.talks.op(watcher, "await#3"));
      expect(otherRun).toMatchObject({ outcome: "ended", end: { runId: old.runId } });
    },

    "a watch that is repeated is one, also by another name of the same chain": async (t) => {
      const [run, watcher] = [await t.held({ id: "x" }), await t.held()];
      const next = t.newRun({ id: "x" });
      await t.talks.watch(t.ref(run.runId), t.talks.op(watcher));
      await t.talks.watch({ namespace: "default", id: "x" }, t.talks.op(watcher));
      await run.commit({ type: "continue", next, carried: [] });
      for (const ref of [t.ref(run.runId), t.ref(next.runId)])
        expect(await t.talks.watch(ref, t.talks.op(watcher))).toMatchObject({ outcome: "watching" });
      await t.store.runs.terminate({ runs: [t.ref(next.runId)], error: STOP });
      expect((await t.talks.resultOf({ namespace: "default", runId: next.runId })).watchers).toHaveLength(1);
    },

    "several ops of several runs watch one run, and one op several runs": async (t) => {
      const [a, b, one, two] = [await t.held(), await t.held(), await t.held(), await t.held()];
      const by = [t.talks.op(one), t.talks.op(one, "await#2"), t.talks.op(two)];
      const outcomes = await t.store.runs.watch({
        watches: [...by.map((op) => ({ run: t.ref(a.runId), by: op })), { run: t.ref(b.runId), by: t.talks.op(one) }],
      });
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 4 }, () => "watching"));
      await a.commit(end());
      await b.commit(end());
      expect((await t.talks.resultOf(a)).watchers).toHaveLength(3);
      expect((await t.talks.resultOf(b)).watchers).toEqual([t.talks.op(one)]);
    },

    "a run that does not exist cannot be watched, nor one whose continuation was purged": async (t) => {
      const by = t.talks.op(await t.held({}, await t.worker({ leaseMs: 1_000_000 })));
      const notFound = { outcome: "not_found", end: null };
      expect(await t.talks.watch(t.ref(t.newId()), by)).toEqual(notFound);
      expect(await t.talks.watch({ namespace: "default", id: "nobody" }, by)).toEqual(notFound);
      const run = await t.held({ id: "x" });
      await t.advance(100);
      await run.commit({ type: "continue", next: t.newRun({ id: "x" }), carried: [] });
      await (await t.claimOne(await t.worker())).commit(end());
      await t.advance(10);
      const statuses = ["completed"] as const;
      await t.store.runs.purge({ namespace: "default", endedBefore: t.now, statuses, limit: 10 });
      expect(await t.talks.watch(t.ref(run.runId), by)).toEqual(notFound);
    },

    "a child may be watched too: its parent and the watchers are told": async (t) => {
      const [parent, watcher] = [await t.held(), await t.held()];
      const child = await t.talks.heldChild(parent);
      await t.talks.watch(t.ref(child.runId), t.talks.op(watcher));
      await child.commit(end());
      const debt = await t.talks.resultOf(child);
      expect(debt).toMatchObject({ parent: { runId: parent.runId }, watchers: [{ runId: watcher.runId }] });
      await t.talks.payAll();
      expect(await t.inbox(parent.runId)).toMatchObject([{ kind: "child_completed", name: "ship#1" }]);
      expect(await t.inbox(watcher.runId)).toMatchObject([{ kind: "watch_completed", name: "await#1" }]);
    },

    "a result is owed until all watchers were told": async (t) => {
      const [run, watcher] = [await t.held(), await t.held()];
      const [a, b] = [t.talks.op(watcher, "a"), t.talks.op(watcher, "b")];
      for (const by of [a, b]) await t.talks.watch(t.ref(run.runId), by);
      await run.commit(end());
      const debt = await t.talks.resultOf(run);
      expect(await t.talks.pay(debt, { watchers: [a] })).toBe(1);
      expect((await t.talks.resultOf(run)).watchers).toEqual([b]);
      await t.talks.pay(debt, { watchers: [a] });
      await t.talks.pay(debt, {});
      expect((await t.talks.resultOf(run)).watchers).toEqual([b]);
      await t.talks.pay(debt, { watchers: [b] });
      expect(await t.talks.debts()).toEqual([]);
      expect(await t.talks.watch(t.ref(run.runId), a)).toMatchObject({ outcome: "ended" });
    },

    "every end tells the watchers": async (t) => {
      const watcher = await t.held();
      const terminated = await t.held();
      await t.talks.watch(t.ref(terminated.runId), t.talks.op(watcher));
      const [outcome] = await t.store.runs.terminate({ runs: [t.ref(terminated.runId)], error: STOP });
      expect(outcome).toMatchObject({ owes: true });
      expect(await t.talks.resultOf(terminated)).toMatchObject({ end: { status: "terminated" } });
      const replaced = await t.held({ id: "x" });
      await t.talks.watch(t.ref(replaced.runId), t.talks.op(watcher));
      expect(await t.start({ id: "x" }, { ifRunning: "replace" })).toMatchObject({ owes: { runId: replaced.runId } });
      const { run: late } = await t.start({ timeoutMs: 1 });
      await t.talks.watch(t.ref(late.runId), t.talks.op(watcher));
      await t.advance(2_000);
      expect(await t.sweep()).toMatchObject({ timedOut: 1, owes: true });
      expect(await t.talks.resultOf(late)).toMatchObject({ end: { status: "timed_out" } });
    },

    "a run that is retried before its watchers were told tells them of its next end": async (t) => {
      const [run, watcher] = [await t.held(), await t.held()];
      await t.talks.watch(t.ref(run.runId), t.talks.op(watcher));
      await run.commit(end({ status: "failed", output: null, error: STOP }));
      await t.store.runs.reopenIfFailed({ run: t.ref(run.runId), eventCount: 0, event: RETRIED });
      expect(await t.talks.debts()).toEqual([]);
      await t.store.runs.terminate({ runs: [t.ref(run.runId)], error: STOP });
      const debt = await t.talks.resultOf(run);
      expect(debt).toMatchObject({ end: { status: "terminated", eventCount: 1 }, watchers: [t.talks.op(watcher)] });
    },

    "many watchers are told in pages": async (t) => {
      const [run, watcher] = [await t.held(), await t.held()];
      const count = DEBT_PAGE + 2;
      const ops = Array.from({ length: count }, (_, i) => t.talks.op(watcher, `await#${i}`));
      await t.store.runs.watch({ watches: ops.map((by) => ({ run: t.ref(run.runId), by })) });
      await run.commit(end());
      const first = await t.talks.resultOf(run);
      expect(first.watchers).toHaveLength(DEBT_PAGE);
      await t.talks.pay(first);
      const second = await t.talks.resultOf(run);
      expect(second.watchers).toHaveLength(2);
      expect(new Set([...first.watchers, ...second.watchers].map(({ op }) => op)).size).toBe(count);
      await t.talks.pay(second);
      expect(await t.talks.debts()).toEqual([]);
    },

    "a purge leaves a run alone until its watchers were told": async (t) => {
      const [run, watcher] = [await t.held(), await t.held()];
      await t.talks.watch(t.ref(run.runId), t.talks.op(watcher));
      await run.commit(end());
      await t.advance(10);
      const purge = () => t.store.runs.purge({ namespace: "default", endedBefore: t.now, limit: 10 });
      expect(await purge()).toMatchObject({ purged: 0, more: false });
      await t.talks.payAll();
      expect(await purge()).toMatchObject({ purged: 1, more: false });
    },
  },
};
