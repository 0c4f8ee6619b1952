import { TASK_GRACE_MS, taskMessageId } from "holdfast/adapter";
import { expect } from "vitest";
import { bytes, end, HOLD, park, suspend } from "../../sample-data.ts";
import {
  byHolder,
  byToken,
  COMPLETED,
  failed,
  failure,
  GIVEN_BACK,
  MADE_EXTERNAL,
  retried,
} from "../../sample-tasks.ts";
import type { Suite } from "../../suite.ts";

/** How attempts end. tokens.ts has those that someone with a token ends, limits.ts those that time ends. */
export const taskFinishes: Suite = {
  noun: "task finishes",
  cases: {
    "a result goes into the inbox of its run, and the task is gone": async (t) => {
      const { holder, task, key } = await t.tasks.held({ op: "charge#2" });
      await t.advance(7);
      const finishes = [t.tasks.finishParams(task, COMPLETED)];
      expect(await t.store.tasks.finish({ finishes })).toEqual({ outcomes: [{ outcome: "done" }], now: t.now });
      expect(await t.tasks.find(key)).toBeNull();
      expect(await t.inbox(holder.runId)).toEqual([
        {
          runId: holder.runId,
          number: 1,
          kind: "task_completed",
          name: "charge#2",
          messageId: taskMessageId(1, 1),
          payload: bytes('"sent"'),
          at: t.now,
        },
      ]);
      expect(await t.run(holder.runId)).toMatchObject({ delivered: 1, consumed: 0, heldBy: holder.workerId });
      const ref = { namespace: "default", workerId: task.heldBy as string };
      expect(await t.store.workers.readHeldTasks(ref)).toEqual([]);
    },

    "a failure for good is a message as well": async (t) => {
      const { holder, task, key } = await t.tasks.held();
      expect(await t.tasks.finish(task, failed(false))).toBe("done");
      expect(await t.inbox(holder.runId)).toMatchObject([
        { kind: "task_failed", name: "mail#1", messageId: taskMessageId(1, 1), payload: bytes('{"failed":true}') },
      ]);
      expect(await t.tasks.find(key)).toBeNull();
    },

    "a failure that is to be kept leaves a dead letter": async (t) => {
      const { holder, task, key } = await t.tasks.held({ timeoutMs: 10, totalTimeoutMs: 50 });
      const failures = [failure(1), failure(2, { code: "smtp_down" })];
      expect(await t.tasks.finish(task, failed(true, failures))).toBe("done");
      expect(await t.tasks.read(key)).toEqual({
        ...task,
        status: "dead",
        epoch: 2,
        heldBy: null,
        claimId: null,
        expiresAt: null,
        expires: null,
        failures,
      });
      expect(await t.inbox(holder.runId)).toMatchObject([{ kind: "task_failed", messageId: taskMessageId(1, 1) }]);
      await t.advance(100_000);
      expect((await t.store.tasks.expired({ limit: 10 })).tasks).toEqual([]);
      expect((await t.tasks.claim(await t.worker())).tasks).toEqual([]);
    },

    "a dead letter can neither be finished nor reported on nor canceled": async (t) => {
      const { task, key, holder } = await t.tasks.held();
      await t.tasks.finish(task, failed(true));
      const dead = await t.tasks.read(key);
      for (const epoch of [1, 2]) {
        const one = { ...task, epoch };
        expect(await t.tasks.finish(one, COMPLETED)).toBe("lost");
        expect(await t.tasks.finish(one, COMPLETED, byToken(task, t.newId()))).toBe("lost");
        expect(await t.tasks.finish(one, COMPLETED, { type: "expiry" })).toBe("lost");
        expect(await t.tasks.beat(one)).toMatchObject({ outcome: "lost" });
        expect(await t.tasks.beat(one, bytes("1"), byToken(task, t.newId()))).toMatchObject({ outcome: "lost" });
      }
      expect(await t.tasks.cancel(key)).toBe("gone");
      expect(await t.tasks.read(key)).toEqual(dead);
      expect(await t.inbox(holder.runId)).toHaveLength(1);
    },

    "a result makes a waiting or sleeping run due, and wakes no parked one": async (t) => {
      const cases = [
        { transition: suspend(null), due: true },
        { transition: suspend(t.now + 900_000), due: true },
        { transition: park("odd"), due: false },
      ];
      for (const { transition, due } of cases) {
        const { holder, task } = await t.tasks.held();
        await holder.commit(transition);
        await t.advance(3);
        expect(await t.tasks.finish(task, COMPLETED)).toBe("done");
        const run = await t.run(holder.runId);
        expect(run).toMatchObject({ delivered: 1, consumed: 0, heldBy: null, availableAt: due ? t.now : null });
      }
      const { runs, messages } = await t.claim(await t.worker());
      expect(runs).toHaveLength(2);
      expect(messages.map(({ kind }) => kind)).toEqual(["task_completed", "task_completed"]);
    },

    "a result does not put off a run that is due already": async (t) => {
      const { holder, task } = await t.tasks.held();
      await holder.commit({ type: "release" });
      const dueAt = t.now;
      await t.advance(9);
      await t.tasks.finish(task, COMPLETED);
      expect(await t.run(holder.runId)).toMatchObject({ availableAt: dueAt, delivered: 1 });
    },

    "a result keeps its run held, and the holder hears of it": async (t) => {
      const { holder, task } = await t.tasks.held();
      await t.tasks.finish(task, COMPLETED);
      const beat = { namespace: "default", workerId: holder.workerId, leaseMs: 100_000_000, draining: false };
      expect(await t.store.workers.heartbeat(beat)).toMatchObject({ behind: [holder.runId] });
      const answer = await holder.answerTo(holder.draft(suspend(null)));
      expect(answer.outcomes).toMatchObject([{ outcome: "written", held: true, delivered: 1 }]);
    },

    "results are numbered among the other messages": async (t) => {
      const { holder, task } = await t.tasks.held();
      await t.deliver(t.ref(holder.runId), { name: "before" });
      await t.tasks.finish(task, COMPLETED);
      await t.deliver(t.ref(holder.runId), { name: "after" });
      expect((await t.inbox(holder.runId)).map(({ number, name }) => [number, name])).toEqual([
        [1, "before"],
        [2, "mail#1"],
        [3, "after"],
      ]);
    },

    "a result is never refused because the inbox is full": async (t) => {
      const { holder, task } = await t.tasks.held();
      for (let i = 0; i < 3; i++) await t.deliver(t.ref(holder.runId), {}, 3);
      expect(await t.deliver(t.ref(holder.runId), {}, 3)).toMatchObject({ outcome: "full" });
      expect(await t.tasks.finish(task, COMPLETED)).toBe("done");
      expect(await t.run(holder.runId)).toMatchObject({ delivered: 4 });
    },

    "a retry makes the task due after its delay, with attempt and epoch + 1": async (t) => {
      const { holder, task, key } = await t.tasks.held();
      await t.tasks.beat(task, bytes('{"page":3}'));
      const failures = [failure(1, { at: t.now, code: "smtp_down" })];
      expect(await t.tasks.finish(task, retried(2_000, failures))).toBe("done");
      expect(await t.tasks.read(key)).toEqual({
        ...task,
        status: "due",
        epoch: 2,
        attempt: 2,
        heldBy: null,
        claimId: null,
        availableAt: t.now + 2_000,
        details: bytes('{"page":3}'),
        failures,
      });
      expect(await t.inbox(holder.runId)).toEqual([]);
      await t.advance(2_000);
      const again = await t.tasks.claimOne(await t.worker());
      expect(again).toMatchObject({ epoch: 3, attempt: 2, failures, details: bytes('{"page":3}') });
      await t.tasks.finish(again, COMPLETED);
      expect(await t.inbox(holder.runId)).toMatchObject([{ messageId: taskMessageId(1, 2) }]);
    },

    "a retry without delay is due at once": async (t) => {
      const { task, key } = await t.tasks.held();
      await t.tasks.finish(task, retried(0));
      expect(await t.tasks.read(key)).toMatchObject({ availableAt: t.now });
      expect(await t.tasks.claimOne(await t.worker())).toMatchObject({ attempt: 2 });
    },

    "a retry after a part of a millisecond is not early": async (t) => {
      const { task, key } = await t.tasks.held();
      await t.tasks.finish(task, retried(0.4));
      expect(Math.ceil((await t.tasks.read(key)).availableAt as number)).toBe(t.now + 1);
      expect((await t.tasks.claim(await t.worker())).tasks).toEqual([]);
      await t.advance(1);
      expect(await t.tasks.claimOne(await t.worker())).toMatchObject({ attempt: 2 });
    },

    "a task that is given back is due at once, with epoch + 1: neither an attempt nor a death": async (t) => {
      const { task, key } = await t.tasks.held();
      await t.advance(4);
      expect(await t.tasks.finish(task, GIVEN_BACK)).toBe("done");
      expect(await t.tasks.read(key)).toEqual({
        ...task,
        status: "due",
        epoch: 2,
        heldBy: null,
        claimId: null,
        availableAt: t.now,
      });
      expect(await t.tasks.claimOne(await t.worker())).toMatchObject({ epoch: 3, attempt: 1, deaths: 0 });
    },

    "a task that is made external keeps its epoch, and nobody holds it": async (t) => {
      const { task, key, workerId } = await t.tasks.held({ timeoutMs: 5_000 });
      await t.advance(4);
      expect(await t.tasks.finish(task, MADE_EXTERNAL)).toBe("done");
      const expiresAt = (task.expiresAt as number) - TASK_GRACE_MS;
      const external = { ...task, status: "external", heldBy: null, claimId: null, expiresAt };
      expect(await t.tasks.read(key)).toEqual(external);
      expect(await t.store.workers.readHeldTasks({ namespace: "default", workerId })).toEqual([]);
      expect(await t.tasks.finish(task, COMPLETED, byHolder(workerId))).toBe("lost");
      expect((await t.tasks.claim(workerId)).tasks).toEqual([]);
      await t.store.workers.stop({ namespace: "default", workerId });
      await t.sweep();
      expect(await t.tasks.read(key)).toEqual(external);
      expect(await t.tasks.finish(task, COMPLETED, byToken(task, t.newId()))).toBe("done");
    },

    "a task that is given back with a delay is due after it, and no attempt counts": async (t) => {
      const { task, key } = await t.tasks.held();
      expect(await t.tasks.finish(task, { type: "release", delayMs: 700 })).toBe("done");
      expect(await t.tasks.read(key)).toMatchObject({ status: "due", epoch: 2, attempt: 1, availableAt: t.now + 700 });
      expect((await t.tasks.claim(await t.worker())).tasks).toEqual([]);
      await t.advance(700);
      expect(await t.tasks.claimOne(await t.worker())).toMatchObject({ epoch: 3, attempt: 1, deaths: 0 });
    },

    "only the worker that holds the task finishes it, and only under its epoch": async (t) => {
      const { task, key, holder } = await t.tasks.held();
      for (const result of [COMPLETED, failed(true), retried(), GIVEN_BACK, MADE_EXTERNAL]) {
        expect(await t.tasks.finish(task, result, byHolder(await t.worker()))).toBe("lost");
        expect(await t.tasks.finish(task, result, byHolder(holder.workerId))).toBe("lost");
        expect(await t.tasks.finish({ ...task, epoch: 0 }, result)).toBe("lost");
        expect(await t.tasks.finish({ ...task, epoch: 2 }, result)).toBe("lost");
        expect(await t.tasks.finish({ ...task, seq: 2 }, result)).toBe("lost");
        expect(await t.tasks.finish({ ...task, runId: t.newId() }, result)).toBe("lost");
      }
      expect(await t.tasks.read(key)).toEqual(task);
      expect(await t.inbox(holder.runId)).toEqual([]);
    },

    "an attempt that ended does not end again, and an earlier one does not end the next": async (t) => {
      for (const ended of [retried(), GIVEN_BACK]) {
        const { task, key, workerId, holder } = await t.tasks.held();
        await t.tasks.finish(task, ended);
        for (const result of [COMPLETED, failed(true), retried(), GIVEN_BACK, MADE_EXTERNAL])
          expect(await t.tasks.finish(task, result)).toBe("lost");
        const next = await t.tasks.claimOne(workerId);
        expect(await t.tasks.finish(task, COMPLETED)).toBe("lost");
        expect(await t.tasks.read(key)).toEqual(next);
        expect(await t.tasks.finish(next, COMPLETED)).toBe("done");
        expect(await t.tasks.finish(next, COMPLETED)).toBe("lost");
        expect(await t.inbox(holder.runId)).toHaveLength(1);
      }
    },

    "several attempts of one or more runs end in one call, each on its own": async (t) => {
      const workerId = await t.worker();
      const holder = await t.held();
      await holder.schedule([{}, {}, {}, {}]);
      const other = await t.tasks.scheduled();
      const { tasks } = await t.tasks.claim(workerId);
      const of = (runId: string, seq: number) =>
        tasks.find((task) => task.runId === runId && task.seq === seq) as NonNullable<(typeof tasks)[0]>;
      const finishes = [
        t.tasks.finishParams(of(holder.runId, 1), COMPLETED),
        t.tasks.finishParams({ ...of(holder.runId, 2), epoch: 7 }, COMPLETED),
        t.tasks.finishParams(of(other.key.runId, 1), retried(40)),
        t.tasks.finishParams(of(holder.runId, 3), failed(true)),
        t.tasks.finishParams(of(holder.runId, 4), GIVEN_BACK),
      ];
      const { outcomes } = await t.store.tasks.finish({ finishes });
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(["done", "lost", "done", "done", "done"]);
      const inbox = await t.inbox(holder.runId);
      expect(inbox.map(({ number }) => number)).toEqual([1, 2]);
      expect(inbox.map(({ name, kind }) => [name, kind]).sort()).toEqual([
        ["mail#1", "task_completed"],
        ["mail#3", "task_failed"],
      ]);
      expect(await t.run(holder.runId)).toMatchObject({ delivered: 2 });
      const left = await t.store.tasks.list({ namespace: "default", limit: 10 });
      expect(left.map(({ seq, status }) => [seq, status])).toEqual([
        [2, "held"],
        [3, "dead"],
        [4, "due"],
        [1, "due"],
      ]);
    },

    "no finishes at all are answered": async (t) => {
      expect(await t.store.tasks.finish({ finishes: [] })).toEqual({ outcomes: [], now: t.now });
      expect(await t.store.tasks.beat({ beats: [] })).toEqual({ outcomes: [], now: t.now });
      expect(await t.store.tasks.cancel({ namespace: "default", tasks: [] })).toEqual({ outcomes: [] });
      expect(await t.store.tasks.read({ namespace: "default", tasks: [] })).toEqual([]);
    },

    "a run that has ended gets no result, and the task goes": async (t) => {
      for (const result of [COMPLETED, failed(false), failed(true)]) {
        const { holder, task, key } = await t.tasks.held();
        await holder.commit(end());
        const before = await t.run(holder.runId);
        expect(await t.tasks.finish(task, result)).toBe("closed");
        expect(await t.tasks.find(key)).toBeNull();
        expect(await t.run(holder.runId)).toEqual(before);
        expect(await t.inbox(holder.runId)).toEqual([]);
      }
    },

    "a result wakes the run for whoever holds it next": async (t) => {
      const { holder, task } = await t.tasks.held();
      await holder.commit(suspend(null));
      await t.tasks.finish(task, COMPLETED);
      const next = await t.claimOne(await t.worker());
      expect(await next.commit(end({ unlessBehind: true }))).toMatchObject({ outcome: "behind", delivered: 1 });
      expect(await next.commit(HOLD, { consumed: 1, results: [1] })).toMatchObject({ outcome: "written" });
      expect(await next.commit(end({ unlessBehind: true }))).toMatchObject({ outcome: "written", held: false });
    },
  },
};
