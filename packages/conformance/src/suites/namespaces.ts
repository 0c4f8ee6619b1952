import type { RunRef, WorkerRef } from "holdfast/adapter";
import { expect } from "vitest";
import { aStart, type Fixture, REPLACED } from "../fixture.ts";
import type { Holder } from "../holder.ts";
import { bytes, end, errorRecord, HOLD, LEASE_MS, park } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

/** Knowing the id of a run or a worker of another namespace gives no access to it. */
export const namespaces: Suite = {
  noun: "namespaces",
  cases: {
    "a run of another namespace is not there for those who read it by its run id": async (t) => {
      const { runId } = await busyRun(t);
      expect(await t.store.runs.read({ runs: [foreign(runId), t.ref(runId)] })).toMatchObject([null, { runId }]);
      const histories = [foreign(runId), t.ref(runId)].map((ref) => ({ ...ref, runId, afterSeq: 0 }));
      const read = await t.store.histories.read({ runs: histories, limitPerRun: 10 });
      expect(read.map((events) => events.length)).toEqual([0, 2]);
      const inboxes = [foreign(runId), t.ref(runId)].map((ref) => ({ ...ref, runId, after: 0 }));
      expect(await t.store.inbox.read({ runs: inboxes })).toHaveLength(1);
    },

    "a run of another namespace gets no messages": async (t) => {
      const holder = await busyRun(t);
      const messages = [
        t.newMessage(foreign(holder.runId), { messageId: "b" }),
        t.newMessage(t.ref(holder.runId), { messageId: "b" }),
        t.newMessage(foreign(holder.runId), { messageId: "b" }),
        t.newMessage(foreign(holder.runId), { kind: "cancel", messageId: "c" }),
      ];
      const { outcomes } = await t.store.inbox.deliver({ messages, inboxMax: 2 });
      expect(outcomes).toEqual([
        NOT_FOUND,
        { outcome: "delivered", runId: holder.runId, status: "running" },
        NOT_FOUND,
        NOT_FOUND,
      ]);
      expect(await t.run(holder.runId)).toMatchObject({ delivered: 2 });
    },

    "a chain of another namespace is not followed": async (t) => {
      const holder = await t.held({ id: "a" });
      const next = t.newRun({ id: "a" });
      await holder.commit({ type: "continue", next, carried: [] });
      expect(await t.deliver(foreign(holder.runId))).toEqual(NOT_FOUND);
      expect(await t.inbox(next.runId)).toEqual([]);
    },

    "a run of another namespace is neither terminated nor resumed nor reopened": async (t) => {
      const open = await busyRun(t);
      const parked = await t.held();
      await parked.commit(park("odd"));
      const failed = await t.held();
      await failed.commit(end({ status: "failed", output: null, error: errorRecord("no") }), { events: 1 });
      const before = await everything(t, [open, parked, failed]);

      const runs = [foreign(open.runId)];
      expect(await t.store.runs.terminate({ runs, error: errorRecord("stop") })).toEqual([NOT_FOUND]);
      const { epoch } = await t.run(parked.runId);
      expect(await t.resume(foreign(parked.runId), { epoch })).toEqual({ resumed: false, status: null, pauses: false });
      expect(await t.pause(foreign(parked.runId), { epoch })).toEqual({ outcome: "not_found" });
      const event = { type: "run_retried", op: null } as const;
      const reopened = await t.store.runs.reopenIfFailed({ run: foreign(failed.runId), eventCount: 1, event });
      expect(reopened).toEqual({ outcome: "not_found", status: null });
      expect(await everything(t, [open, parked, failed])).toEqual(before);
    },

    "a commit that names another namespace is lost, also a repeated one": async (t) => {
      const holder = await t.held();
      const commit = holder.draft(HOLD, { events: 1 });
      const elsewhere = { ...commit, namespace: "other" };
      expect(await holder.send(elsewhere)).toEqual({ outcome: "lost", held: false, delivered: 0 });
      expect(await t.history(holder.runId)).toEqual([]);
      expect(await holder.send(commit)).toMatchObject({ outcome: "written", held: true });
      expect(await holder.send(elsewhere)).toEqual({ outcome: "lost", held: false, delivered: 0 });
      const behind = { ...holder.draft(end({ unlessBehind: true })), namespace: "other" };
      await t.deliver(t.ref(holder.runId));
      expect(await holder.send(behind)).toEqual({ outcome: "lost", held: false, delivered: 0 });
      expect(await t.run(holder.runId)).toMatchObject({ commit: 1, eventCount: 1, status: "running" });
    },

    "a transaction in the name of another namespace is lost, and finds nothing": async (t) => {
      const holder = await t.held();
      expect(await t.transact(holder, { namespace: "other" })).toEqual({ outcome: "lost" });
      expect(await t.written()).toEqual([]);
      expect(await t.transact(holder)).toMatchObject({ outcome: "recorded" });
      expect(await t.transact(holder, { namespace: "other", again: true })).toEqual({ outcome: "lost" });
      expect(await t.written()).toEqual(["move"]);
    },

    "a start under the run id of another namespace's run is refused, and says nothing about that run": async (t) => {
      const holder = await t.held({ id: "secret", input: bytes('"secret"') });
      const before = await t.run(holder.runId);
      for (const id of ["secret", "mine"]) {
        const starts = [aStart(t.newRun({ namespace: "other", runId: holder.runId, id }), { ifRunning: "replace" })];
        const started = t.store.runs.start({ starts, holdBy: null, replaceError: REPLACED });
        await expect(started).rejects.toMatchObject({ code: "store_refused" });
        await expect(started).rejects.not.toThrow("secret");
      }
      expect(await t.run(holder.runId)).toEqual(before);
      expect(await t.store.runs.count({ namespace: "other", atMost: null })).toBe(0);
    },

    "a worker claims, takes up and holds only in its own namespace": async (t) => {
      const workerId = await t.worker();
      const { run } = await t.start({ namespace: "other" });
      expect(await t.claim(workerId, { namespace: "other" })).toMatchObject({ live: false, runs: [] });
      const handlers = [{ workflow: "order", version: "1", code: "c".repeat(32) }];
      const event = { type: "run_resumed", op: null } as const;
      const where = { namespace: "other", queues: ["default"], handlers, limit: 10, event };
      const taken = await t.store.runs.holdIfParkedByOtherCode({ workerId, claimId: t.newId(), ...where });
      expect(taken).toEqual({ live: false, taken: 0, more: false });
      const started = await t.start({ namespace: "other" }, { holdBy: { workerId, claimId: t.newId() } });
      expect(started).toMatchObject({ outcome: "created", run: { heldBy: null, status: "pending" } });
      const [row] = await t.store.runs.read({ runs: [foreign(run.runId)] });
      expect(row).toMatchObject({ heldBy: null, epoch: 0 });
    },

    "starts of several namespaces in one call are held only where the worker is": async (t) => {
      const workerId = await t.worker();
      const starts = ["default", "other"].map((namespace) => aStart(t.newRun({ namespace }), { hold: true }));
      const holdBy = { workerId, claimId: t.newId() };
      const { outcomes } = await t.store.runs.start({ starts, holdBy, replaceError: REPLACED });
      expect(outcomes.map(({ run }) => run?.heldBy)).toEqual([workerId, null]);
    },

    "a worker of another namespace is not there: no heartbeat, no list of what it holds, no end": async (t) => {
      const holder = await t.held();
      const { workerId } = holder;
      const worker: WorkerRef = { namespace: "other", workerId };
      const fields = { leaseMs: LEASE_MS * 9, draining: true };
      expect(await t.store.workers.heartbeat({ ...worker, ...fields })).toMatchObject({ live: false });
      expect(await t.store.workers.readHeld(worker)).toEqual([]);
      const runs = [{ runId: holder.runId, epoch: holder.epoch }];
      expect(await t.store.runs.releaseIfHeld({ ...worker, runs })).toEqual({ released: 0 });
      await t.store.workers.stop(worker);
      const lists = { queues: ["default"], workflows: ["order"], labels: {}, leaseMs: LEASE_MS };
      expect(await t.store.workers.register({ ...worker, name: "thief", ...lists })).toMatchObject({ live: false });
      expect(await t.run(holder.runId)).toMatchObject({ heldBy: workerId, epoch: holder.epoch });
      const [row] = await t.store.workers.list({ namespace: "default" });
      expect(row).toMatchObject({ workerId, status: "online", name: "a worker", leaseMs: LEASE_MS });
      expect(await t.store.workers.list({ namespace: "other" })).toEqual([]);
    },
  },
};

const NOT_FOUND = { outcome: "not_found", runId: null, status: null };

function foreign(runId: string): RunRef {
  return { namespace: "other", runId };
}

/** A run with a history and a message, held by a worker. */
async function busyRun(t: Fixture): Promise<Holder> {
  const holder = await t.held();
  await holder.commit(HOLD, { events: 2 });
  await t.deliver(t.ref(holder.runId));
  return holder;
}

function everything(t: Fixture, holders: readonly Holder[]): Promise<unknown> {
  return Promise.all(
    holders.map(async ({ runId }) => [await t.run(runId), await t.history(runId), await t.inbox(runId)]),
  );
}
