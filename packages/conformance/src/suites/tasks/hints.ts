import { type Hint, TASK_GRACE_MS, type TaskKey } from "holdfast/adapter";
import { expect } from "vitest";
import { due, expectHints, taskDue } from "../../expected-hints.ts";
import { errorRecord, HOLD, LEASE_MS, suspend } from "../../sample-data.ts";
import { BY_EXPIRY, byToken, COMPLETED, failed, GIVEN_BACK, MADE_EXTERNAL, retried } from "../../sample-tasks.ts";
import type { Suite } from "../../suite.ts";

/** As for runs: extra hints are not tested, but a store without them would make everything poll. */
export const taskHints: Suite = {
  noun: "task hints",
  cases: {
    "a task that is scheduled, given back or retried is hinted as due": async (t) => {
      const holder = await t.held();
      await expectHints(t, [taskDue("q")], () => holder.schedule([{ queue: "q" }]));
      const workerId = await t.worker();
      const claim = () => t.tasks.claimOne(workerId, { queues: ["q"] });
      const first = await claim();
      await expectHints(t, [taskDue("q")], () => t.tasks.finish(first, GIVEN_BACK));
      const second = await claim();
      await expectHints(t, [taskDue("q")], () => t.tasks.finish(second, retried(0)));
      const third = await claim();
      await expectHints(t, [taskDue("q", t.now + 300)], () => t.tasks.finish(third, retried(300)));
    },

    "a task of a worker that stops or dies is hinted as due": async (t) => {
      const { workerId } = await t.tasks.held({ queue: "q" });
      await expectHints(t, [taskDue("q")], () => t.store.workers.stop({ namespace: "default", workerId }));
      await t.tasks.claimOne(await t.worker(), { queues: ["q"] });
      await t.advance(LEASE_MS);
      await expectHints(t, [taskDue("q")], () => t.sweep());
    },

    "a result is hinted to the holder of its run, or as due if there is none": async (t) => {
      const { task, holder } = await t.tasks.held();
      const { runId, workerId } = holder;
      await expectHints(t, [{ type: "inbox", runId, workerId }], () => t.tasks.finish(task, COMPLETED));
      const run = await t.held({ queue: "runs" }, holder.workerId);
      await run.send(run.draftTasks([{}], suspend(null)));
      const other = await t.tasks.claimOne(await t.worker());
      await expectHints(t, [due("runs")], () => t.tasks.finish(other, failed(false)));
    },

    "the holder of a task is hinted that it was canceled": async (t) => {
      const { key, workerId } = await t.tasks.held();
      await expectHints(t, [lostBy(key, workerId)], () => t.tasks.cancel(key));
    },

    "the holder of a task is hinted that its run has settled or dropped it": async (t) => {
      const one = await t.tasks.held();
      await expectHints(t, [lostBy(one.key, one.workerId)], () => one.holder.commit(HOLD, { settled: [1] }));
      const two = await t.tasks.held();
      await expectHints(t, [lostBy(two.key, two.workerId)], () => two.holder.commit(HOLD, { dropTasks: true }));
    },

    "the worker of a commit is not hinted about the tasks that the commit settles or drops": async (t) => {
      const heard: Hint[] = [];
      const holder = await t.held();
      const keys = await holder.schedule([{}, {}]);
      await t.tasks.claim(holder.workerId);
      t.notifier.subscribe((hint) => heard.push(hint));
      await holder.commit(HOLD, { settled: [keys[0]?.seq as number] });
      await holder.commit(HOLD, { dropTasks: true });
      await expectHints(t, [due("last")], () => t.start({ queue: "last" }));
      expect(heard.filter(({ type }) => type === "task")).toEqual([]);
    },

    "the holder of a task is hinted that its run was terminated or replaced": async (t) => {
      const one = await t.tasks.held();
      await expectHints(t, [lostBy(one.key, one.workerId)], () =>
        t.store.runs.terminate({ runs: [t.ref(one.holder.runId)], error: errorRecord("stop") }),
      );
      const two = await t.tasks.held();
      const { id } = await t.run(two.holder.runId);
      await expectHints(t, [lostBy(two.key, two.workerId)], () => t.start({ id }, { ifRunning: "replace" }));
    },

    "the holder of a task is hinted that someone else has finished it": async (t) => {
      const one = await t.tasks.held();
      const by = byToken(one.task, t.newId());
      await expectHints(t, [lostBy(one.key, one.workerId)], () => t.tasks.finish(one.task, COMPLETED, by));
      const two = await t.tasks.held({ timeoutMs: 10 });
      await t.advance(10 + TASK_GRACE_MS);
      const expire = () => t.tasks.finish(two.task, retried(0), BY_EXPIRY);
      await expectHints(t, [lostBy(two.key, two.workerId), taskDue("default")], expire);
    },

    "tasks that nobody holds are hinted to nobody": async (t) => {
      const heard: Hint[] = [];
      const { task, holder } = await t.tasks.held();
      await t.tasks.finish(task, MADE_EXTERNAL);
      const [other] = await holder.schedule([{ queue: "z" }]);
      t.notifier.subscribe((hint) => heard.push(hint));
      await t.tasks.cancel(task);
      await t.tasks.cancel(other as TaskKey);
      await holder.commit(HOLD, { settled: [1, 2] });
      await expectHints(t, [due("last")], () => t.start({ queue: "last" }));
      expect(heard.filter(({ type }) => type === "task")).toEqual([]);
    },

    "hints about tasks reach other connections, where the notifier says so": async (t) => {
      const second = await t.underTest.openSecond?.();
      if (!second || !t.underTest.hintsReachOthers) return;
      const { key, workerId } = await t.tasks.held();
      await expectHints(t, [lostBy(key, workerId)], () => t.tasks.cancel(key), second.notifier);
      const holder = await t.held();
      await expectHints(t, [taskDue("q")], () => holder.schedule([{ queue: "q" }]), second.notifier);
    },
  },
};

function lostBy({ runId, seq }: TaskKey, workerId: string): Hint {
  return { type: "task", runId, seq, workerId };
}
