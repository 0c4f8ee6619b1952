import { expect } from "vitest";
import type { Fixture } from "../../fixture.ts";
import { bytes, LEASE_MS } from "../../sample-data.ts";
import { BY_EXPIRY, byHolder, COMPLETED, died, failed, failure, retried } from "../../sample-tasks.ts";
import type { Suite } from "../../suite.ts";

/** What happens to the tasks of workers that are gone. */
export const taskDeaths: Suite = {
  noun: "task deaths",
  cases: {
    "the tasks of a dead worker are due again, with epoch and deaths + 1: not an attempt": async (t) => {
      const { task, key, holder } = await t.tasks.held({ startTimeoutMs: 70 });
      const innocent = await t.tasks.held({}, await t.worker({ leaseMs: 1_000_000 }));
      await t.advance(LEASE_MS);
      expect(await t.sweep()).toMatchObject({ dead: 1, returned: 0, tasksReturned: 1, parked: 0, more: false });
      expect(await t.tasks.read(key)).toEqual({
        ...task,
        status: "due",
        epoch: 2,
        heldBy: null,
        claimId: null,
        availableAt: t.now,
        deaths: 1,
        expiresAt: t.now + 70,
        expires: "start_timeout",
      });
      expect(await t.tasks.read(innocent.key)).toEqual(innocent.task);
      expect(await t.tasks.finish(task, COMPLETED)).toBe("lost");
      expect(await t.tasks.beat(task)).toMatchObject({ outcome: "lost" });
      expect(await t.inbox(holder.runId)).toEqual([]);
      expect(await t.sweep()).toMatchObject({ dead: 0, tasksReturned: 0 });
      expect(await t.tasks.claimOne(await t.worker())).toMatchObject({ epoch: 3, attempt: 1, deaths: 1 });
    },

    "a task that was held from the beginning is returned as well": async (t) => {
      const holdBy = { workerId: await t.worker(), claimId: t.newId() };
      const { key } = await t.tasks.scheduled({ holdBy });
      await t.advance(LEASE_MS);
      expect(await t.sweep()).toMatchObject({ dead: 1, tasksReturned: 1 });
      expect(await t.tasks.read(key)).toMatchObject({ status: "due", epoch: 2, deaths: 1 });
    },

    "a worker that stops gives its tasks back, and did not die": async (t) => {
      const { task, key, workerId } = await t.tasks.held();
      await t.advance(5);
      await t.store.workers.stop({ namespace: "default", workerId });
      await t.sweep();
      expect(await t.tasks.read(key)).toEqual({
        ...task,
        status: "due",
        epoch: 2,
        heldBy: null,
        claimId: null,
        availableAt: t.now,
      });
      await t.store.workers.stop({ namespace: "default", workerId });
      expect(await t.tasks.read(key)).toMatchObject({ epoch: 2 });
    },

    "a worker that is known to be gone loses its tasks before its lease has expired": async (t) => {
      const { key, workerId } = await t.tasks.held();
      expect(await t.sweep({ gone: [workerId] })).toMatchObject({ dead: 1, tasksReturned: 1 });
      expect(await t.tasks.read(key)).toMatchObject({ status: "due", deaths: 1 });
    },

    "deaths make a suspect, which is claimed alone": async (t) => {
      const { key } = await t.tasks.scheduled();
      await dieWith(t);
      expect(await t.tasks.read(key)).toMatchObject({ deaths: 1, suspect: false });
      await dieWith(t);
      expect(await t.tasks.read(key)).toMatchObject({ deaths: 2, aloneDeaths: 0, suspect: true });
      const other = await t.tasks.scheduled();
      const workerId = await t.worker();
      const answer = await t.tasks.claim(workerId);
      expect(answer).toMatchObject({ suspectDue: true, moreDue: false });
      expect(answer.tasks.map(({ runId }) => runId)).toEqual([other.key.runId]);
      const alone = await t.tasks.claimOne(workerId, { solo: true });
      expect(alone).toMatchObject({ runId: key.runId, alone: true, suspect: true });
      expect(await t.tasks.claim(workerId)).toMatchObject({ tasks: [], suspectDue: false });
    },

    "a claim alone takes one suspect and nothing else": async (t) => {
      const keys = [];
      for (let i = 0; i < 2; i++) {
        keys.push((await t.tasks.scheduled()).key);
        await t.advance(1);
      }
      await dieWith(t);
      await dieWith(t);
      await t.tasks.scheduled();
      const workerId = await t.worker();
      for (const key of keys) expect((await t.tasks.claimOne(workerId, { solo: true })).suspect).toBe(Boolean(key));
      expect((await t.tasks.claim(workerId, { solo: true })).tasks).toEqual([]);
      expect((await t.tasks.claim(workerId)).tasks).toHaveLength(1);
    },

    "a suspect that the worker cannot do is not hinted at": async (t) => {
      await t.tasks.scheduled();
      await dieWith(t);
      await dieWith(t);
      const workerId = await t.worker();
      expect(await t.tasks.claim(workerId, { names: ["sms"] })).toMatchObject({ suspectDue: false });
      expect(await t.tasks.claim(workerId, { queues: ["x"] })).toMatchObject({ suspectDue: false });
      expect(await t.tasks.claim(workerId)).toMatchObject({ suspectDue: true, tasks: [] });
    },

    "deaths while alone fail the task: it expires at once, as a crash": async (t) => {
      const { key, holder } = await t.tasks.scheduled();
      for (let i = 0; i < 2; i++) await dieWith(t);
      await dieWith(t, true);
      expect(await t.tasks.read(key)).toMatchObject({ deaths: 3, aloneDeaths: 1, alone: false, status: "due" });
      expect((await t.store.tasks.expired({ limit: 10 })).tasks).toEqual([]);
      await dieWith(t, true);
      const crashed = await t.tasks.read(key);
      expect(crashed).toMatchObject({
        deaths: 4,
        aloneDeaths: 2,
        heldBy: null,
        availableAt: null,
        expiresAt: t.now,
        expires: "crash",
      });
      expect((await t.store.tasks.expired({ limit: 10 })).tasks).toEqual([crashed]);
      const workerId = await t.worker();
      for (const solo of [true, false]) expect((await t.tasks.claim(workerId, { solo })).tasks).toEqual([]);
      expect(await t.tasks.finish(crashed, failed(true), BY_EXPIRY)).toBe("done");
      expect(await t.inbox(holder.runId)).toMatchObject([{ kind: "task_failed" }]);
      expect(await t.tasks.read(key)).toMatchObject({ status: "dead" });
    },

    "a task that a crash fails expires at the first death": async (t) => {
      const { key } = await t.tasks.held({ failOnCrash: true });
      await t.advance(LEASE_MS);
      expect(await t.sweep()).toMatchObject({ tasksReturned: 1 });
      expect(await t.tasks.read(key)).toMatchObject({
        deaths: 1,
        epoch: 2,
        availableAt: null,
        expiresAt: t.now,
        expires: "crash",
      });
      expect((await t.tasks.claim(await t.worker())).tasks).toEqual([]);
    },

    "a task that a crash fails expires too if its worker stops: it may have begun": async (t) => {
      const { key, workerId } = await t.tasks.held({ failOnCrash: true });
      await t.store.workers.stop({ namespace: "default", workerId });
      expect(await t.tasks.read(key)).toMatchObject({
        status: "due",
        deaths: 0,
        epoch: 2,
        availableAt: null,
        expiresAt: t.now,
        expires: "crash",
      });
      expect((await t.tasks.claim(await t.worker())).tasks).toEqual([]);
    },

    "a crash can be answered with another attempt": async (t) => {
      const { key } = await t.tasks.held({ failOnCrash: true });
      await t.advance(LEASE_MS);
      await t.sweep();
      const crashed = await t.tasks.read(key);
      expect(await t.tasks.finish(crashed, retried(0), BY_EXPIRY)).toBe("done");
      expect(await t.tasks.claimOne(await t.worker())).toMatchObject({ attempt: 2, epoch: 4, expires: null });
    },

    "details are progress: they forget the deaths": async (t) => {
      const { key } = await t.tasks.scheduled();
      for (let i = 0; i < 2; i++) await dieWith(t);
      await dieWith(t, true);
      const task = await t.tasks.claimOne(await t.worker(), { solo: true });
      await t.tasks.beat(task);
      expect(await t.tasks.read(key)).toMatchObject({ deaths: 3, aloneDeaths: 1, suspect: true, alone: true });
      await t.tasks.beat(task, bytes("1"));
      expect(await t.tasks.read(key)).toMatchObject({ deaths: 0, aloneDeaths: 0, suspect: false, alone: false });
      await t.advance(LEASE_MS);
      await t.sweep();
      expect(await t.tasks.read(key)).toMatchObject({ deaths: 1, aloneDeaths: 0, suspect: false });
    },

    "a retry and a release remember the deaths": async (t) => {
      await t.tasks.scheduled();
      for (let i = 0; i < 2; i++) await dieWith(t);
      const workerId = await t.worker();
      const task = await t.tasks.claimOne(workerId, { solo: true });
      await t.tasks.finish(task, retried(0));
      expect(await t.tasks.read(task)).toMatchObject({ deaths: 2, suspect: true, alone: false });
      const again = await t.tasks.claimOne(workerId, { solo: true });
      await t.tasks.finish(again, { type: "release" });
      expect(await t.tasks.read(task)).toMatchObject({ deaths: 2, suspect: true, alone: false });
    },

    "a canceled task of a dead worker expires at once instead of being due": async (t) => {
      const { key } = await t.tasks.held();
      await t.tasks.cancel(key);
      await t.advance(LEASE_MS);
      expect(await t.sweep()).toMatchObject({ tasksReturned: 1 });
      const left = await t.tasks.read(key);
      expect(left).toMatchObject({ canceled: true, availableAt: null, expiresAt: t.now, expires: "cancel", deaths: 1 });
      expect((await t.tasks.claim(await t.worker())).tasks).toEqual([]);
      expect((await t.store.tasks.expired({ limit: 10 })).tasks).toEqual([left]);
    },

    "a task whose process has died is due again, with epoch and deaths + 1: not an attempt": async (t) => {
      const { task, key } = await t.tasks.held({ startTimeoutMs: 70 });
      const failures = [failure()];
      await t.advance(5);
      expect(await t.tasks.finish(task, died({ failures }))).toBe("done");
      expect(await t.tasks.read(key)).toEqual({
        ...task,
        status: "due",
        epoch: 2,
        heldBy: null,
        claimId: null,
        availableAt: t.now,
        deaths: 1,
        aloneDeaths: 1,
        expiresAt: t.now + 70,
        expires: "start_timeout",
        failures,
      });
      expect(await t.tasks.finish(task, died())).toBe("lost");
      expect(await t.tasks.claimOne(await t.worker())).toMatchObject({ epoch: 3, attempt: 1, deaths: 1 });
    },

    "deaths of a process that executed nothing else fail the task, and make no suspect of it": async (t) => {
      const { key, holder } = await t.tasks.scheduled();
      const workerId = await t.worker();
      for (let deaths = 1; deaths <= 2; deaths++) {
        await t.tasks.finish(await t.tasks.claimOne(workerId), died());
        expect(await t.tasks.read(key)).toMatchObject({ deaths, aloneDeaths: deaths, suspect: false, expires: null });
      }
      await t.tasks.finish(await t.tasks.claimOne(workerId), died());
      const crashed = await t.tasks.read(key);
      expect(crashed).toMatchObject({ deaths: 3, availableAt: null, expiresAt: t.now, expires: "crash" });
      expect((await t.store.tasks.expired({ limit: 10 })).tasks).toEqual([crashed]);
      expect((await t.tasks.claim(workerId)).tasks).toEqual([]);
      expect(await t.tasks.finish(crashed, failed(true), BY_EXPIRY)).toBe("done");
      expect(await t.inbox(holder.runId)).toMatchObject([{ kind: "task_failed" }]);
    },

    "deaths of a process that executed others too make a suspect, and deaths while alone fail it": async (t) => {
      const { key } = await t.tasks.scheduled();
      const workerId = await t.worker();
      const shared = died({ alone: false, parkAfter: 1 });
      await t.tasks.finish(await t.tasks.claimOne(workerId), shared);
      expect(await t.tasks.read(key)).toMatchObject({ deaths: 1, aloneDeaths: 0, suspect: false });
      await t.tasks.finish(await t.tasks.claimOne(workerId), shared);
      expect(await t.tasks.read(key)).toMatchObject({ deaths: 2, aloneDeaths: 0, suspect: true, status: "due" });
      await t.tasks.finish(await t.tasks.claimOne(workerId, { solo: true }), shared);
      expect(await t.tasks.read(key)).toMatchObject({ deaths: 3, aloneDeaths: 1, alone: false, expires: "crash" });
    },

    "a suspect stays one when it kills a process of its own": async (t) => {
      const { key } = await t.tasks.scheduled();
      for (let i = 0; i < 2; i++) await dieWith(t);
      await t.tasks.finish(await t.tasks.claimOne(await t.worker(), { solo: true }), died());
      expect(await t.tasks.read(key)).toMatchObject({ deaths: 3, aloneDeaths: 1, suspect: true });
    },

    "a task that a crash fails expires when its process dies": async (t) => {
      const { task, key } = await t.tasks.held({ failOnCrash: true });
      expect(await t.tasks.finish(task, died({ alone: false }))).toBe("done");
      expect(await t.tasks.read(key)).toMatchObject({
        deaths: 1,
        availableAt: null,
        expiresAt: t.now,
        expires: "crash",
      });
    },

    "a canceled task whose process dies expires at once": async (t) => {
      const { task, key } = await t.tasks.held();
      await t.tasks.cancel(key);
      expect(await t.tasks.finish(task, died())).toBe("done");
      expect(await t.tasks.read(key)).toMatchObject({
        availableAt: null,
        expiresAt: t.now,
        expires: "cancel",
        deaths: 1,
      });
    },

    "only the holder of a task reports the death of its process": async (t) => {
      const { task, key } = await t.tasks.held();
      expect(await t.tasks.finish(task, died(), byHolder(await t.worker()))).toBe("lost");
      expect(await t.tasks.read(key)).toEqual(task);
    },

    "runs and tasks count together towards the limit of a sweep": async (t) => {
      const workerId = await t.worker();
      const holders = [await t.held({}, workerId), await t.held({}, workerId)];
      const claimId = t.newId();
      for (const holder of holders) await holder.schedule([{}, {}].map(() => ({ holdBy: { workerId, claimId } })));
      await t.advance(LEASE_MS);
      let [runs, tasks] = [0, 0];
      for (let more = true, sweeps = 0; more; sweeps++) {
        const result = await t.sweep({ limit: 2 });
        expect(result.returned + result.tasksReturned).toBeLessThanOrEqual(2);
        [runs, tasks, more] = [runs + result.returned, tasks + result.tasksReturned, result.more];
        if (runs + tasks < 6) expect(more).toBe(true);
        if (sweeps > 10) throw new Error("the sweep always asks for more");
      }
      expect([runs, tasks]).toEqual([2, 4]);
      const rows = await t.store.tasks.list({ namespace: "default", limit: 10 });
      expect(rows.map(({ epoch, deaths }) => [epoch, deaths])).toEqual(rows.map(() => [2, 1]));
    },

    "an offline worker that still holds a task is swept again": async (t) => {
      const workerId = await t.worker();
      const holder = await t.held({}, await t.worker({ leaseMs: 1_000_000 }));
      await holder.schedule([{}, {}]);
      await t.tasks.claim(workerId);
      await t.advance(LEASE_MS);
      expect(await t.sweep({ limit: 1 })).toMatchObject({ dead: 1, tasksReturned: 1, more: true });
      expect(await t.sweep()).toMatchObject({ dead: 0, tasksReturned: 1, more: false });
      const rows = await t.store.tasks.list({ namespace: "default", limit: 10 });
      expect(rows.map(({ heldBy, deaths, epoch }) => [heldBy, deaths, epoch])).toEqual(rows.map(() => [null, 1, 2]));
    },
  },
};

/** A new worker claims what it can get and dies. */
async function dieWith(t: Fixture, solo = false): Promise<void> {
  const { tasks } = await t.tasks.claim(await t.worker({ leaseMs: 10 }), { solo });
  if (tasks.length === 0) throw new Error("the worker that is to die has claimed nothing");
  await t.advance(10);
  await t.sweep();
}
