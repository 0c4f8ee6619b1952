import type { QueueState, Task } from "holdfast/adapter";
import { expect } from "vitest";
import type { Fixture } from "../../fixture.ts";
import { end, errorRecord, HOLD, LEASE_MS } from "../../sample-data.ts";
import { COMPLETED, failed, GIVEN_BACK, MADE_EXTERNAL, retried } from "../../sample-tasks.ts";
import type { Suite } from "../../suite.ts";

const STOP = errorRecord("stop");

async function load(t: Fixture): Promise<QueueState["tasks"]> {
  return (await t.queues.read("mails")).tasks;
}

/** A run with so many due tasks in the queue with limits. */
async function withTasks(t: Fixture, keys: readonly (string | undefined)[], runKey?: string) {
  const workerId = await t.worker({ leaseMs: 100_000_000 });
  const holder = await t.held(runKey === undefined ? {} : { key: runKey }, workerId);
  const tasks = keys.map((key) => ({ queue: "mails", ...(key === undefined ? {} : { key }) }));
  return { holder, keys: await holder.schedule(tasks) };
}

/** Places of tasks: from the claim to the end of the attempt. */
export const taskPlaces: Suite = {
  noun: "places of tasks",
  cases: {
    "a claim takes as many tasks as there are places, and every end of an attempt gives one back": async (t) => {
      await t.queues.set({ concurrency: 2 }, "mails");
      const { holder } = await withTasks(
        t,
        Array.from({ length: 9 }, () => undefined),
      );
      const worker = await t.worker({ leaseMs: 100_000_000 });
      const claim = async (): Promise<readonly Task[]> => (await t.tasks.claim(worker, { queues: ["mails"] })).tasks;
      const [a, b] = await claim();
      expect(b).toBeDefined();
      expect(await claim()).toEqual([]);
      expect(await load(t)).toMatchObject({ waiting: 7, running: 2 });
      await t.tasks.finish(a as Task, COMPLETED);
      await t.tasks.finish(b as Task, retried(1_000));
      const [c, d] = await claim();
      expect(await claim()).toEqual([]);
      await t.tasks.finish(c as Task, failed(true));
      await t.tasks.finish(d as Task, MADE_EXTERNAL);
      const [e, f] = await claim();
      await t.tasks.finish(e as Task, GIVEN_BACK);
      await holder.commit(HOLD, { settled: [(f as Task).seq] });
      expect(await load(t)).toMatchObject({ running: 0 });
      expect(await claim()).toHaveLength(2);
      await t.store.runs.terminate({ runs: [t.ref(holder.runId)], error: STOP });
      expect(await load(t)).toMatchObject({ waiting: 0, running: 0, holders: [] });
    },

    "a commit does not hold a task in a queue with limits": async (t) => {
      await t.queues.set({ concurrency: 5 }, "mails");
      const workerId = await t.worker();
      const holder = await t.held({}, workerId);
      const commit = holder.draftTasks([{ queue: "mails", holdBy: { workerId, claimId: t.newId() } }]);
      expect((await holder.send(commit)).tasksHeld).toEqual([]);
      expect((await t.tasks.claim(workerId, { queues: ["mails"] })).tasks).toHaveLength(1);
    },

    "a task has the key of its run, unless it names one": async (t) => {
      await t.queues.set({ perKey: { concurrency: 1 } }, "mails");
      await withTasks(t, [undefined, undefined, "own", "own"], "tenant");
      await withTasks(t, [undefined, undefined]);
      const worker = await t.worker();
      const { tasks } = await t.tasks.claim(worker, { queues: ["mails"] });
      expect(tasks).toHaveLength(4);
      const { holders } = await load(t);
      expect(holders.map(({ key }) => key ?? "").sort()).toEqual(["", "", "own", "tenant"]);
      expect(holders[0]?.op).toMatch(/^mail/);
    },

    "the places of a dead worker's tasks are given back": async (t) => {
      await t.queues.set({ concurrency: 1 }, "mails");
      await withTasks(t, [undefined]);
      const mortal = await t.worker();
      const { tasks } = await t.tasks.claim(mortal, { queues: ["mails"] });
      expect(tasks).toHaveLength(1);
      await t.advance(LEASE_MS * 2);
      await t.sweep();
      const worker = await t.worker();
      expect((await t.tasks.claim(worker, { queues: ["mails"] })).tasks).toMatchObject([{ epoch: 3, attempt: 1 }]);
      expect(await load(t)).toMatchObject({ running: 1 });
    },

    "a suspect keeps its place until it was executed alone, so that the limit holds": async (t) => {
      await t.queues.set({ concurrency: 1 }, "mails");
      await withTasks(t, [undefined]);
      const queues = ["mails"];
      for (let i = 0; i < 2; i++) {
        expect((await t.tasks.claim(await t.worker(), { queues })).tasks).toHaveLength(1);
        await t.advance(LEASE_MS * 2);
        await t.sweep();
      }
      await withTasks(t, [undefined]);
      expect(await load(t)).toMatchObject({ running: 1 });
      const worker = await t.worker();
      expect(await t.tasks.claim(worker, { queues })).toMatchObject({ tasks: [], suspectDue: true });
      const [suspect] = (await t.tasks.claim(worker, { queues, solo: true })).tasks;
      expect(suspect).toMatchObject({ suspect: true });
      expect((await t.tasks.claim(worker, { queues })).tasks).toEqual([]);
      await t.tasks.finish(suspect as Task, COMPLETED);
      expect((await t.tasks.claim(worker, { queues })).tasks).toHaveLength(1);
      expect(await load(t)).toMatchObject({ waiting: 0, running: 1 });
    },

    "limits that are set later give a place to a suspect": async (t) => {
      await withTasks(t, [undefined]);
      const queues = ["mails"];
      for (let i = 0; i < 2; i++) {
        expect((await t.tasks.claim(await t.worker(), { queues })).tasks).toHaveLength(1);
        await t.advance(LEASE_MS * 2);
        await t.sweep();
      }
      await t.queues.set({ concurrency: 1 }, "mails");
      expect(await load(t)).toMatchObject({ running: 1 });
      await withTasks(t, [undefined]);
      expect((await t.tasks.claim(await t.worker(), { queues })).tasks).toEqual([]);
    },

    "a task that becomes a dead letter while it waits does not wait any more": async (t) => {
      await t.queues.set({ concurrency: 0 }, "mails");
      const workerId = await t.worker({ leaseMs: 100_000_000 });
      const holder = await t.held({}, workerId);
      await holder.schedule([{ queue: "mails", startTimeoutMs: 1_000 }]);
      expect((await t.tasks.claim(workerId, { queues: ["mails"] })).tasks).toEqual([]);
      await t.advance(1_000);
      const { tasks } = await t.store.tasks.expired({ limit: 10 });
      await t.tasks.finish(tasks[0] as Task, failed(true), { type: "expiry" });
      expect(await load(t)).toMatchObject({ waiting: 0, running: 0 });
      await t.queues.set({ concurrency: 1 }, "mails");
      expect((await t.tasks.claim(workerId, { queues: ["mails"] })).tasks).toEqual([]);
    },

    "a task that waits is canceled, expires and goes with its run, and the line knows": async (t) => {
      await t.queues.set({ concurrency: 0 }, "mails");
      const workerId = await t.worker({ leaseMs: 100_000_000 });
      const holder = await t.held({}, workerId);
      const [a, b] = await holder.schedule([
        { queue: "mails", startTimeoutMs: 1_000 },
        { queue: "mails" },
        { queue: "mails" },
      ]);
      const claim = async () => (await t.tasks.claim(workerId, { queues: ["mails"] })).tasks;
      expect(await claim()).toEqual([]);
      expect(await load(t)).toMatchObject({ waiting: 3 });
      expect(await t.tasks.cancel(b as never)).toBe("never_began");
      expect(await load(t)).toMatchObject({ waiting: 2 });
      await t.advance(1_000);
      const { tasks } = await t.store.tasks.expired({ limit: 10 });
      expect(tasks).toMatchObject([{ seq: a?.seq, expires: "start_timeout" }]);
      await t.tasks.finish(tasks[0] as Task, failed(false), { type: "expiry" });
      expect(await load(t)).toMatchObject({ waiting: 1 });
      await holder.commit(end(), { dropTasks: true });
      expect(await load(t)).toMatchObject({ waiting: 0 });
    },

    "limits that are set later count the tasks that are held, and without limits all are due": async (t) => {
      const { keys } = await withTasks(t, [undefined, undefined, undefined]);
      const worker = await t.worker();
      const queues = ["mails"];
      const [first] = (await t.tasks.claim(worker, { queues, limit: 1 })).tasks;
      await t.queues.set({ concurrency: 1 }, "mails");
      expect((await t.tasks.claim(worker, { queues })).tasks).toEqual([]);
      await t.tasks.finish(first as Task, COMPLETED);
      expect((await t.tasks.claim(worker, { queues })).tasks).toHaveLength(1);
      await t.queues.set(null, "mails");
      expect((await t.tasks.claim(worker, { queues })).tasks).toMatchObject([{ seq: keys[2]?.seq }]);
    },

    "a rate holds for attempts of tasks": async (t) => {
      await t.queues.set({ rate: { limit: 1, perMs: 1_000, burst: 1 } }, "mails");
      await withTasks(t, [undefined, undefined]);
      const worker = await t.worker();
      const at = t.now;
      expect((await t.tasks.claim(worker, { queues: ["mails"] })).tasks).toHaveLength(1);
      expect((await t.tasks.claim(worker, { queues: ["mails"] })).nextDueAt).toBe(at + 1_000);
      await t.advance(1_000);
      expect((await t.tasks.claim(worker, { queues: ["mails"] })).tasks).toHaveLength(1);
    },
  },
};
