import { TASK_CANCEL_MS } from "holdfast/adapter";
import { expect } from "vitest";
import { bytes, HOLD } from "../../sample-data.ts";
import {
  byHolder,
  byToken,
  COMPLETED,
  failed,
  GIVEN_BACK,
  MADE_EXTERNAL,
  retried,
  secretOf,
} from "../../sample-tasks.ts";
import type { Suite } from "../../suite.ts";

/** What is heard of attempts in progress, and how a run gives tasks up. */
export const taskReports: Suite = {
  noun: "task reports",
  cases: {
    "a report keeps its details, and one without leaves them": async (t) => {
      const { task, key } = await t.tasks.held();
      const { namespace, runId, seq, epoch } = task;
      const beat = { namespace, runId, seq, epoch, by: byHolder(task.heldBy as string), details: bytes('{"page":3}') };
      const heard = { outcomes: [{ outcome: "heard", canceled: false }], now: t.now };
      expect(await t.store.tasks.beat({ beats: [beat] })).toEqual(heard);
      expect(await t.tasks.read(key)).toEqual({ ...task, details: bytes('{"page":3}') });
      expect(await t.store.tasks.beat({ beats: [{ ...beat, details: null }] })).toEqual(heard);
      expect(await t.tasks.read(key)).toEqual({ ...task, details: bytes('{"page":3}') });
      expect(await t.store.tasks.beat({ beats: [{ ...beat, details: bytes("") }] })).toEqual(heard);
      expect(await t.tasks.read(key)).toEqual({ ...task, details: bytes("") });
    },

    "a report of another attempt, worker or secret is lost and changes nothing": async (t) => {
      const { task, key } = await t.tasks.held({ heartbeatMs: 500 });
      await t.advance(10);
      const lost = { outcome: "lost", canceled: false };
      expect(await t.tasks.beat({ ...task, epoch: 0 }, bytes("1"))).toEqual(lost);
      expect(await t.tasks.beat({ ...task, epoch: 2 }, bytes("1"))).toEqual(lost);
      expect(await t.tasks.beat({ ...task, seq: 2 }, bytes("1"))).toEqual({ outcome: "lost", canceled: true });
      expect(await t.tasks.beat(task, bytes("1"), byHolder(await t.worker()))).toEqual(lost);
      expect(await t.tasks.beat(task, bytes("1"), byToken({ secret: secretOf(8) }, t.newId()))).toEqual(lost);
      expect(await t.tasks.read(key)).toEqual(task);
    },

    "whoever has the token may report on a held or an external task, not on one that is due": async (t) => {
      const { task, key } = await t.tasks.held();
      const by = byToken(task, t.newId());
      expect(await t.tasks.beat(task, bytes("1"), by)).toMatchObject({ outcome: "heard" });
      await t.tasks.finish(task, MADE_EXTERNAL);
      expect(await t.tasks.beat(task, bytes("2"), by)).toMatchObject({ outcome: "heard" });
      expect(await t.tasks.beat(task, bytes("3"), byHolder(task.heldBy as string))).toMatchObject({ outcome: "lost" });
      expect(await t.tasks.read(key)).toMatchObject({ details: bytes("2") });
      const due = await t.tasks.scheduled();
      const waiting = await t.tasks.read(due.key);
      expect(await t.tasks.beat(waiting, bytes("1"), byToken(waiting, t.newId()))).toMatchObject({ outcome: "lost" });
    },

    "reports of many attempts are answered one by one": async (t) => {
      const workerId = await t.worker();
      const holder = await t.held();
      await holder.schedule([{}, {}, {}]);
      const { tasks } = await t.tasks.claim(workerId);
      await t.tasks.cancel(tasks[2] as NonNullable<(typeof tasks)[0]>);
      const beats = tasks.map(({ namespace, runId, seq, epoch }, i) => ({
        namespace,
        runId,
        seq,
        epoch: i === 1 ? 9 : epoch,
        by: byHolder(workerId),
        details: bytes(String(i)),
      }));
      expect((await t.store.tasks.beat({ beats })).outcomes).toEqual([
        { outcome: "heard", canceled: false },
        { outcome: "lost", canceled: false },
        { outcome: "heard", canceled: true },
      ]);
      const rows = await t.store.tasks.list({ namespace: "default", limit: 10 });
      const bySeq = new Map(rows.map(({ seq, details }) => [seq, details]));
      expect(tasks.map(({ seq }) => bySeq.get(seq))).toEqual([bytes("0"), null, bytes("2")]);
    },

    "the details of one attempt are there for the next": async (t) => {
      const { task } = await t.tasks.held();
      await t.tasks.beat(task, bytes("7"));
      await t.tasks.finish(task, GIVEN_BACK);
      expect(await t.tasks.claimOne(await t.worker())).toMatchObject({ details: bytes("7") });
    },

    "a report makes no run due and puts nothing into an inbox": async (t) => {
      const { task, holder } = await t.tasks.held();
      const before = await t.run(holder.runId);
      await t.tasks.beat(task, bytes("7"));
      expect(await t.run(holder.runId)).toEqual(before);
      expect(await t.inbox(holder.runId)).toEqual([]);
    },

    "a canceled task that nobody has ever held can no longer be claimed": async (t) => {
      const { key } = await t.tasks.scheduled({ startTimeoutMs: 40, totalTimeoutMs: 50 });
      const canceledAt = t.now;
      expect(await t.tasks.cancel(key)).toBe("never_began");
      expect(await t.tasks.cancel(key)).toBe("never_began");
      expect(await t.tasks.read(key)).toMatchObject({
        canceled: true,
        status: "due",
        epoch: 0,
        availableAt: null,
        expiresAt: canceledAt + TASK_CANCEL_MS,
        expires: "cancel",
      });
      await t.advance(100);
      expect(await t.tasks.claim(await t.worker())).toMatchObject({ tasks: [], moreDue: false, nextDueAt: null });
      expect((await t.store.tasks.expired({ limit: 10 })).tasks).toEqual([]);
    },

    "a canceled task expires if whoever canceled it never acts on the answer, also when it is canceled again": async (
      t,
    ) => {
      const given = await t.tasks.held();
      const due = await t.tasks.scheduled();
      await t.tasks.cancel(due.key);
      await t.tasks.cancel(given.key);
      await t.tasks.finish(given.task, GIVEN_BACK);
      await t.tasks.cancel(given.key);
      expect((await t.store.tasks.expired({ limit: 10 })).tasks).toMatchObject([{ ...given.key, expires: "cancel" }]);
      await t.advance(TASK_CANCEL_MS);
      await t.tasks.cancel(due.key);
      const { tasks } = await t.store.tasks.expired({ limit: 10 });
      expect(tasks).toMatchObject([given.key, due.key].map((key) => ({ ...key, expires: "cancel" })));
    },

    "a canceled task that is held is marked, and its holder learns it": async (t) => {
      const { task, key, holder, workerId } = await t.tasks.held();
      const ref = { namespace: "default", workerId };
      expect(await t.tasks.cancel(key)).toBe("waiting");
      expect(await t.tasks.cancel(key)).toBe("waiting");
      const hold = { runId: key.runId, seq: key.seq, epoch: 1 };
      expect(await t.store.workers.readHeldTasks(ref)).toEqual([{ ...hold, canceled: true }]);
      expect(await t.store.workers.heartbeat({ ...ref, leaseMs: 5_000, draining: false })).toMatchObject({
        heldTasks: 1,
        canceledTasks: [hold],
      });
      expect(await t.tasks.beat(task)).toEqual({ outcome: "heard", canceled: true });
      expect(await t.tasks.finish(task, COMPLETED)).toBe("done");
      expect(await t.inbox(holder.runId)).toMatchObject([{ kind: "task_completed" }]);
      expect(await t.tasks.cancel(key)).toBe("gone");
    },

    "a canceled task that an earlier attempt may have done is stopped": async (t) => {
      for (const ended of [GIVEN_BACK, retried(0), retried(5_000)]) {
        const { task, key } = await t.tasks.held();
        await t.tasks.finish(task, ended);
        expect(await t.tasks.cancel(key)).toBe("stopped");
        expect(await t.tasks.cancel(key)).toBe("stopped");
        expect(await t.tasks.read(key)).toMatchObject({ canceled: true, availableAt: null, expires: "cancel" });
      }
      await t.advance(9_000);
      expect((await t.tasks.claim(await t.worker())).tasks).toEqual([]);
    },

    "a canceled external task is stopped: whoever has its token may have had an effect": async (t) => {
      const { key } = await t.tasks.scheduled({ external: true, timeoutMs: 100 });
      const made = await t.tasks.held();
      await t.tasks.finish(made.task, MADE_EXTERNAL);
      for (const one of [key, made.key]) {
        expect(await t.tasks.cancel(one)).toBe("stopped");
        expect(await t.tasks.cancel(one)).toBe("stopped");
        const task = await t.tasks.read(one);
        expect(task).toMatchObject({ canceled: true, status: "external" });
        expect(await t.tasks.beat(task, null, byToken(task, t.newId()))).toEqual({ outcome: "heard", canceled: true });
      }
      await t.advance(1_000);
      expect((await t.store.tasks.expired({ limit: 10 })).tasks).toEqual([]);
    },

    "a canceled task is due no more when its holder gives it back or fails: it expires at once": async (t) => {
      for (const ended of [GIVEN_BACK, retried(0), retried(700)]) {
        const { task, key } = await t.tasks.held();
        await t.tasks.cancel(key);
        expect(await t.tasks.finish(task, ended)).toBe("done");
        const left = await t.tasks.read(key);
        expect(left).toMatchObject({
          canceled: true,
          availableAt: null,
          expiresAt: t.now,
          expires: "cancel",
          epoch: 2,
        });
        expect((await t.store.tasks.expired({ limit: 10 })).tasks).toEqual([left]);
        expect((await t.tasks.claim(await t.worker())).tasks).toEqual([]);
        expect(await t.tasks.finish(left, failed(false), { type: "expiry" })).toBe("done");
      }
    },

    "a canceled external task can still be finished": async (t) => {
      const { key, holder } = await t.tasks.scheduled({ external: true });
      await t.tasks.cancel(key);
      const task = await t.tasks.read(key);
      expect(await t.tasks.finish(task, COMPLETED, byToken(task, t.newId()))).toBe("done");
      expect(await t.inbox(holder.runId)).toMatchObject([{ kind: "task_completed" }]);
    },

    "a canceled task can be settled by its run": async (t) => {
      const { key, holder, task } = await t.tasks.held();
      await t.tasks.cancel(key);
      await holder.commit(HOLD, { settled: [1] });
      expect(await t.tasks.find(key)).toBeNull();
      expect(await t.tasks.finish(task, COMPLETED)).toBe("lost");
    },

    "what is gone or unknown cannot be canceled": async (t) => {
      const { task, key, holder } = await t.tasks.held();
      await t.tasks.finish(task, COMPLETED);
      const settled = await t.tasks.scheduled();
      await settled.holder.commit(HOLD, { settled: [1] });
      for (const one of [key, settled.key, { runId: holder.runId, seq: 5 }, { runId: t.newId(), seq: 1 }])
        expect(await t.tasks.cancel(one)).toBe("gone");
    },

    "several tasks are canceled in one call, each on its own": async (t) => {
      const workerId = await t.worker();
      const holder = await t.held();
      await holder.schedule([{ priority: 1 }, {}, { external: true }]);
      await t.tasks.claim(workerId, { limit: 1 });
      const tasks = [1, 2, 3, 4].map((seq) => ({ runId: holder.runId, seq }));
      expect((await t.store.tasks.cancel({ namespace: "default", tasks })).outcomes).toEqual([
        { outcome: "waiting" },
        { outcome: "never_began" },
        { outcome: "stopped" },
        { outcome: "gone" },
      ]);
    },
  },
};
