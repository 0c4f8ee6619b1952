import { expect } from "vitest";
import { bytes, HOLD, LEASE_MS } from "../../sample-data.ts";
import { BY_EXPIRY, byToken, COMPLETED, failed, GIVEN_BACK, MADE_EXTERNAL, retried } from "../../sample-tasks.ts";
import type { Suite } from "../../suite.ts";

/** A task of another namespace does not exist, even for those who know its key and its secret. */
export const taskNamespaces: Suite = {
  noun: "task namespaces",
  cases: {
    "a task of another namespace can neither be finished nor reported on nor canceled": async (t) => {
      const { task, key, holder } = await t.tasks.held({ timeoutMs: 10 });
      await t.advance(5_000);
      const foreign = { ...task, namespace: "other" };
      for (const result of [COMPLETED, failed(true), retried(), GIVEN_BACK, MADE_EXTERNAL]) {
        expect(await t.tasks.finish(foreign, result)).toBe("lost");
        expect(await t.tasks.finish(foreign, result, byToken(task, t.newId()))).toBe("lost");
        expect(await t.tasks.finish(foreign, result, BY_EXPIRY)).toBe("lost");
      }
      expect(await t.tasks.beat(foreign, bytes("1"))).toEqual({ outcome: "lost", canceled: true });
      expect(await t.tasks.beat(foreign, bytes("1"), byToken(task, t.newId()))).toMatchObject({ outcome: "lost" });
      expect(await t.tasks.cancel(key, "other")).toBe("gone");
      expect(await t.tasks.read(key)).toEqual(task);
      expect(await t.inbox(holder.runId)).toEqual([]);
    },

    "a task of another namespace can neither be read nor listed, and has no position": async (t) => {
      const { key } = await t.tasks.scheduled({}, { namespace: "other" });
      expect(await t.tasks.find(key)).toBeNull();
      expect(await t.tasks.find(key, "other")).toMatchObject({ namespace: "other" });
      expect(await t.store.tasks.list({ namespace: "default", limit: 10 })).toEqual([]);
      expect(await t.store.tasks.list({ namespace: "default", runId: key.runId, limit: 10 })).toEqual([]);
      expect(await t.tasks.seqsOf(key.runId, "other")).toEqual([1]);
      expect(await t.store.tasks.position({ namespace: "default", ...key, atMost: 5 })).toBeNull();
      expect(await t.store.tasks.position({ namespace: "other", ...key, atMost: 5 })).toBe(0);
    },

    "a claim takes tasks of its namespace only, for workers of that namespace only": async (t) => {
      const { key } = await t.tasks.scheduled({}, { namespace: "other" });
      const [here, there] = [await t.worker(), await t.worker({ namespace: "other" })];
      expect(await t.tasks.claim(here)).toMatchObject({ live: true, tasks: [], moreDue: false, nextDueAt: null });
      expect(await t.tasks.claim(here, { namespace: "other" })).toMatchObject({ live: false, tasks: [] });
      expect(await t.tasks.claim(there)).toMatchObject({ live: false, tasks: [] });
      expect(await t.tasks.claimOne(there, { namespace: "other" })).toMatchObject(key);
    },

    "a repeated claim in another namespace finds nothing": async (t) => {
      const { task, workerId } = await t.tasks.held();
      const claimId = task.claimId as string;
      const answer = await t.tasks.claim(workerId, { claimId, again: true, namespace: "other" });
      expect(answer).toMatchObject({ live: false, tasks: [] });
    },

    "a repeated finish in another namespace is not recognized": async (t) => {
      const { key } = await t.tasks.scheduled({ external: true });
      const task = await t.tasks.read(key);
      const by = byToken(task, t.newId());
      expect(await t.tasks.finish(task, COMPLETED, by)).toBe("done");
      expect(await t.tasks.finish({ ...task, namespace: "other" }, COMPLETED, by)).toBe("lost");
      expect(await t.tasks.finish(task, COMPLETED, by)).toBe("done");
    },

    "what a worker of another namespace holds cannot be read": async (t) => {
      const { workerId } = await t.tasks.held();
      expect(await t.store.workers.readHeldTasks({ namespace: "other", workerId })).toEqual([]);
      expect(await t.store.workers.readHeldTasks({ namespace: "default", workerId: t.newId() })).toEqual([]);
      const beat = { namespace: "other", workerId, leaseMs: 10, draining: false };
      expect(await t.store.workers.heartbeat(beat)).toMatchObject({ live: false });
      await t.store.workers.stop({ namespace: "other", workerId });
      expect(await t.store.workers.readHeldTasks({ namespace: "default", workerId })).toHaveLength(1);
    },

    "tasks live in the namespace of their run": async (t) => {
      const { holder, key } = await t.tasks.scheduled({ external: true }, { namespace: "other" });
      const task = await t.tasks.read(key, "other");
      expect(await t.tasks.finish(task, COMPLETED, byToken(task, t.newId()))).toBe("done");
      const inbox = await t.store.inbox.read({ runs: [{ namespace: "other", runId: holder.runId, after: 0 }] });
      expect(inbox).toHaveLength(1);
      expect(await holder.commit(HOLD, { consumed: 1, results: [1] })).toMatchObject({ outcome: "written" });
    },

    "a sweep returns the tasks of all namespaces": async (t) => {
      for (const namespace of ["default", "other"]) {
        await t.tasks.scheduled({}, { namespace });
        await t.tasks.claimOne(await t.worker({ namespace }), { namespace });
      }
      await t.advance(LEASE_MS);
      expect(await t.sweep()).toMatchObject({ dead: 2, tasksReturned: 2 });
    },

    "a purge in one namespace leaves the tasks of another": async (t) => {
      const { holder, key } = await t.tasks.scheduled({}, { namespace: "other" });
      await holder.commit({
        type: "end",
        status: "failed",
        output: null,
        error: null,
        unlessBehind: false,
        compensation: null,
      });
      await t.advance(10);
      await t.store.runs.purge({ namespace: "default", endedBefore: t.now, limit: 10 });
      expect(await t.tasks.find(key, "other")).not.toBeNull();
    },
  },
};
