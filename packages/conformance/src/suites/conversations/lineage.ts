import { expect } from "vitest";
import { end, errorRecord, HOLD } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";

/** Who belongs to whom, when runs continue, are listed, retried and purged. */
export const lineage: Suite = {
  noun: "lineage",
  cases: {
    "a child that continues hands its lineage on": async (t) => {
      const parent = await t.held();
      const child = await t.talks.heldChild(parent, { op: "ship#3", depth: 2 }, { id: "c" });
      const next = t.newRun({ id: "c" });
      await child.commit({ type: "continue", next, carried: [] });
      const successor = await t.run(next.runId);
      expect(successor.lineage).toEqual((await t.run(child.runId)).lineage);
      expect(successor.lineage).toMatchObject({ op: "ship#3", depth: 2, parent: { runId: parent.runId } });
      expect(await t.talks.childrenOf(parent)).toEqual([next.runId, child.runId]);
    },

    "a parent that continues does not hand its children on": async (t) => {
      const parent = await t.held({ id: "p" });
      const child = await t.talks.child(parent);
      const next = t.newRun({ id: "p" });
      await parent.commit({ type: "continue", next, carried: [] });
      expect(await t.talks.childrenOf(parent)).toEqual([child]);
      expect(await t.talks.childrenOf({ namespace: "default", runId: next.runId })).toEqual([]);
      expect((await t.run(next.runId)).lineage).toBeUndefined();
    },

    "children are listed in pages, newest first, with other filters": async (t) => {
      const [parent, other] = [await t.held(), await t.held()];
      const created: string[] = [];
      for (let i = 0; i < 5; i++) {
        await t.advance(1);
        created.unshift(await t.talks.child(parent, { op: `ship#${i}` }, { workflow: i % 2 ? "ship" : "order" }));
        await t.talks.child(other);
      }
      await t.start({});
      const filter = { namespace: "default", parent: parent.runId };
      const first = await t.store.runs.list({ ...filter, limit: 3 });
      expect(first.map(({ runId }) => runId)).toEqual(created.slice(0, 3));
      const { createdAt, runId } = first[2] as (typeof first)[number];
      const second = await t.store.runs.list({ ...filter, before: { createdAt, runId }, limit: 3 });
      expect(second.map((row) => row.runId)).toEqual(created.slice(3));
      expect(await t.store.runs.list({ ...filter, workflow: "ship", limit: 9 })).toHaveLength(2);
      expect(await t.store.runs.list({ ...filter, statuses: ["running"], limit: 9 })).toEqual([]);
      expect(await t.store.runs.count({ ...filter, atMost: null })).toBe(5);
      expect(await t.store.runs.count({ ...filter, atMost: 2 })).toBe(2);
      expect(await t.store.runs.count({ ...filter, workflow: "ship", atMost: null })).toBe(2);
      expect(await t.store.runs.list({ namespace: "default", parent: t.newId(), limit: 9 })).toEqual([]);
    },

    "children are listed when they and their parent have ended": async (t) => {
      const parent = await t.held();
      const child = await t.talks.heldChild(parent);
      await child.commit(end());
      await parent.commit(end());
      await t.talks.payAll();
      expect(await t.talks.childrenOf(parent)).toEqual([child.runId]);
    },

    "children of another namespace are listed there": async (t) => {
      const parent = await t.held();
      await t.store.namespaces.allow({ namespace: "other", other: "default" });
      const child = await t.talks.child(parent, {}, { namespace: "other" });
      expect(await t.talks.childrenOf(parent)).toEqual([]);
      expect(await t.talks.childrenOf(parent, "other")).toEqual([child]);
    },

    "a child that was purged is a child no more, and a purged parent has none": async (t) => {
      const parent = await t.held({}, await t.worker({ leaseMs: 1_000_000 }));
      const [gone, kept] = [await t.talks.heldChild(parent), await t.talks.child(parent, { policy: "abandon" })];
      await gone.commit(end());
      await t.talks.payAll();
      await t.advance(10);
      const purge = async () => t.store.runs.purge({ namespace: "default", endedBefore: t.now, limit: 10 });
      expect(await purge()).toMatchObject({ purged: 1, more: false });
      expect(await t.talks.childrenOf(parent)).toEqual([kept]);
      await parent.commit(end(), { consumed: 1 });
      await t.advance(10);
      expect(await purge()).toMatchObject({ purged: 1, more: false });
      expect(await t.talks.childrenOf(parent)).toEqual([]);
      expect((await t.run(kept)).lineage).toMatchObject({ parent: { runId: parent.runId } });
      const [outcome] = await t.store.runs.terminate({ runs: [t.ref(kept)], error: errorRecord("stop") });
      expect(outcome).toMatchObject({ outcome: "terminated", owes: true });
    },

    "of a chain, a child stays one until its last run is purged": async (t) => {
      const parent = await t.held({}, await t.worker({ leaseMs: 1_000_000 }));
      const child = await t.talks.heldChild(parent, {}, { id: "c" });
      const next = t.newRun({ id: "c" });
      await child.commit({ type: "continue", next, carried: [] });
      await t.advance(10);
      await t.store.runs.purge({ namespace: "default", endedBefore: t.now, limit: 10 });
      expect(await t.talks.childrenOf(parent)).toEqual([next.runId]);
      await parent.commit(HOLD, { events: 1, closes: [child.runId] });
      expect(await t.talks.toClose(parent)).toEqual([child.runId]);
    },

    "a child that is retried keeps its lineage": async (t) => {
      const parent = await t.held();
      const child = await t.talks.heldChild(parent);
      await child.commit(end({ status: "failed", output: null }));
      const event = { type: "run_retried", op: null, meta: { forgets: [] } } as const;
      await t.store.runs.reopenIfFailed({ run: t.ref(child.runId), eventCount: 0, event });
      expect((await t.run(child.runId)).lineage).toMatchObject({ parent: { runId: parent.runId } });
      expect(await t.talks.childrenOf(parent)).toEqual([child.runId]);
    },
  },
};
