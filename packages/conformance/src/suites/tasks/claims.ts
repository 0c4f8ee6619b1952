import type { Store } from "holdfast/adapter";
import { expect } from "vitest";
import { end, HOLD } from "../../sample-data.ts";
import { COMPLETED, newTask, retried, taskEvent } from "../../sample-tasks.ts";
import type { Suite } from "../../suite.ts";

export const taskClaims: Suite = {
  noun: "task claims",
  cases: {
    "a claimed task is held, with epoch + 1, and comes with its input": async (t) => {
      const { key } = await t.tasks.scheduled({ name: "mail" });
      const before = await t.tasks.read(key);
      const workerId = await t.worker();
      await t.advance(30);
      const params = t.tasks.claimParams(workerId);
      const answer = await t.store.tasks.claim(params);
      const held = {
        ...before,
        status: "held",
        epoch: 1,
        heldBy: workerId,
        claimId: params.claimId,
        availableAt: null,
      };
      expect(answer).toEqual({
        live: true,
        tasks: [held],
        now: t.now,
        moreDue: false,
        nextDueAt: null,
        suspectDue: false,
      });
      expect(await t.tasks.read(key)).toEqual(held);
      expect((await t.tasks.claim(await t.worker())).tasks).toEqual([]);
    },

    "nothing is claimed for a worker that is offline, unknown or of another namespace": async (t) => {
      const { key } = await t.tasks.scheduled();
      const stopped = await t.worker();
      await t.store.workers.stop({ namespace: "default", workerId: stopped });
      for (const workerId of [stopped, t.newId(), await t.worker({ namespace: "other" })]) {
        expect(await t.tasks.claim(workerId)).toMatchObject({ live: false, tasks: [], now: t.now });
      }
      expect(await t.tasks.read(key)).toMatchObject({ status: "due", epoch: 0 });
    },

    "a draining worker may claim": async (t) => {
      await t.tasks.scheduled();
      const workerId = await t.worker();
      await t.store.workers.heartbeat({ namespace: "default", workerId, leaseMs: 5_000, draining: true });
      expect((await t.tasks.claim(workerId)).tasks).toHaveLength(1);
    },

    "only tasks of the worker's queues and names are claimed": async (t) => {
      const holder = await t.held();
      await holder.schedule([
        { name: "mail", queue: "a" },
        { name: "sms", queue: "a" },
        { name: "mail", queue: "b" },
        { name: "sms", queue: "b" },
        { name: "mail", queue: "c" },
      ]);
      const workerId = await t.worker();
      const first = await t.tasks.claim(workerId, { queues: ["a", "b"], names: ["mail"] });
      expect(first.tasks.map(({ seq }) => seq).sort()).toEqual([1, 3]);
      const second = await t.tasks.claim(workerId, { queues: ["b", "c"], names: ["mail", "sms", "fax"] });
      expect(second.tasks.map(({ seq }) => seq).sort()).toEqual([4, 5]);
      expect(await t.tasks.claim(workerId, { queues: [], names: ["sms"] })).toMatchObject({ live: true, tasks: [] });
      expect(await t.tasks.claim(workerId, { queues: ["a"], names: [] })).toMatchObject({ live: true, tasks: [] });
    },

    "a worker claims only what its labels are enough for": async (t) => {
      const holder = await t.held();
      await holder.schedule([
        { requires: [] },
        { requires: ["gpu"] },
        { requires: ["gpu", "smtp"] },
        { requires: ["gpu=a100"] },
        { requires: ["GPU"] },
      ]);
      const workerId = await t.worker();
      const claim = async (labels: readonly string[]) => {
        const { tasks } = await t.tasks.claim(workerId, { labels });
        return tasks.map(({ seq }) => seq).sort();
      };
      expect(await claim(["smtp", "gp", "gpu=a"])).toEqual([1]);
      expect(await claim(["gpu"])).toEqual([2]);
      expect(await claim(["gpu=a100"])).toEqual([4]);
      expect(await claim(["zone", "smtp", "gpu"])).toEqual([3]);
      expect(await claim(["zone", "smtp", "gpu", "GPU"])).toEqual([5]);
    },

    "names and labels are texts and nothing more": async (t) => {
      const odd = ["a,b", 'a"b', "ä%_", "a'b\\", "{a}", "NULL", "*"];
      const holder = await t.held();
      await holder.schedule(odd.map((text) => ({ name: text, queue: text, requires: [text] })));
      const workerId = await t.worker();
      expect((await t.tasks.claim(workerId, { names: odd, queues: odd, labels: ["a", "b", "%"] })).tasks).toEqual([]);
      for (const [i, text] of odd.entries()) {
        const task = await t.tasks.claimOne(workerId, { names: [text], queues: [text], labels: [text] });
        expect(task).toMatchObject({ seq: i + 1, requires: [text] });
      }
    },

    "requires that would read the same when joined are not the same": async (t) => {
      const holder = await t.held();
      await holder.schedule([{ requires: ["a", "b"] }, { requires: ["a,b"] }, { requires: ["a b"] }]);
      const workerId = await t.worker();
      expect(await t.tasks.claimOne(workerId, { labels: ["a,b"] })).toMatchObject({ seq: 2, requires: ["a,b"] });
      expect(await t.tasks.claimOne(workerId, { labels: ["a", "b"] })).toMatchObject({ seq: 1, requires: ["a", "b"] });
    },

    "higher priority first, and within one kind the longest due first": async (t) => {
      const holder = await t.held();
      const order = [0, 5, -5, 0, 5];
      for (const priority of order) {
        await holder.schedule([{ priority }]);
        await t.advance(1);
      }
      const { tasks } = await t.tasks.claim(await t.worker());
      expect(tasks.map(({ seq }) => seq)).toEqual([2, 5, 1, 4, 3]);
    },

    "priority counts across queues, names and labels": async (t) => {
      const holder = await t.held();
      await holder.schedule([
        { queue: "a", priority: 1 },
        { name: "sms", queue: "b", priority: 3 },
        { requires: ["gpu"], queue: "a", priority: 2 },
        { queue: "b", priority: 4 },
      ]);
      const workerId = await t.worker();
      const claim = { queues: ["a", "b"], names: ["mail", "sms"], labels: ["gpu"] };
      const first = await t.tasks.claim(workerId, { ...claim, limit: 2 });
      expect(first.tasks.map(({ seq }) => seq)).toEqual([4, 2]);
      expect((await t.tasks.claim(workerId, claim)).tasks.map(({ seq }) => seq)).toEqual([3, 1]);
    },

    "no more than the limit are claimed, and the answer says that more are due": async (t) => {
      const holder = await t.held();
      for (let i = 0; i < 5; i++) {
        await holder.schedule([{}]);
        await t.advance(1);
      }
      const workerId = await t.worker();
      const first = await t.tasks.claim(workerId, { limit: 2 });
      expect(first).toMatchObject({ moreDue: true, nextDueAt: null });
      expect(first.tasks.map(({ seq }) => seq)).toEqual([1, 2]);
      const second = await t.tasks.claim(workerId, { limit: 3 });
      expect(second).toMatchObject({ moreDue: false, nextDueAt: null });
      expect(second.tasks.map(({ seq }) => seq)).toEqual([3, 4, 5]);
    },

    "tasks that the worker cannot do are neither more to do nor next": async (t) => {
      const holder = await t.held();
      await holder.schedule([{ queue: "x" }, { name: "sms" }, { requires: ["gpu"] }, {}]);
      await t.tasks.scheduled({}, { namespace: "other" });
      const workerId = await t.worker();
      expect(await t.tasks.claim(workerId, { limit: 1 })).toMatchObject({ moreDue: false, nextDueAt: null });
      expect(await t.tasks.claim(workerId)).toMatchObject({ tasks: [], moreDue: false, nextDueAt: null });
    },

    "a task that waits for its next attempt is not claimed before its time": async (t) => {
      const { task } = await t.tasks.held();
      const other = await t.tasks.held();
      await t.tasks.finish(task, retried(500));
      await t.tasks.finish(other.task, retried(900));
      const workerId = await t.worker();
      const dueAt = t.now + 500;
      expect(await t.tasks.claim(workerId)).toMatchObject({ tasks: [], moreDue: false, nextDueAt: dueAt });
      expect(await t.tasks.claim(workerId, { names: ["sms"] })).toMatchObject({ nextDueAt: null });
      expect(await t.tasks.claim(workerId, { queues: ["x"] })).toMatchObject({ nextDueAt: null });
      await t.advance(499);
      expect(await t.tasks.claim(workerId)).toMatchObject({ tasks: [], nextDueAt: dueAt });
      await t.advance(1);
      const answer = await t.tasks.claim(workerId);
      expect(answer).toMatchObject({ tasks: [{ runId: task.runId, attempt: 2 }], nextDueAt: dueAt + 400 });
    },

    "a task that was retried goes behind those that have been due for longer": async (t) => {
      const { task } = await t.tasks.held();
      await t.tasks.finish(task, retried(10));
      await t.advance(5);
      const { key } = await t.tasks.scheduled();
      await t.advance(5);
      const { tasks } = await t.tasks.claim(await t.worker());
      expect(tasks.map(({ runId }) => runId)).toEqual([key.runId, task.runId]);
    },

    "the most urgent tasks are claimed first, however many kinds there are": async (t) => {
      const holder = await t.held();
      const names = Array.from({ length: 60 }, (_, i) => `kind ${i}`);
      await holder.schedule(names.map((name, i) => ({ name, queue: `queue ${i % 3}`, priority: (i * 7) % 60 })));
      const workerId = await t.worker();
      const params = { names, queues: ["queue 0", "queue 1", "queue 2"] };
      const first = await t.tasks.claim(workerId, { ...params, limit: 20 });
      expect(first.tasks.map(({ priority }) => priority)).toEqual(Array.from({ length: 20 }, (_, i) => 59 - i));
      expect(first.moreDue).toBe(true);
      const rest = await t.tasks.claim(workerId, params);
      expect(rest.tasks.map(({ priority }) => priority)).toEqual(Array.from({ length: 40 }, (_, i) => 39 - i));
      expect(rest.moreDue).toBe(false);
    },

    "a task of a kind that is new since the last claim is claimed, wherever it was scheduled": async (t) => {
      const second = await t.second();
      const [here, there] = [await t.worker(), await t.worker()];
      const claim = (store: Store, workerId: string, name: string) =>
        store.tasks.claim(t.tasks.claimParams(workerId, { names: [name], labels: ["gpu"] }));
      const holder = await t.held();
      for (const [i, name] of ["a", "b", "c"].entries()) {
        for (const store of [t.store, second]) expect((await claim(store, here, name)).tasks).toEqual([]);
        const [by, from] = i % 2 === 0 ? [t.store, second] : [second, t.store];
        const draft = holder.draftTasks([{ name }, { name, requires: ["gpu"] }, { name, priority: i + 1 }]);
        await by.runs.commit({ commits: [draft] });
        holder.follow(draft);
        expect((await claim(from, there, name)).tasks).toHaveLength(3);
      }
    },

    "a kind whose tasks were all done is claimed again when one comes": async (t) => {
      const workerId = await t.worker();
      for (let i = 0; i < 3; i++) {
        const { holder, task } = await t.tasks.held({ name: "rare", requires: ["gpu"] }, workerId);
        expect(await t.tasks.finish(task, COMPLETED)).toBe("done");
        await holder.commit(end());
        await t.advance(10);
        await t.store.runs.purge({ namespace: "default", endedBefore: t.now, limit: 10 });
        expect((await t.tasks.claim(workerId, { names: ["rare"], labels: ["gpu"] })).tasks).toEqual([]);
      }
    },

    "a repeated claim returns what it has claimed, and no more": async (t) => {
      const holder = await t.held();
      await holder.schedule([{}, {}, {}]);
      const params = t.tasks.claimParams(await t.worker(), { limit: 2 });
      const first = await t.store.tasks.claim(params);
      const again = await t.store.tasks.claim({ ...params, again: true });
      expect(again.live).toBe(true);
      expect([...again.tasks].sort((a, b) => a.seq - b.seq)).toEqual([...first.tasks].sort((a, b) => a.seq - b.seq));
      expect((await t.store.tasks.claim({ ...params, again: true })).tasks).toHaveLength(2);
      const claimId = t.newId();
      expect((await t.store.tasks.claim({ ...params, claimId, again: true })).tasks).toHaveLength(1);
    },

    "a repeated claim returns only what is still held under its id": async (t) => {
      const holder = await t.held();
      await holder.schedule([{}, {}]);
      const params = t.tasks.claimParams(await t.worker());
      const { tasks } = await t.store.tasks.claim(params);
      await t.tasks.finish(tasks[0] as NonNullable<(typeof tasks)[0]>, { type: "external" });
      const again = await t.store.tasks.claim({ ...params, again: true });
      expect(again.tasks).toEqual(tasks.slice(1));
    },

    "tasks that are held from the beginning are found under their claim": async (t) => {
      const workerId = await t.worker();
      const holder = await t.held();
      const claimId = t.newId();
      await holder.schedule([{ holdBy: { workerId, claimId } }, {}]);
      const { tasks } = await t.tasks.claim(workerId, { claimId, again: true });
      expect(tasks.map(({ seq, epoch }) => [seq, epoch])).toEqual([[1, 1]]);
    },

    "a claim of one worker is not the claim of another": async (t) => {
      const { task } = await t.tasks.held();
      const claimId = task.claimId as string;
      expect((await t.tasks.claim(await t.worker(), { claimId, again: true })).tasks).toEqual([]);
    },

    "a worker counts and knows the tasks that it holds": async (t) => {
      const workerId = await t.worker({ tasks: ["mail", "sms"] });
      const holder = await t.held();
      await holder.schedule([{}, {}, {}]);
      const { tasks } = await t.tasks.claim(workerId, { limit: 2 });
      const ref = { namespace: "default", workerId };
      const rows = await t.store.workers.list({ namespace: "default" });
      expect(rows.find((row) => row.workerId === workerId)).toMatchObject({
        tasks: ["mail", "sms"],
        activeTasks: 2,
        activeRuns: 0,
      });
      expect(rows.find((row) => row.workerId === holder.workerId)).toMatchObject({ activeTasks: 0, activeRuns: 1 });
      const held = await t.store.workers.readHeldTasks(ref);
      expect([...held].sort((a, b) => a.seq - b.seq)).toEqual(
        tasks.map(({ runId, seq }) => ({ runId, seq, epoch: 1, canceled: false })).sort((a, b) => a.seq - b.seq),
      );
      expect(await t.store.workers.readHeld(ref)).toEqual([]);
      expect(await t.store.workers.heartbeat({ ...ref, leaseMs: 5_000, draining: false })).toMatchObject({
        live: true,
        heldCount: 0,
        heldTasks: 2,
        canceledTasks: [],
      });
    },

    "a worker that names no tasks is listed with none": async (t) => {
      await t.worker();
      const [row] = await t.store.workers.list({ namespace: "default" });
      expect(row?.tasks ?? []).toEqual([]);
    },

    "an inbox, and the run's own row, are left alone by a claim": async (t) => {
      const { holder, key } = await t.tasks.scheduled();
      const before = await t.run(holder.runId);
      await t.tasks.claimOne(await t.worker());
      expect(await t.run(holder.runId)).toEqual(before);
      expect(await t.inbox(key.runId)).toEqual([]);
      expect(await t.history(key.runId)).toEqual([taskEvent(newTask(1))]);
      expect(await holder.commit(HOLD)).toMatchObject({ outcome: "written", held: true });
    },
  },
};
