import { CLOSED_STATUSES, type ClosedStatus, type Transition } from "holdfast/adapter";
import { expect } from "vitest";
import type { RunKey } from "../../conversation-calls.ts";
import { type Fixture, REPLACED } from "../../fixture.ts";
import { end, errorRecord, HOLD, park, RELEASE, suspend } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";

/** Starts of children: only an open parent has them, and each of them once. */
export const children: Suite = {
  noun: "children",
  cases: {
    "a child knows where it comes from, wherever it is read": async (t) => {
      const parent = await t.held();
      const root = { runId: t.newId(), id: "the first" };
      const holdBy = { workerId: await t.worker(), claimId: t.newId() };
      const started = await t.talks.tryChild(parent, { op: "ship#7", root, depth: 4, holdBy }, { id: "c" });
      const lineage = {
        parent: { namespace: "default", runId: parent.runId, id: `run ${parent.runId}` },
        op: "ship#7",
        root,
        depth: 4,
      };
      expect(started).toMatchObject({ outcome: "created", run: { id: "c", heldBy: holdBy.workerId, epoch: 1 } });
      expect(started.run?.lineage).toEqual(lineage);
      const { runId } = started.run as RunKey;
      expect((await t.run(runId)).lineage).toEqual(lineage);
      expect((await t.run({ namespace: "default", id: "c" })).lineage).toEqual(lineage);
      const listed = await t.store.runs.list({ namespace: "default", id: "c", limit: 1 });
      expect(listed[0]?.lineage).toEqual(lineage);
      const again = await t.claim(holdBy.workerId, { ...holdBy, again: true });
      expect(again.runs.map((run) => run.lineage)).toEqual([lineage]);
    },

    "a child of a step has a parent, and no op": async (t) => {
      const parent = await t.held();
      const runId = await t.talks.child(parent, { op: null, policy: "abandon" });
      expect((await t.run(runId)).lineage).toMatchObject({ op: null, depth: 1, parent: { runId: parent.runId } });
      expect(await t.talks.childrenOf(parent)).toEqual([runId]);
    },

    "a run that nobody has started comes from nowhere": async (t) => {
      const { run } = await t.start();
      expect(run.lineage).toBeUndefined();
      expect((await t.run(run.runId)).lineage).toBeUndefined();
      const claimed = await t.claim(await t.worker());
      expect(claimed.runs.map(({ lineage }) => lineage)).toEqual([undefined]);
    },

    "a run has children in whatever state it is, as long as it is open": async (t) => {
      const inState: readonly (Transition | null)[] = [
        null,
        HOLD,
        suspend(null),
        { type: "release" },
        park("diverged"),
      ];
      for (const transition of inState) {
        const parent = transition === null ? (await t.start()).run : await t.held();
        if (transition !== null && "commit" in parent && typeof parent.commit === "function")
          await parent.commit(transition);
        expect((await t.talks.tryChild(parent)).outcome).toBe("created");
      }
    },

    "a closed parent has no children: nothing is created, and the id stays free": async (t) => {
      for (const status of CLOSED_STATUSES) {
        const parent = await closed(t, status);
        const id = `child of ${status}`;
        expect(await t.talks.tryChild(parent, {}, { id })).toEqual({ outcome: "parent_closed", run: null });
        const [run] = await t.store.runs.read({ runs: [{ namespace: "default", id }] });
        expect(run).toBeNull();
        expect(await t.talks.childrenOf(parent)).toEqual([]);
        expect((await t.start({ id })).outcome).toBe("created");
      }
    },

    "a parent that never existed, or was purged, has no children": async (t) => {
      const nobody = t.ref(t.newId()) as RunKey;
      expect(await t.talks.tryChild(nobody)).toEqual({ outcome: "parent_closed", run: null });
      const parent = await t.held();
      await parent.commit(end());
      await t.advance(10);
      await t.store.runs.purge({ namespace: "default", endedBefore: t.now, limit: 10 });
      expect(await t.talks.tryChild(parent)).toEqual({ outcome: "parent_closed", run: null });
    },

    "a closed parent replaces nothing, and sends nothing": async (t) => {
      const running = await t.held({ id: "busy" });
      const parent = await closed(t, "completed");
      const start = { ifRunning: "replace", messages: [t.newMessage(t.ref(running.runId))] } as const;
      expect((await t.talks.tryChild(parent, { start }, { id: "busy" })).outcome).toBe("parent_closed");
      expect(await t.run(running.runId)).toMatchObject({ status: "running", delivered: 0 });
    },

    "a start that is repeated finds its child, even if the parent has ended since": async (t) => {
      const parent = await t.held();
      const starts = [t.talks.childStart(parent)];
      const params = { starts, holdBy: null, replaceError: REPLACED };
      const first = await t.store.runs.start(params);
      expect(await t.store.runs.start(params)).toEqual(first);
      await parent.commit(end());
      expect((await t.store.runs.start(params)).outcomes).toMatchObject([{ outcome: "created", run: { epoch: 0 } }]);
      expect(await t.talks.childrenOf(parent)).toHaveLength(1);
      expect(await t.talks.toClose(parent)).toHaveLength(1);
    },

    "a run that was there before does not become a child": async (t) => {
      const parent = await t.held();
      await t.start({ id: "old" });
      for (const [ifRunning, outcome] of [
        ["fail", "exists"],
        ["return", "returned"],
      ] as const) {
        const found = await t.talks.tryChild(parent, { start: { ifRunning } }, { id: "old" });
        expect(found).toMatchObject({ outcome, run: { id: "old" } });
        expect(found.run?.lineage).toBeUndefined();
      }
      expect(await t.talks.childrenOf(parent)).toEqual([]);
      expect((await parent.commit(end())).owes).toBeUndefined();
    },

    "a child may replace another run, or follow one": async (t) => {
      const parent = await t.held();
      const [replaced, over] = [await t.held({ id: "a" }), await t.held({ id: "b" })];
      await over.commit(end());
      const a = await t.talks.child(parent, { start: { ifRunning: "replace" } }, { id: "a" });
      const b = await t.talks.child(parent, { start: { ifClosed: "start" } }, { id: "b" });
      expect(await t.run(replaced.runId)).toMatchObject({ status: "terminated" });
      expect([...(await t.talks.childrenOf(parent))].sort()).toEqual([a, b].sort());
    },

    "a child that was given up before it was started never is": async (t) => {
      const parent = await t.held();
      const start = t.talks.childStart(parent);
      const { runId } = start.run;
      const outcome = await parent.commit(HOLD, { events: 1, closes: [runId] });
      expect(outcome).toMatchObject({ outcome: "written" });
      expect(outcome.owes).toBeUndefined();
      const params = { starts: [start], holdBy: null, replaceError: REPLACED };
      expect((await t.store.runs.start(params)).outcomes).toEqual([{ outcome: "parent_closed", run: null }]);
      expect(await t.talks.childrenOf(parent)).toEqual([]);
      expect((await t.talks.tryChild(parent)).outcome).toBe("created");
      const other = await t.held();
      expect((await t.talks.tryChild(other, {}, { runId })).outcome).toBe("created");
    },

    "a commit that is lost gives up no child": async (t) => {
      const parent = await t.held();
      const start = t.talks.childStart(parent);
      const draft = parent.draft(HOLD, { closes: [start.run.runId] });
      expect(await parent.send({ ...draft, epoch: 5 })).toMatchObject({ outcome: "lost" });
      const params = { starts: [start], holdBy: null, replaceError: REPLACED };
      expect((await t.store.runs.start(params)).outcomes).toMatchObject([{ outcome: "created" }]);
    },

    "starts of one call are judged one by one": async (t) => {
      const [open, over] = [await t.held(), await closed(t, "failed")];
      await t.start({ id: "taken" });
      const starts = [
        t.talks.childStart(open, { op: "a" }, { id: "1" }),
        t.talks.childStart(over, {}, { id: "2" }),
        t.talks.childStart(open, { op: "b" }, { id: "taken" }),
        t.talks.childStart(open, { op: "c" }, { id: "3" }),
      ];
      const { outcomes } = await t.store.runs.start({ starts, holdBy: null, replaceError: REPLACED });
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(["created", "parent_closed", "exists", "created"]);
      expect(outcomes.map(({ run }) => run?.lineage?.op)).toEqual(["a", undefined, undefined, "c"]);
      expect(await t.talks.childrenOf(open)).toHaveLength(2);
    },

    "a child may have children, and start in time, and be given to a worker": async (t) => {
      const parent = await t.held();
      const child = await t.talks.heldChild(parent);
      const grandchild = await t.talks.child(child, { depth: 2 }, { startDelayMs: 500 });
      expect(await t.run(grandchild)).toMatchObject({ status: "pending", lineage: { depth: 2 } });
      expect(await t.talks.childrenOf(parent)).toEqual([child.runId]);
      expect(await t.talks.childrenOf(child)).toEqual([grandchild]);
    },
  },
};

/** A run that has ended in that way. */
async function closed(t: Fixture, status: ClosedStatus): Promise<RunKey> {
  const run = await t.held();
  if (status === "terminated") {
    await t.store.runs.terminate({ runs: [t.ref(run.runId)], error: errorRecord("stop") });
  } else if (status === "continued") {
    const { id } = await t.run(run.runId);
    await run.commit({ type: "continue", next: t.newRun({ id }), carried: [] });
  } else if (status === "moved") {
    await run.commit(RELEASE);
    await t.transfers.departed(run.runId);
  } else {
    await run.commit(end({ status }));
  }
  return run;
}
