import { expect } from "vitest";
import { type Fixture, SWEEP } from "../fixture.ts";
import { end, HOLD, LEASE_MS, park, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

export const sweeps: Suite = {
  noun: "sweeps",
  cases: {
    "a sweep that finds nothing says when to come again": async (t) => {
      expect(await t.sweep()).toMatchObject({ dead: 0, returned: 0, parked: 0, timedOut: 0, nextExpiryAt: null });
      await t.worker({ leaseMs: 5_000 });
      await t.worker({ leaseMs: 3_000, namespace: "other" });
      const stopped = await t.worker({ leaseMs: 1_000 });
      await t.store.workers.stop({ namespace: "default", workerId: stopped });
      expect(await t.sweep()).toEqual({
        now: t.now,
        dead: 0,
        returned: 0,
        tasksReturned: 0,
        parked: 0,
        timedOut: 0,
        more: false,
        nextExpiryAt: t.now + 3_000,
        nextTaskExpiryAt: null,
      });
    },

    "a worker dies when its lease has run out, and not before": async (t) => {
      const workerId = await t.worker({ leaseMs: 1_000 });
      await t.advance(999);
      expect(await t.sweep()).toMatchObject({ dead: 0, nextExpiryAt: t.now + 1 });
      await t.advance(1);
      expect(await t.sweep()).toMatchObject({ dead: 1, nextExpiryAt: null });
      expect(await t.store.workers.list({ namespace: "default" })).toMatchObject([
        { workerId, status: "offline", died: true, stoppedAt: t.now },
      ]);
      expect(await t.sweep()).toMatchObject({ dead: 0 });
    },

    "a draining worker dies as well": async (t) => {
      const workerId = await t.worker();
      await t.store.workers.heartbeat({ namespace: "default", workerId, leaseMs: 100, draining: true });
      await t.advance(100);
      expect(await t.sweep()).toMatchObject({ dead: 1 });
    },

    "the runs of a dead worker are due again, with epoch and deaths + 1": async (t) => {
      const holder = await t.held();
      await holder.commit({ type: "hold", status: "compensating" }, { events: 1 });
      const innocent = await t.held({}, await t.worker({ leaseMs: 1_000_000 }));
      await t.advance(LEASE_MS);
      expect(await t.sweep()).toMatchObject({ dead: 1, returned: 1, parked: 0, more: false });
      expect(await t.run(holder.runId)).toMatchObject({
        status: "compensating",
        epoch: 2,
        commit: 1,
        eventCount: 1,
        heldBy: null,
        claimId: null,
        availableAt: t.now,
        deaths: 1,
        aloneDeaths: 0,
        alone: false,
        suspect: false,
      });
      expect(await t.run(innocent.runId)).toMatchObject({ heldBy: innocent.workerId, deaths: 0, epoch: 1 });
      expect(await t.sweep()).toMatchObject({ dead: 0, returned: 0 });
    },

    "a zombie's write is refused after the sweep, and its successor's is not": async (t) => {
      const zombie = await t.held();
      await zombie.commit(HOLD, { events: 1 });
      await t.advance(LEASE_MS);
      await t.sweep();
      expect(await zombie.commit(HOLD, { events: 1 })).toMatchObject({ outcome: "lost", held: false });
      const next = await t.claimOne(await t.worker());
      expect(await zombie.commit(end(), { events: 1 })).toMatchObject({ outcome: "lost", held: false });
      expect(await next.commit(HOLD, { events: 1 })).toMatchObject({ outcome: "written", held: true });
      expect(await t.history(next.runId)).toHaveLength(2);
    },

    "a worker that stopped did not die": async (t) => {
      const holder = await t.held();
      await t.store.workers.stop({ namespace: "default", workerId: holder.workerId });
      await t.advance(LEASE_MS * 2);
      expect(await t.sweep()).toMatchObject({ dead: 0, parked: 0 });
      expect(await t.run(holder.runId)).toMatchObject({ deaths: 0, suspect: false, heldBy: null });
      expect(await t.store.workers.list({ namespace: "default" })).toMatchObject([{ died: false }]);
    },

    "no more runs than the limit are returned at once, and the rest is asked for": async (t) => {
      const workerIds = [await t.worker(), await t.worker()];
      for (let i = 0; i < 5; i++) await t.held({}, workerIds[i % 2]);
      await t.advance(LEASE_MS);
      let [returned, dead, sweeps] = [0, 0, 0];
      for (let more = true; more; sweeps++) {
        const result = await t.sweep({ limit: 2 });
        expect(result.returned).toBeLessThanOrEqual(2);
        if (result.returned + returned < 5) expect(result.more).toBe(true);
        [returned, dead, more] = [returned + result.returned, dead + result.dead, result.more];
        if (sweeps > 10) throw new Error("the sweep always asks for more");
      }
      expect([returned, dead]).toEqual([5, 2]);
      const { runs } = await t.claim(await t.worker());
      expect(runs.map((run) => [run.epoch, run.deaths])).toEqual(Array.from({ length: 5 }, () => [3, 1]));
    },

    "deaths without progress make a suspect": async (t) => {
      const holder = await t.held();
      await t.advance(LEASE_MS);
      await t.sweep({ suspectAfter: 3 });
      await dieWith(t, { suspectAfter: 3 });
      expect(await t.run(holder.runId)).toMatchObject({ deaths: 2, suspect: false });
      await dieWith(t, { suspectAfter: 3 });
      expect(await t.run(holder.runId)).toMatchObject({ deaths: 3, suspect: true, aloneDeaths: 0, status: "running" });
    },

    "events are progress: they reset the deaths": async (t) => {
      const { run } = await t.start();
      await dieWith(t);
      const holder = await t.claimOne(await t.worker());
      await holder.commit(HOLD);
      expect(await t.run(run.runId)).toMatchObject({ deaths: 1 });
      await holder.commit(HOLD, { events: 1 });
      expect(await t.run(run.runId)).toMatchObject({ deaths: 0, aloneDeaths: 0, suspect: false });
    },

    "only deaths while alone count towards parking": async (t) => {
      const { run } = await t.start();
      for (let i = 0; i < 4; i++) await dieWith(t, { suspectAfter: 100 });
      expect(await t.run(run.runId)).toMatchObject({ deaths: 4, aloneDeaths: 0, status: "running", suspect: false });
    },

    "workers whose process is known to be gone are declared dead at once, and no others": async (t) => {
      const [gone, late, alive] = [await t.worker(), await t.worker({ leaseMs: 100 }), await t.worker()];
      const holder = await t.held({}, gone);
      await t.held({}, alive);
      await t.advance(200);
      const before = await t.run(holder.runId);
      expect(await t.sweep({ gone: [gone, t.newId()] })).toMatchObject({
        dead: 1,
        returned: 1,
        parked: 0,
        more: false,
      });
      expect(await t.run(holder.runId)).toEqual({
        ...before,
        heldBy: null,
        claimId: null,
        epoch: before.epoch + 1,
        availableAt: t.now,
        deaths: 1,
      });
      const rows = await t.store.workers.list({ namespace: "default" });
      const statusOf = (workerId: string) => rows.find((row) => row.workerId === workerId)?.status;
      expect([gone, late, alive].map(statusOf)).toEqual(["offline", "online", "online"]);
      expect(rows.find((row) => row.workerId === gone)).toMatchObject({ died: true, stoppedAt: t.now });
      expect(
        (await t.store.workers.heartbeat({ namespace: "default", workerId: gone, leaseMs: LEASE_MS, draining: false }))
          .live,
      ).toBe(false);
      expect(await t.sweep({ gone: [gone] })).toMatchObject({ dead: 0, returned: 0 });
    },

    "a run that kills its worker while alone is parked": async (t) => {
      const { run } = await t.start();
      for (let i = 0; i < 2; i++) await dieWith(t);
      expect(await dieWith(t, {}, true)).toMatchObject({ returned: 1, parked: 0 });
      expect(await t.run(run.runId)).toMatchObject({ deaths: 3, aloneDeaths: 1, suspect: true, alone: false });
      expect(await dieWith(t, {}, true)).toMatchObject({ returned: 0, parked: 1, dead: 1 });
      expect(await t.run(run.runId)).toMatchObject({
        status: "parked",
        error: SWEEP.parkError,
        heldBy: null,
        claimId: null,
        availableAt: null,
        alone: false,
        aloneDeaths: 2,
      });
      expect(await t.claim(await t.worker())).toMatchObject({ runs: [], suspectDue: false });
      expect((await t.claim(await t.worker(), { solo: true })).runs).toEqual([]);
    },

    "a suspect that is given back in an orderly way has not died": async (t) => {
      const { run } = await t.start();
      for (let i = 0; i < 2; i++) await dieWith(t);
      for (let i = 0; i < 3; i++) {
        const holder = await t.claimOne(await t.worker(), { solo: true });
        if (i === 0) await t.store.workers.stop({ namespace: "default", workerId: holder.workerId });
        else if (i === 1) await holder.commit({ type: "release" });
        else await t.store.runs.releaseIfHeld({ namespace: "default", workerId: holder.workerId, runs: [holder] });
        expect(await t.run(run.runId)).toMatchObject({ deaths: 2, aloneDeaths: 0, suspect: true, alone: false });
      }
    },

    "a run that nobody holds is ended when its deadline passed the grace ago": async (t) => {
      const { run } = await t.start({ id: "a", timeoutMs: 2_000 });
      await t.advance(2_999);
      expect(await t.sweep({ timeoutGraceMs: 1_000 })).toMatchObject({ timedOut: 0 });
      await t.advance(1);
      expect(await t.sweep({ timeoutGraceMs: 1_000 })).toMatchObject({ timedOut: 1 });
      expect(await t.run(run.runId)).toMatchObject({
        status: "timed_out",
        error: SWEEP.timeoutError,
        output: null,
        endedAt: t.now,
        availableAt: null,
        epoch: 1,
        heldBy: null,
      });
      expect(await t.sweep()).toMatchObject({ timedOut: 0 });
      expect(await t.start({ id: "a" }, { ifClosed: "start" })).toMatchObject({ outcome: "created" });
    },

    "a run that is given back past its deadline is due, and is not ended by a sweep however late": async (t) => {
      const holder = await t.held({ timeoutMs: 500 });
      await t.store.workers.heartbeat({
        namespace: "default",
        workerId: holder.workerId,
        leaseMs: 1_000,
        draining: false,
      });
      await t.advance(5_000);
      expect(await t.sweep({ timeoutGraceMs: 1_000 })).toMatchObject({ returned: 1, timedOut: 0 });
      expect(await t.run(holder.runId)).toMatchObject({ status: "running", availableAt: t.now });
      await t.advance(1_000_000);
      expect(await t.sweep({ timeoutGraceMs: 1_000 })).toMatchObject({ timedOut: 0 });
    },

    "runs that have begun are not ended by a sweep: they may have something to clean up": async (t) => {
      const workerId = await t.worker({ leaseMs: 1_000_000 });
      const held = await t.held({ timeoutMs: 100 }, workerId);
      const ended = await t.held({ timeoutMs: 100 }, workerId);
      await ended.commit(end());
      const others = [];
      for (const transition of [suspend(null), suspend(t.now + 500_000), park("odd")]) {
        const holder = await t.held({ timeoutMs: 100 }, workerId);
        await holder.commit(transition);
        others.push(holder);
      }
      const endless = await t.held({}, workerId);
      await endless.commit(suspend(null));
      await t.advance(100_000);
      expect(await t.sweep()).toMatchObject({ timedOut: 0 });
      for (const { runId } of others) expect((await t.run(runId)).endedAt).toBeNull();
      expect(await t.run(held.runId)).toMatchObject({ status: "running", heldBy: workerId });
      expect(await t.run(ended.runId)).toMatchObject({ status: "completed" });
      expect(await t.run(endless.runId)).toMatchObject({ status: "waiting" });
    },

    "a run that is compensating is left to finish that, however late": async (t) => {
      const holder = await t.held({ timeoutMs: 100 });
      await holder.commit(suspend(null, { status: "compensating" }));
      await t.advance(1_000_000);
      expect(await t.sweep({ timeoutGraceMs: 0 })).toMatchObject({ timedOut: 0 });
      expect(await t.run(holder.runId)).toMatchObject({ status: "compensating" });
    },

    "a run woken by its deadline can be taken and ended by a worker": async (t) => {
      const holder = await t.held({ timeoutMs: 100 });
      await holder.commit(suspend(null));
      // It waits for a message, so nothing wakes it before the sweep; a timer beyond the deadline is capped.
      const timer = await t.held({ timeoutMs: 100 }, holder.workerId);
      await timer.commit(suspend(t.now + 10_000));
      await t.advance(100);
      const woken = await t.claimOne(await t.worker());
      expect(woken.runId).toBe(timer.runId);
      await woken.commit(end({ status: "timed_out", output: null }));
      expect(await t.run(timer.runId)).toMatchObject({ status: "timed_out" });
    },
  },
};

/** Lets a worker claim what is due, and die. */
async function dieWith(t: Fixture, fields: Partial<typeof SWEEP> = {}, solo = false) {
  await t.claim(await t.worker({ leaseMs: 10 }), { solo });
  await t.advance(10);
  return t.sweep(fields);
}
