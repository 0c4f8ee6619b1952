import type { ListTasksParams, TaskKey } from "holdfast/adapter";
import { expect } from "vitest";
import type { Fixture } from "../../fixture.ts";
import { HOLD } from "../../sample-data.ts";
import { failed, newTask, retried, taskEvent } from "../../sample-tasks.ts";
import type { Suite } from "../../suite.ts";

/** What can be seen of tasks from outside. */
export const taskListing: Suite = {
  noun: "task listing",
  cases: {
    "tasks are read by their keys, and null stands for those that do not exist": async (t) => {
      const [one, two] = [await t.tasks.scheduled(), await t.tasks.scheduled()];
      const missing = { runId: t.newId(), seq: 1 };
      const keys = [two.key, missing, one.key, { ...one.key, seq: 2 }];
      const found = await t.store.tasks.read({ namespace: "default", tasks: keys });
      expect(found.map((task) => task?.runId ?? null)).toEqual([two.key.runId, null, one.key.runId, null]);
    },

    "tasks are listed by run and seq": async (t) => {
      const holders = [await t.held(), await t.held(), await t.held()];
      for (const holder of [...holders].reverse()) await holder.schedule([{}, { external: true }, {}]);
      const listed = await t.store.tasks.list({ namespace: "default", limit: 100 });
      expect(listed.map(({ runId, seq }) => [runId, seq])).toEqual(
        holders.flatMap(({ runId }) => [1, 2, 3].map((seq) => [runId, seq])),
      );
      expect(listed[4]).toEqual(await t.tasks.read({ runId: holders[1]?.runId as string, seq: 2 }));
    },

    "a list is read page by page": async (t) => {
      const holders = [await t.held(), await t.held()];
      for (const holder of holders) await holder.schedule(Array.from({ length: 11 }, () => ({})));
      const seen: TaskKey[] = [];
      for (let after: TaskKey | undefined; ; after = seen.at(-1)) {
        const page = await t.store.tasks.list({ namespace: "default", limit: 3, ...(after && { after }) });
        seen.push(...page.map(({ runId, seq }) => ({ runId, seq })));
        if (page.length < 3) break;
      }
      expect(seen).toEqual(
        holders.flatMap(({ runId }) => Array.from({ length: 11 }, (_, i) => ({ runId, seq: i + 1 }))),
      );
    },

    "a page may begin after a task that is gone": async (t) => {
      const holder = await t.held();
      await holder.schedule([{}, {}, {}]);
      await holder.commit(HOLD, { settled: [2] });
      const after = { runId: holder.runId, seq: 2 };
      const page = await t.store.tasks.list({ namespace: "default", limit: 10, after });
      expect(page.map(({ seq }) => seq)).toEqual([3]);
    },

    "a list is narrowed by name, queue, status and run": async (t) => {
      const holder = await t.held();
      await holder.schedule([
        { name: "sms" },
        { queue: "slow" },
        { external: true },
        { priority: 9 },
        { priority: 8 },
        { queue: "slow", name: "sms" },
      ]);
      const other = await t.tasks.scheduled();
      const workerId = await t.worker();
      const { tasks } = await t.tasks.claim(workerId, { limit: 2 });
      await t.tasks.finish(tasks[0] as NonNullable<(typeof tasks)[0]>, failed(true));
      const here = await seqs(t, { runId: holder.runId });
      expect(here).toEqual([1, 2, 3, 4, 5, 6]);
      const narrowed = async (fields: Partial<ListTasksParams>) => seqs(t, { runId: holder.runId, ...fields });
      expect(await narrowed({ name: "sms" })).toEqual([1, 6]);
      expect(await narrowed({ queue: "slow" })).toEqual([2, 6]);
      expect(await narrowed({ queue: "slow", name: "sms" })).toEqual([6]);
      expect(await narrowed({ status: "due" })).toEqual([1, 2, 6]);
      expect(await narrowed({ status: "held" })).toEqual([5]);
      expect(await narrowed({ status: "external" })).toEqual([3]);
      expect(await narrowed({ status: "dead" })).toEqual([4]);
      expect(await narrowed({ status: "dead", name: "sms" })).toEqual([]);
      expect(await narrowed({ status: "due", after: { runId: holder.runId, seq: 1 }, limit: 1 })).toEqual([2]);
      expect(await seqs(t, { name: "fax" })).toEqual([]);
      expect(await seqs(t, { queue: "fast" })).toEqual([]);
      expect(await seqs(t, { runId: t.newId() })).toEqual([]);
      const due = await t.store.tasks.list({ namespace: "default", status: "due", name: "mail", limit: 10 });
      expect(due.map(({ runId, seq }) => [runId, seq])).toEqual([
        [holder.runId, 2],
        [other.key.runId, 1],
      ]);
    },

    "a list shows each task with its own input": async (t) => {
      const holder = await t.held();
      const tasks = [newTask(1), newTask(2), newTask(3, { inputSeq: 1 })];
      await holder.commit(HOLD, { events: tasks.map((task) => taskEvent(task)), tasks });
      const listed = await t.store.tasks.list({ namespace: "default", limit: 10 });
      const inputs = listed.map(({ input }) => new TextDecoder().decode(input ?? undefined));
      expect(inputs).toEqual(['"input 1"', '"input 2"', '"input 1"']);
    },

    "the position of a due task is how many come before it": async (t) => {
      const holder = await t.held();
      for (let i = 0; i < 4; i++) {
        await holder.schedule([{}]);
        await t.advance(1);
      }
      await holder.schedule([{ priority: 3 }]);
      expect(await positions(t, holder.runId, 5)).toEqual([1, 2, 3, 4, 0]);
      expect(await t.store.tasks.position({ namespace: "default", runId: holder.runId, seq: 4, atMost: 2 })).toBe(2);
      await t.tasks.claim(await t.worker(), { limit: 2 });
      expect(await positions(t, holder.runId, 5)).toEqual([null, 0, 1, 2, null]);
    },

    "tasks of another queue, name, namespace or other labels are no part of the line": async (t) => {
      const holder = await t.held();
      await holder.schedule([{ queue: "x" }, { name: "sms" }, { requires: ["gpu"] }]);
      await t.tasks.scheduled({}, { namespace: "other" });
      await t.advance(1);
      await holder.schedule([{ priority: -1 }, { requires: ["gpu"] }, { requires: ["gpu", "smtp"] }]);
      expect(await positions(t, holder.runId, 6)).toEqual([0, 0, 0, 0, 1, 0]);
    },

    "what waits for its time does not stand in line": async (t) => {
      const { task, key } = await t.tasks.held({ priority: 9 });
      await t.tasks.finish(task, retried(1_000));
      const { holder } = await t.tasks.scheduled();
      expect(await t.store.tasks.position({ namespace: "default", ...key, atMost: 10 })).toBeNull();
      expect(await positions(t, holder.runId, 1)).toEqual([0]);
      await t.advance(1_000);
      expect(await t.store.tasks.position({ namespace: "default", ...key, atMost: 10 })).toBe(0);
      expect(await positions(t, holder.runId, 1)).toEqual([1]);
    },

    "what is held, external, dead, canceled or gone has no position": async (t) => {
      const { task, key, holder } = await t.tasks.held();
      const position = (one: TaskKey) => t.store.tasks.position({ namespace: "default", ...one, atMost: 10 });
      expect(await position(key)).toBeNull();
      await t.tasks.finish(task, failed(true));
      expect(await position(key)).toBeNull();
      const [external, canceled] = await holder.schedule([{ external: true }, {}]);
      await t.tasks.cancel(canceled as TaskKey);
      for (const one of [external as TaskKey, canceled as TaskKey, { runId: t.newId(), seq: 1 }])
        expect(await position(one)).toBeNull();
    },
  },
};

async function seqs(t: Fixture, filter: Partial<ListTasksParams>): Promise<readonly number[]> {
  const tasks = await t.store.tasks.list({ namespace: "default", limit: 100, ...filter });
  return tasks.map(({ seq }) => seq);
}

/** Of the tasks 1…count of a run. */
async function positions(t: Fixture, runId: string, count: number): Promise<readonly (number | null)[]> {
  const all: (number | null)[] = [];
  for (let seq = 1; seq <= count; seq++)
    all.push(await t.store.tasks.position({ namespace: "default", runId, seq, atMost: 10 }));
  return all;
}
