import type { NewTask } from "holdfast/adapter";
import { expect } from "vitest";
import { PAIRS, TEXTS } from "../../odd-texts.ts";
import { bytes, HOLD } from "../../sample-data.ts";
import { COMPLETED, failed, failure, newTask, retried, taskEvent } from "../../sample-tasks.ts";
import type { Suite } from "../../suite.ts";

/** Texts of tasks that stores are known to break on. */
export const taskTexts: Suite = {
  noun: "task texts",
  cases: {
    "a task keeps every name that it was given, and is claimed by it": async (t) => {
      for (const text of TEXTS) {
        const fields = { op: text, name: text, queue: text, requires: [text] };
        const { key, holder } = await t.tasks.scheduled(fields, { namespace: text });
        expect(await t.tasks.read(key, text)).toMatchObject(fields);
        const params = { namespace: text, names: [text], queues: [text], labels: [text] };
        const task = await t.tasks.claimOne(await t.worker({ namespace: text, tasks: [text] }), params);
        expect(task).toMatchObject(fields);
        const filter = { namespace: text, name: text, queue: text, limit: 10 };
        expect(await t.store.tasks.list(filter)).toEqual([task]);
        expect(await t.tasks.finish(task, COMPLETED)).toBe("done");
        const inbox = await t.store.inbox.read({ runs: [{ namespace: text, runId: holder.runId, after: 0 }] });
        expect(inbox).toMatchObject([{ name: text }]);
      }
    },

    "texts that look alike are not the same": async (t) => {
      const workerId = await t.worker();
      for (const [one, other] of PAIRS) {
        const plain: Pick<NewTask, "name" | "queue" | "requires"> = { name: "mail", queue: "default", requires: [] };
        for (const kind of [{ name: one }, { queue: one }, { requires: [one] }]) {
          const { name, queue, requires } = { ...plain, ...kind };
          const { holder } = await t.tasks.scheduled(kind);
          const swap = (text: string) => (text === one ? other : text);
          const wrong = { names: [swap(name)], queues: [swap(queue)], labels: requires.map(swap) };
          expect((await t.tasks.claim(workerId, wrong)).tasks).toEqual([]);
          expect(await t.store.tasks.list({ namespace: "default", name: other, limit: 9 })).toEqual([]);
          expect(await t.store.tasks.list({ namespace: "default", queue: other, limit: 9 })).toEqual([]);
          const right = { names: [name], queues: [queue], labels: requires };
          expect((await t.tasks.claim(workerId, right)).tasks).toHaveLength(1);
          await holder.commit(HOLD, { dropTasks: true });
        }
      }
    },

    "tasks with labels that look alike stand in different lines": async (t) => {
      const holder = await t.held();
      await holder.schedule(PAIRS.map(([text]) => ({ requires: [text] })));
      await t.advance(1);
      await holder.schedule(PAIRS.map(([, text]) => ({ requires: [text] })));
      for (let i = 0; i < PAIRS.length; i++) {
        const seq = PAIRS.length + 1 + i;
        const position = await t.store.tasks.position({ namespace: "default", runId: holder.runId, seq, atMost: 9 });
        expect(position).toBe(0);
      }
    },

    "failures and options are kept as they are, whatever is in them": async (t) => {
      const texts = [...TEXTS, "\u0000", "\ud83d", "a\nb\tc"];
      const failures = texts.map((text, i) => failure(i + 1, { name: text, message: text, code: text }));
      const holder = await t.held();
      const asked = newTask(1);
      const spec = { name: "\u0000 \ud83d", requires: texts, key: "\u0000", priority: 0.5 };
      const events = [{ ...taskEvent(asked), meta: { task: spec } }];
      await holder.commit(HOLD, { events, tasks: [asked] });
      const task = await t.tasks.claimOne(await t.worker());
      expect(task.spec).toEqual(spec);
      await t.tasks.finish(task, retried(0, failures));
      const again = await t.tasks.claimOne(await t.worker());
      expect(again.failures).toEqual(failures);
      await t.tasks.beat(again, bytes("\u0000 \ud83d\ude00"));
      await t.tasks.finish(again, failed(true, failures.slice(1)));
      expect(await t.tasks.read(again)).toMatchObject({
        status: "dead",
        failures: failures.slice(1),
        details: bytes("\u0000 \ud83d\ude00"),
        spec,
      });
    },
  },
};
