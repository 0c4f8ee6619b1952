import { type Payload, taskMessageId } from "holdfast/adapter";
import { expect } from "vitest";
import { REPLACED } from "../../fixture.ts";
import { bytes, end, errorRecord, HOLD, suspend } from "../../sample-data.ts";
import { byToken, COMPLETED, failed, newTask } from "../../sample-tasks.ts";
import type { Suite } from "../../suite.ts";

/** What becomes of results and of tasks when their run goes on, ends, continues, is retried or purged. */
export const taskResults: Suite = {
  noun: "task results",
  cases: {
    "the commit that consumes a result deletes its message, and no other": async (t) => {
      const { holder, task } = await t.tasks.held();
      await t.deliver(t.ref(holder.runId), { name: "before" });
      await t.tasks.finish(task, COMPLETED);
      await t.deliver(t.ref(holder.runId), { name: "after" });
      expect(await holder.commit(HOLD, { events: 1, consumed: 2, results: [2] })).toMatchObject({
        outcome: "written",
        delivered: 3,
      });
      expect((await t.inbox(holder.runId)).map(({ number }) => number)).toEqual([1, 3]);
      expect(await t.run(holder.runId)).toMatchObject({ delivered: 3, consumed: 2 });
      const [last] = await t.inbox(holder.runId, 2);
      expect(last).toMatchObject({ number: 3, name: "after" });
      await t.deliver(t.ref(holder.runId), { name: "later" });
      expect((await t.inbox(holder.runId)).map(({ number }) => number)).toEqual([1, 3, 4]);
    },

    "a consumed result that the commit does not name stays, with its payload": async (t) => {
      const { holder, task } = await t.tasks.held();
      await t.tasks.finish(task, COMPLETED);
      await holder.commit(HOLD, { events: 1, consumed: 1 });
      expect(await t.inbox(holder.runId)).toMatchObject([{ number: 1, payload: bytes('"sent"') }]);
      await holder.commit(HOLD, { results: [1] });
      expect(await t.inbox(holder.runId)).toEqual([]);
    },

    "a repeated commit deletes no result that has come since": async (t) => {
      const { holder, task } = await t.tasks.held();
      await t.tasks.finish(task, COMPLETED);
      const draft = holder.draft(HOLD, { events: 1, consumed: 1, results: [1] });
      await holder.send(draft);
      await t.deliver(t.ref(holder.runId));
      expect(await holder.send(draft)).toMatchObject({ outcome: "written", delivered: 2 });
      expect((await t.inbox(holder.runId)).map(({ number }) => number)).toEqual([2]);
    },

    "a commit that is lost deletes no result": async (t) => {
      const { holder, task } = await t.tasks.held();
      await t.tasks.finish(task, COMPLETED);
      const draft = holder.draft(HOLD, { consumed: 1, results: [1] });
      expect(await holder.send({ ...draft, epoch: 5 })).toMatchObject({ outcome: "lost" });
      expect(await t.inbox(holder.runId)).toHaveLength(1);
    },

    "a claim brings the unread results, and not those that were deleted": async (t) => {
      const holder = await t.held();
      await holder.schedule([{}, {}]);
      const { tasks } = await t.tasks.claim(await t.worker());
      for (const task of tasks) await t.tasks.finish(task, COMPLETED);
      await holder.commit(HOLD, { consumed: 1, results: [1] });
      await holder.commit({ type: "release" });
      const { messages } = await t.claim(await t.worker());
      expect(messages).toMatchObject([{ number: 2, kind: "task_completed", payload: bytes('"sent"') }]);
    },

    "unread results do not follow a run that continues, and other messages do": async (t) => {
      const { holder, task } = await t.tasks.held();
      await t.tasks.finish(task, COMPLETED);
      await t.deliver(t.ref(holder.runId), { name: "paid" });
      const { id } = await t.run(holder.runId);
      const next = t.newRun({ id });
      await holder.commit({ type: "continue", next, carried: [] }, { dropTasks: true });
      expect((await t.inbox(next.runId)).map(({ number, name }) => [number, name])).toEqual([[1, "paid"]]);
      expect(await t.run(next.runId)).toMatchObject({ delivered: 1, consumed: 0 });
    },

    "a result that comes after its run has continued reaches nobody": async (t) => {
      for (const result of [COMPLETED, failed(true)]) {
        const { holder, task, key } = await t.tasks.held();
        const { id } = await t.run(holder.runId);
        const next = t.newRun({ id });
        await holder.commit({ type: "continue", next, carried: [] });
        expect(await t.tasks.finish(task, result)).toBe("closed");
        expect(await t.tasks.find(key)).toBeNull();
        expect(await t.inbox(next.runId)).toEqual([]);
        expect(await t.run(next.runId)).toMatchObject({ delivered: 0 });
      }
    },

    "a successor may have a task of the same seq": async (t) => {
      const { holder, task } = await t.tasks.held();
      const { id } = await t.run(holder.runId);
      const next = t.newRun({ id });
      await holder.commit({ type: "continue", next, carried: [] });
      const successor = await t.claimOne(await t.worker());
      const [key] = await successor.schedule([{}]);
      const again = await t.tasks.claimOne(await t.worker());
      expect(again).toMatchObject({ ...key, epoch: 1 });
      expect(await t.tasks.finish(task, COMPLETED)).toBe("closed");
      expect(await t.tasks.finish(again, COMPLETED)).toBe("done");
      expect(await t.inbox(successor.runId)).toMatchObject([{ messageId: taskMessageId(1, 1) }]);
    },

    "a run that is terminated takes its tasks with it, except dead letters": async (t) => {
      const { holder, task: dead } = await t.tasks.held({ priority: 9 });
      await t.tasks.finish(dead, failed(true));
      await holder.schedule([{ priority: 5 }, {}, { external: true }]);
      const workerId = await t.worker();
      const held = await t.tasks.claimOne(workerId, { limit: 1 });
      const external = await t.tasks.read({ runId: holder.runId, seq: 4 });
      const other = await t.tasks.scheduled();
      await t.store.runs.terminate({ runs: [t.ref(holder.runId)], error: errorRecord("stop") });
      expect(await t.tasks.seqsOf(holder.runId)).toEqual([1]);
      expect(await t.tasks.read(dead)).toMatchObject({ status: "dead" });
      expect(await t.tasks.find(other.key)).not.toBeNull();
      expect(await t.tasks.finish(held, COMPLETED)).toBe("lost");
      expect(await t.tasks.beat(held)).toMatchObject({ outcome: "lost" });
      expect(await t.tasks.finish(external, COMPLETED, byToken(external, t.newId()))).toBe("lost");
      expect(await t.store.workers.readHeldTasks({ namespace: "default", workerId })).toEqual([]);
      expect((await t.tasks.claim(workerId)).tasks.map(({ runId }) => runId)).toEqual([other.key.runId]);
    },

    "a run that is terminated while nobody holds it takes its tasks with it": async (t) => {
      const { holder, key } = await t.tasks.held();
      await holder.commit(suspend(null));
      await t.store.runs.terminate({ runs: [t.ref(holder.runId)], error: errorRecord("stop") });
      expect(await t.tasks.find(key)).toBeNull();
    },

    "a run that is replaced takes its tasks with it, except dead letters": async (t) => {
      const { holder, task: dead } = await t.tasks.held({ priority: 9 });
      await t.tasks.finish(dead, failed(true));
      await holder.schedule([{}, { external: true }]);
      const held = await t.tasks.claimOne(await t.worker());
      const { id } = await t.run(holder.runId);
      expect(await t.start({ id }, { ifRunning: "replace" })).toMatchObject({ outcome: "created" });
      expect(await t.tasks.seqsOf(holder.runId)).toEqual([1]);
      expect(await t.tasks.finish(held, COMPLETED)).toBe("lost");
    },

    "a start that replaces nothing leaves tasks alone": async (t) => {
      const { holder, key } = await t.tasks.scheduled();
      const { id } = await t.run(holder.runId);
      expect(await t.start({ id }, { ifRunning: "return" })).toMatchObject({ outcome: "returned" });
      expect(await t.start({ id }, { ifRunning: "fail" })).toMatchObject({ outcome: "exists" });
      const closed = [
        { run: t.newRun({ id: "b" }), ifRunning: "fail", ifClosed: "fail", hold: false, pick: null },
      ] as const;
      await t.store.runs.start({ starts: closed, holdBy: null, replaceError: REPLACED });
      expect(await t.tasks.find(key)).not.toBeNull();
    },

    "a terminate of a run that has ended deletes nothing": async (t) => {
      const { holder, key } = await t.tasks.scheduled();
      await holder.commit(end());
      const [outcome] = await t.store.runs.terminate({ runs: [t.ref(holder.runId)], error: errorRecord("stop") });
      expect(outcome).toMatchObject({ outcome: "closed" });
      expect(await t.tasks.find(key)).not.toBeNull();
    },

    "a dead letter outlives the end of its run, and goes when it is purged": async (t) => {
      const { holder, task, key } = await t.tasks.held();
      await t.tasks.finish(task, failed(true));
      await holder.commit(end({ status: "failed", output: null }), { dropTasks: true, consumed: 1, results: [1] });
      const kept = await t.tasks.held();
      await t.tasks.finish(kept.task, failed(true));
      expect(await t.tasks.find(key)).toMatchObject({ status: "dead", input: bytes('"input 1"') });
      await t.advance(10);
      const purge = { namespace: "default", endedBefore: t.now, limit: 10 };
      expect(await t.store.runs.purge(purge)).toMatchObject({ purged: 1 });
      expect(await t.tasks.find(key)).toBeNull();
      expect(await t.tasks.find(kept.key)).toMatchObject({ status: "dead" });
    },

    "a purge takes what is left of the tasks of its runs, whoever has them": async (t) => {
      const { holder, task, workerId } = await t.tasks.held({ timeoutMs: 10 });
      await holder.schedule([{}, { external: true, timeoutMs: 10 }]);
      const due = await t.tasks.read({ runId: holder.runId, seq: 2 });
      const external = await t.tasks.read({ runId: holder.runId, seq: 3 });
      await holder.commit(end());
      await t.advance(5_000);
      expect(await t.store.runs.purge({ namespace: "default", endedBefore: t.now, limit: 10 })).toMatchObject({
        purged: 1,
      });
      expect(await t.tasks.seqsOf(holder.runId)).toEqual([]);
      expect(await t.store.workers.readHeldTasks({ namespace: "default", workerId })).toEqual([]);
      expect(await t.tasks.claim(workerId)).toMatchObject({ tasks: [], moreDue: false, nextDueAt: null });
      expect(await t.store.tasks.expired({ limit: 10 })).toMatchObject({ tasks: [], nextExpiryAt: null });
      expect(await t.tasks.finish(task, COMPLETED)).toBe("lost");
      expect(await t.tasks.finish(external, COMPLETED, byToken(external, t.newId()))).toBe("lost");
      expect(await t.tasks.cancel(due)).toBe("gone");
    },

    "a retried run finds its dead letter, and takes it up under a new seq": async (t) => {
      const { holder, task } = await t.tasks.held();
      await t.tasks.finish(task, failed(true));
      await holder.commit(end({ status: "failed", output: null }), { consumed: 1, results: [1], dropTasks: true });
      const event = { type: "run_retried", op: null, meta: { forgets: ["mail#1"] } } as const;
      const run = t.ref(holder.runId);
      expect(await t.store.runs.reopenIfFailed({ run, eventCount: 1, event })).toMatchObject({ outcome: "reopened" });
      expect(await t.tasks.read(task)).toMatchObject({ status: "dead" });
      const next = await t.claimOne(await t.worker());
      const events = [{ seq: 3, type: "op_rescheduled", op: "mail#1", at: t.now } as const];
      const tasks = [newTask(3, { inputSeq: 1, op: "mail#1" })];
      expect(await next.commit(HOLD, { events, settled: [1], tasks })).toMatchObject({ outcome: "written" });
      expect(await t.tasks.seqsOf(holder.runId)).toEqual([3]);
      const again = await t.tasks.claimOne(await t.worker());
      expect(again).toMatchObject({ seq: 3, epoch: 1, attempt: 1, failures: [], input: bytes('"input 1"') });
      expect(await t.tasks.finish(again, COMPLETED)).toBe("done");
      expect(await t.inbox(holder.runId)).toMatchObject([{ number: 2, messageId: taskMessageId(3, 1) }]);
    },

    "large results arrive whole": async (t) => {
      const { holder, task } = await t.tasks.held();
      const payload = new Uint8Array(300_000).map((_, i) => i % 251);
      await t.tasks.beat(task, payload);
      expect(isSame((await t.tasks.read(task)).details, payload)).toBe(true);
      await t.tasks.finish(task, { type: "completed", payload });
      const [message] = await t.inbox(holder.runId);
      expect(isSame(message?.payload, payload)).toBe(true);
    },
  },
};

function isSame(found: Payload | null | undefined, expected: Payload): boolean {
  return found?.length === expected.length && expected.every((byte, i) => byte === found[i]);
}
