import { TASK_CANCEL_MS, TASK_GRACE_MS, type TaskKey } from "holdfast/adapter";
import { expect } from "vitest";
import { bytes } from "../../sample-data.ts";
import { BY_EXPIRY, byToken, COMPLETED, failed, GIVEN_BACK, MADE_EXTERNAL, retried } from "../../sample-tasks.ts";
import type { Suite } from "../../suite.ts";

/** The limits on the time of a task, judged by the store's clock. */
export const taskLimits: Suite = {
  noun: "task limits",
  cases: {
    "a sweep tells when the earliest limit of a task passes": async (t) => {
      expect((await t.sweep()).nextTaskExpiryAt).toBeNull();
      await t.tasks.scheduled({ startTimeoutMs: 9_000 });
      const first = t.now + 5_000;
      await t.tasks.scheduled({ startTimeoutMs: 5_000 });
      expect((await t.sweep()).nextTaskExpiryAt).toBe(first);
      await t.advance(6_000);
      expect((await t.sweep()).nextTaskExpiryAt).toBe(first);
    },

    "a task without limits never expires": async (t) => {
      const { key } = await t.tasks.held();
      await t.tasks.scheduled();
      await t.tasks.scheduled({ external: true });
      await t.advance(1_000_000_000);
      expect(await t.store.tasks.expired({ limit: 10 })).toEqual({ tasks: [], now: t.now, nextExpiryAt: null });
      expect(await t.tasks.read(key)).toMatchObject({ expiresAt: null, expires: null });
    },

    "a task that no worker takes expires by its start timeout, and not before": async (t) => {
      const { key } = await t.tasks.scheduled({ startTimeoutMs: 500, timeoutMs: 10, heartbeatMs: 10 });
      const task = await t.tasks.read(key);
      expect(task).toMatchObject({ expiresAt: t.now + 500, expires: "start_timeout" });
      await t.advance(499);
      expect(await t.store.tasks.expired({ limit: 10 })).toEqual({ tasks: [], now: t.now, nextExpiryAt: t.now + 1 });
      expect(await t.tasks.finish(task, failed(false), BY_EXPIRY)).toBe("lost");
      await t.advance(1);
      expect(await t.store.tasks.expired({ limit: 10 })).toEqual({ tasks: [task], now: t.now, nextExpiryAt: null });
      expect(await t.tasks.finish(task, failed(false), BY_EXPIRY)).toBe("done");
      expect(await t.inbox(key.runId)).toMatchObject([{ kind: "task_failed" }]);
      expect(await t.store.tasks.expired({ limit: 10 })).toMatchObject({ tasks: [], nextExpiryAt: null });
    },

    "the start timeout counts anew for each attempt, from when it is due": async (t) => {
      const { task, key } = await t.tasks.held({ startTimeoutMs: 500 });
      expect(task).toMatchObject({ expiresAt: null, expires: null });
      await t.advance(50);
      await t.tasks.finish(task, retried(200));
      expect(await t.tasks.read(key)).toMatchObject({ expiresAt: t.now + 700, expires: "start_timeout" });
      await t.advance(200);
      const again = await t.tasks.claimOne(await t.worker());
      await t.tasks.finish(again, GIVEN_BACK);
      expect(await t.tasks.read(key)).toMatchObject({ expiresAt: t.now + 500, expires: "start_timeout" });
    },

    "an attempt expires by its timeout, after a time in which its worker may report it": async (t) => {
      const { task, key } = await t.tasks.held({ timeoutMs: 300, startTimeoutMs: 5 });
      expect(task).toMatchObject({ expiresAt: t.now + 300 + TASK_GRACE_MS, expires: "timeout" });
      await t.advance(300 + TASK_GRACE_MS - 1);
      expect((await t.store.tasks.expired({ limit: 10 })).tasks).toEqual([]);
      expect(await t.tasks.finish(task, retried(), BY_EXPIRY)).toBe("lost");
      await t.advance(1);
      expect((await t.store.tasks.expired({ limit: 10 })).tasks).toEqual([task]);
      expect(await t.tasks.finish(task, retried(100), BY_EXPIRY)).toBe("done");
      expect(await t.tasks.read(key)).toMatchObject({ status: "due", attempt: 2, epoch: 2, heldBy: null });
      expect(await t.tasks.finish(task, COMPLETED)).toBe("lost");
    },

    "the timeout counts from the claim of each attempt": async (t) => {
      const { task } = await t.tasks.held({ timeoutMs: 300 });
      await t.tasks.finish(task, retried(0));
      await t.advance(1_000);
      const again = await t.tasks.claimOne(await t.worker());
      expect(again).toMatchObject({ expiresAt: t.now + 300 + TASK_GRACE_MS, expires: "timeout" });
    },

    "a limit that has passed does not expire what its holder has finished in time": async (t) => {
      const { task } = await t.tasks.held({ timeoutMs: 300 });
      await t.advance(5_000);
      expect(await t.tasks.finish(task, COMPLETED)).toBe("done");
      expect(await t.tasks.finish(task, failed(false), BY_EXPIRY)).toBe("lost");
    },

    "silence expires an attempt, and a report starts that limit anew": async (t) => {
      const { task, key } = await t.tasks.held({ heartbeatMs: 200 });
      expect(task).toMatchObject({ expiresAt: t.now + 200 + TASK_GRACE_MS, expires: "heartbeat" });
      await t.advance(150);
      expect(await t.tasks.beat(task)).toEqual({ outcome: "heard", canceled: false });
      expect(await t.tasks.read(key)).toMatchObject({ expiresAt: t.now + 200 + TASK_GRACE_MS, expires: "heartbeat" });
      await t.advance(200 + TASK_GRACE_MS);
      expect((await t.store.tasks.expired({ limit: 10 })).tasks).toMatchObject([
        { runId: key.runId, expires: "heartbeat" },
      ]);
      // Late, but nobody has ended the attempt yet.
      expect(await t.tasks.beat(task)).toEqual({ outcome: "heard", canceled: false });
      expect((await t.store.tasks.expired({ limit: 10 })).tasks).toEqual([]);
      expect(await t.tasks.finish(task, failed(false), BY_EXPIRY)).toBe("lost");
    },

    "a report does not put off the limit on the whole attempt": async (t) => {
      const { task, key } = await t.tasks.held({ heartbeatMs: 200, timeoutMs: 250 });
      const endsAt = t.now + 250 + TASK_GRACE_MS;
      expect(task).toMatchObject({ expires: "heartbeat" });
      await t.advance(150);
      await t.tasks.beat(task, bytes("1"));
      expect(await t.tasks.read(key)).toMatchObject({ expiresAt: endsAt, expires: "timeout" });
    },

    "the total timeout counts from when the task was scheduled, through all attempts, without grace": async (t) => {
      const { holder, key } = await t.tasks.scheduled({ totalTimeoutMs: 1_000 });
      const endsAt = t.now + 1_000;
      const expected = { expiresAt: endsAt, expires: "total_timeout" };
      expect(await t.tasks.read(key)).toMatchObject(expected);
      await t.advance(100);
      const task = await t.tasks.claimOne(await t.worker());
      expect(task).toMatchObject(expected);
      await t.tasks.beat(task);
      expect(await t.tasks.read(key)).toMatchObject(expected);
      await t.tasks.finish(task, retried(5_000));
      expect(await t.tasks.read(key)).toMatchObject(expected);
      await t.advance(900);
      const [expired] = (await t.store.tasks.expired({ limit: 10 })).tasks;
      expect(await t.tasks.finish(expired as typeof task, failed(true), BY_EXPIRY)).toBe("done");
      expect(await t.inbox(holder.runId)).toHaveLength(1);
    },

    "the earliest limit counts": async (t) => {
      const limits = { startTimeoutMs: 50, timeoutMs: 400, totalTimeoutMs: 60_000, heartbeatMs: 300 };
      const { key } = await t.tasks.scheduled(limits);
      expect(await t.tasks.read(key)).toMatchObject({ expiresAt: t.now + 50, expires: "start_timeout" });
      const task = await t.tasks.claimOne(await t.worker());
      expect(task).toMatchObject({ expiresAt: t.now + 300 + TASK_GRACE_MS, expires: "heartbeat" });
      const late = await t.tasks.scheduled({ ...limits, totalTimeoutMs: 40 });
      expect(await t.tasks.read(late.key)).toMatchObject({ expiresAt: t.now + 40, expires: "total_timeout" });
      const claimed = await t.tasks.claimOne(await t.worker());
      expect(claimed).toMatchObject({ expiresAt: t.now + 40, expires: "total_timeout" });
    },

    "nobody watches over an external task but the store: its limits have no grace": async (t) => {
      const { key } = await t.tasks.scheduled({ external: true, timeoutMs: 300, heartbeatMs: 200, startTimeoutMs: 1 });
      const task = await t.tasks.read(key);
      expect(task).toMatchObject({ expiresAt: t.now + 200, expires: "heartbeat" });
      await t.advance(150);
      expect(await t.tasks.beat(task, null, byToken(task, t.newId()))).toEqual({ outcome: "heard", canceled: false });
      expect(await t.tasks.read(key)).toMatchObject({ expiresAt: t.now + 150, expires: "timeout" });
      await t.advance(150);
      expect((await t.store.tasks.expired({ limit: 1 })).tasks).toMatchObject([{ runId: key.runId, epoch: 0 }]);
      expect(await t.tasks.finish(task, retried(0), BY_EXPIRY)).toBe("done");
      expect(await t.tasks.read(key)).toMatchObject({ status: "external", epoch: 1, attempt: 2 });
    },

    "the limits of an attempt keep running when it is made external, and then have no grace": async (t) => {
      const { task, key } = await t.tasks.held({ timeoutMs: 1_500, heartbeatMs: 9_000 });
      const began = t.now;
      await t.advance(100);
      await t.tasks.finish(task, MADE_EXTERNAL);
      expect(await t.tasks.read(key)).toMatchObject({ expiresAt: began + 1_500, expires: "timeout" });
      await t.advance(100);
      await t.tasks.beat(task, null, byToken(task, t.newId()));
      expect(await t.tasks.read(key)).toMatchObject({ expiresAt: began + 1_500, expires: "timeout" });
      await t.advance(1_300);
      const [expired] = (await t.store.tasks.expired({ limit: 10 })).tasks;
      expect(await t.tasks.finish(expired as typeof task, retried(0), BY_EXPIRY)).toBe("done");
      expect(await t.tasks.read(key)).toMatchObject({ status: "due", epoch: 2, attempt: 2 });
    },

    "an attempt that is made external is heard from by that": async (t) => {
      const { task, key } = await t.tasks.held({ timeoutMs: 9_000, heartbeatMs: 200 });
      await t.advance(150);
      await t.tasks.finish(task, MADE_EXTERNAL);
      expect(await t.tasks.read(key)).toMatchObject({ expiresAt: t.now + 200, expires: "heartbeat" });
    },

    "a task that is held from the beginning has its limits from then on": async (t) => {
      const workerId = await t.worker();
      const holdBy = { workerId, claimId: t.newId() };
      const { key } = await t.tasks.scheduled({ holdBy, heartbeatMs: 80, startTimeoutMs: 1 });
      expect(await t.tasks.read(key)).toMatchObject({ expiresAt: t.now + 80 + TASK_GRACE_MS, expires: "heartbeat" });
    },

    "expired tasks come from all namespaces, the longest first, no more than asked for": async (t) => {
      const limits = [700, 300, 500, 900];
      const keys: TaskKey[] = [];
      for (const [i, startTimeoutMs] of limits.entries())
        keys.push((await t.tasks.scheduled({ startTimeoutMs }, { namespace: i % 2 === 0 ? "other" : "default" })).key);
      const begun = t.now;
      await t.advance(700);
      const all = await t.store.tasks.expired({ limit: 10 });
      expect(all.tasks.map(({ runId }) => keys.findIndex((key) => key.runId === runId))).toEqual([1, 2, 0]);
      expect(all).toMatchObject({ now: t.now, nextExpiryAt: begun + 900 });
      const two = await t.store.tasks.expired({ limit: 2 });
      expect(two.tasks).toEqual(all.tasks.slice(0, 2));
      // Read only.
      expect((await t.store.tasks.expired({ limit: 10 })).tasks).toEqual(all.tasks);
    },

    "an expiry is judged under its epoch": async (t) => {
      const { task, key } = await t.tasks.held({ startTimeoutMs: 100 });
      await t.tasks.finish(task, GIVEN_BACK);
      const due = await t.tasks.read(key);
      await t.advance(100);
      const claimed = await t.tasks.claimOne(await t.worker());
      expect(await t.tasks.finish(due, failed(false), BY_EXPIRY)).toBe("lost");
      expect(await t.tasks.finish({ ...due, epoch: 1 }, failed(false), BY_EXPIRY)).toBe("lost");
      expect(await t.tasks.read(key)).toEqual(claimed);
      expect((await t.store.tasks.expired({ limit: 10 })).tasks).toEqual([]);
    },

    "an expired task is not claimed by the sweep that finds it, but may be by a worker": async (t) => {
      const { key } = await t.tasks.scheduled({ startTimeoutMs: 100 });
      await t.advance(200);
      const [expired] = (await t.store.tasks.expired({ limit: 10 })).tasks;
      const task = await t.tasks.claimOne(await t.worker());
      expect(task).toMatchObject({ ...key, epoch: 1, expiresAt: null });
      expect(await t.tasks.finish(expired as typeof task, failed(false), BY_EXPIRY)).toBe("lost");
    },

    "a canceled task whose holder does not report expires": async (t) => {
      const { task, key } = await t.tasks.held({ timeoutMs: 50_000 });
      expect(await t.tasks.cancel(key)).toBe("waiting");
      const endsAt = t.now + TASK_CANCEL_MS;
      expect(await t.tasks.read(key)).toMatchObject({ canceled: true, expiresAt: endsAt, expires: "cancel" });
      await t.advance(10);
      // Neither a report nor another cancel gives it more time.
      expect(await t.tasks.beat(task, bytes("1"))).toEqual({ outcome: "heard", canceled: true });
      expect(await t.tasks.cancel(key)).toBe("waiting");
      expect(await t.tasks.read(key)).toMatchObject({ expiresAt: endsAt, expires: "cancel" });
      await t.advance(TASK_CANCEL_MS - 11);
      expect(await t.tasks.finish(task, failed(false), BY_EXPIRY)).toBe("lost");
      await t.advance(1);
      expect(await t.tasks.finish(task, failed(false), BY_EXPIRY)).toBe("done");
    },
  },
};
