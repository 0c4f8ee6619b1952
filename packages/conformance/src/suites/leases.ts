import { expect } from "vitest";
import { HOLD, LEASE_MS, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

/** Workers: how they register, renew, release and stop. sweeps.ts has what happens to those that fall silent. */
export const leases: Suite = {
  noun: "leases",
  cases: {
    "a registered worker is listed with all that it said": async (t) => {
      const workerId = t.newId();
      const said = {
        workerId,
        namespace: "team ü",
        name: "höst-1",
        queues: ["a", 'b "c", d'],
        workflows: ["order", "refund"],
        tasks: ["mail", 'a "b", c'],
        labels: { zone: "eu-1", "a.b": "c'd" },
        leaseMs: 4_000,
      };
      expect(await t.store.workers.register(said)).toEqual({ live: true, now: t.now });
      expect(await t.store.workers.list({ namespace: "team ü" })).toEqual([
        {
          ...said,
          about: {},
          load: null,
          drainAsked: false,
          status: "online",
          startedAt: t.now,
          heartbeatAt: t.now,
          leaseExpiresAt: t.now + 4_000,
          stoppedAt: null,
          died: false,
          activeRuns: 0,
          activeTasks: 0,
        },
      ]);
      expect(await t.store.workers.list({ namespace: "default" })).toEqual([]);
    },

    "the clock that heartbeats are stamped with can be read": async (t) => {
      const workerId = await t.worker();
      await t.advance(1_234);
      expect(await t.store.readClock()).toEqual({ now: t.now });
      await t.store.workers.heartbeat({ namespace: "default", workerId, leaseMs: LEASE_MS, draining: false });
      const { now } = await t.store.readClock();
      expect(await t.store.workers.list({ namespace: "default" })).toMatchObject([{ heartbeatAt: now }]);
    },

    "a worker that says where it runs is listed with that, and told which others of its name run there": async (t) => {
      const here = { name: "orders", host: "höst-1", pid: 4_194_304 };
      const first = await t.worker(here);
      const [stopped, died] = [await t.worker({ ...here, pid: 2 }), await t.worker({ ...here, pid: 3, leaseMs: 100 })];
      await t.store.workers.stop({ namespace: "default", workerId: stopped });
      await t.advance(100);
      await t.sweep();
      await t.worker({ ...here, host: "höst-2" });
      await t.worker({ ...here, name: "refunds" });
      await t.worker({ ...here, namespace: "other" });
      await t.worker({ name: "orders" });
      const second = t.newId();
      const params = {
        namespace: "default",
        queues: [],
        workflows: [],
        labels: {},
        leaseMs: LEASE_MS,
        ...here,
        pid: 7,
      };
      const answer = { live: true, now: t.now, namesakes: [{ workerId: first, pid: here.pid }] };
      expect(await t.store.workers.register({ ...params, workerId: second })).toEqual(answer);
      expect(await t.store.workers.register({ ...params, workerId: second })).toEqual(answer);
      const listed = await t.store.workers.list({ namespace: "default" });
      expect(listed.find(({ workerId }) => workerId === second)).toMatchObject({ ...here, pid: 7 });
      expect(listed.find(({ workerId }) => workerId === died)).toMatchObject({ status: "offline" });
    },

    "of workers that register in one place at the same time, each hears of those before it": async (t) => {
      const here = { name: "orders", host: "host-1", pid: 7, queues: [], workflows: [], labels: {} };
      const params = { ...here, namespace: "default", leaseMs: LEASE_MS };
      const ids = Array.from({ length: 5 }, () => t.newId());
      const answers = await Promise.all(ids.map((workerId) => t.store.workers.register({ ...params, workerId })));
      expect(answers.map(({ namesakes = [] }) => namesakes.length).sort()).toEqual([0, 1, 2, 3, 4]);
    },

    "a worker without queues, workflows and labels is one too": async (t) => {
      await t.worker({ queues: [], workflows: [], labels: {} });
      expect(await t.store.workers.list({ namespace: "default" })).toMatchObject([
        { queues: [], workflows: [], labels: {} },
      ]);
    },

    "a repeated registration is the same worker": async (t) => {
      const workerId = await t.worker();
      const before = await t.store.workers.list({ namespace: "default" });
      await t.worker({ workerId });
      expect(await t.store.workers.list({ namespace: "default" })).toEqual(before);
    },

    "a dead or stopped id cannot be registered again": async (t) => {
      const params = { namespace: "default", name: "w", queues: [], workflows: [], labels: {}, leaseMs: 100 };
      const [stopped, died] = [await t.worker(), await t.worker({ leaseMs: 100 })];
      await t.store.workers.stop({ namespace: "default", workerId: stopped });
      await t.advance(100);
      await t.sweep();
      for (const workerId of [stopped, died]) {
        expect(await t.store.workers.register({ ...params, workerId })).toMatchObject({ live: false });
      }
      const workers = await t.store.workers.list({ namespace: "default" });
      expect(workers.map((worker) => worker.status)).toEqual(["offline", "offline"]);
    },

    "a heartbeat extends the lease from the store's now": async (t) => {
      const workerId = await t.worker();
      await t.advance(700);
      expect(
        await t.store.workers.heartbeat({ namespace: "default", workerId, leaseMs: 3_000, draining: false }),
      ).toEqual({
        live: true,
        now: t.now,
        heldCount: 0,
        behind: [],
        heldTasks: 0,
        canceledTasks: [],
      });
      expect(await t.store.workers.list({ namespace: "default" })).toMatchObject([
        { status: "online", heartbeatAt: t.now, leaseExpiresAt: t.now + 3_000, leaseMs: 3_000, startedAt: t.now - 700 },
      ]);
    },

    "a heartbeat says whether the worker is draining": async (t) => {
      const workerId = await t.worker();
      for (const draining of [true, false]) {
        await t.store.workers.heartbeat({ namespace: "default", workerId, leaseMs: LEASE_MS, draining });
        const [worker] = await t.store.workers.list({ namespace: "default" });
        expect(worker?.status).toBe(draining ? "draining" : "online");
      }
    },

    "a heartbeat tells how many runs are held and which are behind": async (t) => {
      const workerId = await t.worker();
      const [a, b, c] = [await t.held({}, workerId), await t.held({}, workerId), await t.held({}, workerId)];
      await t.held();
      for (const holder of [a, b]) await t.deliver(t.ref(holder.runId));
      await a.commit(HOLD, { consumed: 1 });
      await c.commit(suspend(null));
      const result = await t.store.workers.heartbeat({
        namespace: "default",
        workerId,
        leaseMs: LEASE_MS,
        draining: false,
      });
      expect(result).toMatchObject({ heldCount: 2, behind: [b.runId] });
      const workers = await t.store.workers.list({ namespace: "default" });
      expect(workers.map((worker) => worker.activeRuns).sort()).toEqual([1, 2]);
    },

    "a heartbeat of an unknown worker is not live": async (t) => {
      const result = await t.store.workers.heartbeat({
        namespace: "default",
        workerId: t.newId(),
        leaseMs: LEASE_MS,
        draining: false,
      });
      expect(result).toMatchObject({ live: false });
      expect(await t.store.workers.list({ namespace: "default" })).toEqual([]);
    },

    "a late heartbeat keeps a worker that no sweep has noticed": async (t) => {
      const workerId = await t.worker();
      await t.advance(LEASE_MS * 3);
      expect(
        await t.store.workers.heartbeat({ namespace: "default", workerId, leaseMs: LEASE_MS, draining: false }),
      ).toMatchObject({
        live: true,
      });
      expect(await t.sweep()).toMatchObject({ dead: 0, nextExpiryAt: t.now + LEASE_MS });
    },

    "a heartbeat never revives a dead worker": async (t) => {
      const workerId = await t.worker();
      await t.advance(LEASE_MS);
      await t.sweep();
      const [before] = await t.store.workers.list({ namespace: "default" });
      expect(
        await t.store.workers.heartbeat({ namespace: "default", workerId, leaseMs: LEASE_MS, draining: false }),
      ).toMatchObject({
        live: false,
      });
      expect(await t.store.workers.list({ namespace: "default" })).toEqual([before]);
      expect(before).toMatchObject({ status: "offline", died: true, stoppedAt: t.now });
    },

    "workers.list leaves out those that went offline before a time, however": async (t) => {
      const [early, stopped, died, live] = [await t.worker(), await t.worker(), await t.worker(), await t.worker()];
      const holder = await t.held({}, stopped);
      await t.store.workers.stop({ namespace: "default", workerId: early });
      await t.advance(10);
      const goneSince = t.now;
      const listed = async (since?: number): Promise<readonly string[]> => {
        const params = { namespace: "default", ...(since === undefined ? {} : { goneSince: since }) };
        return (await t.store.workers.list(params)).map(({ workerId }) => workerId).sort();
      };
      expect(await listed(goneSince)).toEqual([stopped, died, live].sort());
      await t.store.workers.stop({ namespace: "default", workerId: stopped });
      await t.sweep({ gone: [died] });
      expect(await t.run(holder.runId)).toMatchObject({ heldBy: null });
      expect(await listed(goneSince)).toEqual([stopped, died, live].sort());
      await t.advance(10);
      expect(await listed(goneSince + 1)).toEqual([live]);
      expect(await listed()).toEqual([early, stopped, died, live].sort());
    },

    "workers.readHeld gives run and epoch of what a worker holds": async (t) => {
      const workerId = await t.worker();
      const [a, b] = [await t.held({}, workerId), await t.held({}, workerId)];
      await t.held();
      await b.commit({ type: "release" });
      const again = await t.claimOne(workerId);
      const held = await t.store.workers.readHeld({ namespace: "default", workerId });
      expect([...held].sort((x, y) => (x.runId < y.runId ? -1 : 1))).toEqual([
        { runId: a.runId, epoch: 1, commit: 0, eventCount: 0 },
        { runId: again.runId, epoch: 2, commit: 1, eventCount: 0 },
      ]);
      expect(await t.store.workers.readHeld({ namespace: "default", workerId: t.newId() })).toEqual([]);
    },

    "released runs are due at once, and no death is counted": async (t) => {
      const holder = await t.held();
      await t.advance(25);
      const { workerId, runId, epoch } = holder;
      expect(await t.store.runs.releaseIfHeld({ namespace: "default", workerId, runs: [{ runId, epoch }] })).toEqual({
        released: 1,
      });
      expect(await t.run(runId)).toMatchObject({
        status: "running",
        heldBy: null,
        claimId: null,
        availableAt: t.now,
        deaths: 0,
        alone: false,
      });
      expect(await holder.commit(HOLD, { events: 1 })).toMatchObject({ outcome: "lost", held: false });
    },

    "the death of a guest is counted with the release, makes no suspect and parks nothing": async (t) => {
      const workerId = await t.worker();
      const { runId } = await t.held({}, workerId);
      for (const [n, alone] of [false, true, true, true, true].entries()) {
        const { epoch } = await t.run(runId);
        const released = { namespace: "default", workerId, runs: [{ runId, epoch }], died: { alone } };
        expect(await t.store.runs.releaseIfHeld(released)).toEqual({ released: 1 });
        expect(await t.store.runs.releaseIfHeld(released)).toEqual({ released: 0 });
        const marks = { deaths: n + 1, aloneDeaths: n, suspect: false, heldBy: null, status: "running" };
        expect(await t.run(runId)).toMatchObject(marks);
        await t.claimOne(workerId);
      }
    },

    "a release is fenced by epoch and worker, and a repeated one does nothing": async (t) => {
      const holder = await t.held();
      const { workerId, runId, epoch } = holder;
      const release = (by: string, at: number) =>
        t.store.runs.releaseIfHeld({ namespace: "default", workerId: by, runs: [{ runId, epoch: at }] });
      expect(await release(workerId, epoch - 1)).toEqual({ released: 0 });
      expect(await release(workerId, epoch + 1)).toEqual({ released: 0 });
      expect(await release(await t.worker(), epoch)).toEqual({ released: 0 });
      expect(await t.run(runId)).toMatchObject({ heldBy: workerId, epoch });
      await release(workerId, epoch);
      const next = await t.claimOne(workerId);
      expect(await release(workerId, epoch)).toEqual({ released: 0 });
      expect(await t.run(runId)).toMatchObject({ heldBy: workerId, epoch: next.epoch });
    },

    "of many runs those that are held are released": async (t) => {
      const workerId = await t.worker();
      const [a, b] = [await t.held({}, workerId), await t.held({}, workerId)];
      const other = await t.held();
      const runs = [a, other, b].map(({ runId, epoch }) => ({ runId, epoch }));
      expect(await t.store.runs.releaseIfHeld({ namespace: "default", workerId, runs })).toEqual({ released: 2 });
      expect(await t.store.workers.readHeld({ namespace: "default", workerId })).toEqual([]);
      expect(await t.store.workers.readHeld({ namespace: "default", workerId: other.workerId })).toHaveLength(1);
    },

    "a release past the deadline makes the run due now": async (t) => {
      const { workerId, runId, epoch } = await t.held({ timeoutMs: 100 });
      await t.advance(300);
      await t.store.runs.releaseIfHeld({ namespace: "default", workerId, runs: [{ runId, epoch }] });
      expect(await t.run(runId)).toMatchObject({ availableAt: t.now });
    },

    "a worker that stops releases what it holds, and no death is counted": async (t) => {
      const workerId = await t.worker();
      const [a, b] = [await t.held({}, workerId), await t.held({}, workerId)];
      await b.commit({ type: "hold", status: "compensating" });
      await t.advance(10);
      await t.store.workers.stop({ namespace: "default", workerId });
      const given = { heldBy: null, claimId: null, availableAt: t.now, deaths: 0, aloneDeaths: 0 };
      expect(await t.run(a.runId)).toMatchObject({ ...given, status: "running" });
      expect(await t.run(b.runId)).toMatchObject({ ...given, status: "compensating" });
      expect(await t.store.workers.list({ namespace: "default" })).toMatchObject([
        { status: "offline", died: false, stoppedAt: t.now },
      ]);
      expect(await a.commit(HOLD, { events: 1 })).toMatchObject({ outcome: "lost", held: false });
      expect(
        await t.store.workers.heartbeat({ namespace: "default", workerId, leaseMs: LEASE_MS, draining: false }),
      ).toMatchObject({
        live: false,
      });
    },

    "a repeated stop changes nothing": async (t) => {
      const { workerId, runId } = await t.held();
      await t.store.workers.stop({ namespace: "default", workerId });
      const before = [await t.run(runId), await t.store.workers.list({ namespace: "default" })];
      await t.advance(10);
      await t.store.workers.stop({ namespace: "default", workerId });
      expect([await t.run(runId), await t.store.workers.list({ namespace: "default" })]).toEqual(before);
      await t.store.workers.stop({ namespace: "default", workerId: t.newId() });
    },

    "to stop after having died is to have died": async (t) => {
      const { workerId, runId } = await t.held();
      await t.advance(LEASE_MS);
      await t.sweep();
      const [before] = await t.store.workers.list({ namespace: "default" });
      await t.advance(10);
      await t.store.workers.stop({ namespace: "default", workerId });
      expect(await t.store.workers.list({ namespace: "default" })).toEqual([before]);
      expect(await t.run(runId)).toMatchObject({ deaths: 1 });
    },
  },
};
