import type { StartRun } from "holdfast/adapter";
import { expect } from "vitest";
import { aStart, REPLACED } from "../fixture.ts";
import { bytes, end, HOLD, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

export const starts: Suite = {
  noun: "starts",
  cases: {
    "a new run is pending, due at once and held by nobody": async (t) => {
      const run = t.newRun({ id: "order 1", attributes: { region: "eu" }, priority: 3 });
      const [started] = await t.startMany([run]);
      expect(started?.outcome).toBe("created");
      const stored = await t.run(run.runId);
      expect(stored).toEqual({
        ...run,
        firstRunId: run.runId,
        status: "pending",
        epoch: 0,
        commit: 0,
        heldBy: null,
        claimId: null,
        availableAt: t.now,
        eventCount: 0,
        delivered: 0,
        consumed: 0,
        deaths: 0,
        aloneDeaths: 0,
        alone: false,
        suspect: false,
        createdAt: t.now,
        startedAt: null,
        endedAt: null,
        deadlineAt: null,
        timeoutMs: null,
        waitingFor: [],
        output: null,
        error: null,
        compensation: null,
        continuedFrom: null,
        continuedAs: null,
      });
    },

    "the answer carries the row as it is stored, without payloads, and the store's time": async (t) => {
      const start = aStart(t.newRun());
      const { outcomes, now } = await t.store.runs.start({ starts: [start], holdBy: null, replaceError: REPLACED });
      expect(now).toBe(t.now);
      const { input: _input, output: _output, error: _error, ...row } = await t.run(start.run.runId);
      expect(outcomes).toEqual([{ outcome: "created", run: row }]);
    },

    "a repeated start finds its own run and changes nothing": async (t) => {
      const run = t.newRun();
      await t.startMany([run]);
      const before = await t.run(run.runId);
      const [again] = await t.startMany([run]);
      expect(again?.outcome).toBe("created");
      expect(again?.run.runId).toBe(run.runId);
      expect(await t.run(run.runId)).toEqual(before);
      expect(await t.store.runs.count({ namespace: "default", atMost: null })).toBe(1);
    },

    "a run id that is there under another id is answered by the run that has it": async (t) => {
      const run = t.newRun({ id: "a" });
      await t.startMany([run]);
      const [again] = await t.startMany([{ ...run, id: "b" }]);
      expect(again).toMatchObject({ outcome: "created", run: { runId: run.runId, id: "a" } });
      expect(await t.store.runs.count({ namespace: "default", atMost: null })).toBe(1);
    },

    "a repeated start finds its own run whatever has become of it, whatever the policies": async (t) => {
      const holder = await t.held({ id: "a" });
      await holder.commit(end(), { events: 2 });
      for (const ifClosed of ["start", "fail", "return"] as const) {
        const again = await t.start({ id: "a", runId: holder.runId }, { ifClosed, ifRunning: "replace" });
        expect(again).toMatchObject({
          outcome: "created",
          run: { runId: holder.runId, status: "completed", commit: 1 },
        });
      }
      expect(await t.store.runs.count({ namespace: "default", atMost: null })).toBe(1);
    },

    "while a run of the id is open, ifRunning decides: return": async (t) => {
      const first = await t.start({ id: "a" });
      const other = await t.start({ id: "a" }, { ifRunning: "return", ifClosed: "fail" });
      expect(other).toMatchObject({ outcome: "returned", run: { runId: first.run.runId } });
      expect(await t.store.runs.count({ namespace: "default", atMost: null })).toBe(1);
    },

    "while a run of the id is open, ifRunning decides: fail": async (t) => {
      const first = await t.start({ id: "a" });
      const other = await t.start({ id: "a" }, { ifRunning: "fail", ifClosed: "start" });
      expect(other).toMatchObject({ outcome: "exists", run: { runId: first.run.runId } });
      expect(await t.store.runs.count({ namespace: "default", atMost: null })).toBe(1);
    },

    "while a run of the id is open, ifRunning decides: replace terminates it": async (t) => {
      const holder = await t.held({ id: "a" });
      await t.advance(50);
      const other = await t.start({ id: "a" }, { ifRunning: "replace", ifClosed: "fail" });
      expect(other).toMatchObject({ outcome: "created", run: { status: "pending", continuedFrom: null } });
      expect(await t.run(holder.runId)).toMatchObject({
        status: "terminated",
        error: REPLACED,
        output: null,
        epoch: holder.epoch + 1,
        heldBy: null,
        claimId: null,
        availableAt: null,
        endedAt: t.now,
        continuedAs: null,
      });
      expect(await holder.commit(HOLD, { events: 1 })).toMatchObject({ outcome: "lost", held: false });
      expect(await t.run({ namespace: "default", id: "a" })).toMatchObject({ runId: other.run.runId });
    },

    "a run that waits, sleeps or is parked is open too": async (t) => {
      const waiting = await t.held({ id: "waiting" });
      await waiting.commit(suspend(null));
      const sleeping = await t.held({ id: "sleeping" });
      await sleeping.commit(suspend(t.now + 5_000));
      for (const id of ["waiting", "sleeping"]) {
        expect(await t.start({ id }, { ifRunning: "return", ifClosed: "start" })).toMatchObject({
          outcome: "returned",
        });
      }
    },

    "after the run of the id has closed, ifClosed decides": async (t) => {
      const holder = await t.held({ id: "a" });
      await holder.commit(end());
      const returned = await t.start({ id: "a" }, { ifClosed: "return", ifRunning: "fail" });
      expect(returned).toMatchObject({ outcome: "returned", run: { runId: holder.runId, status: "completed" } });
      const failed = await t.start({ id: "a" }, { ifClosed: "fail", ifRunning: "replace" });
      expect(failed).toMatchObject({ outcome: "exists", run: { runId: holder.runId } });
      const started = await t.start({ id: "a" }, { ifClosed: "start", ifRunning: "fail" });
      expect(started).toMatchObject({ outcome: "created", run: { status: "pending" } });
      expect(started.run.runId).not.toBe(holder.runId);
      expect(started.run.firstRunId).toBe(started.run.runId);
      expect(await t.run(holder.runId)).toMatchObject({ status: "completed", continuedAs: null });
    },

    "the same id in another namespace is another id": async (t) => {
      const here = await t.start({ id: "a" });
      const there = await t.start({ id: "a", namespace: "elsewhere" });
      expect([here.outcome, there.outcome]).toEqual(["created", "created"]);
      expect(await t.run({ namespace: "elsewhere", id: "a" })).toMatchObject({ runId: there.run.runId });
      expect(await t.run({ namespace: "default", id: "a" })).toMatchObject({ runId: here.run.runId });
    },

    "createdAt increases strictly per id, even within one millisecond": async (t) => {
      const runIds: string[] = [];
      for (let i = 0; i < 4; i++) {
        const { run } = await t.start({ id: "a" }, { ifRunning: "replace" });
        runIds.push(run.runId);
      }
      // The smallest possible run id: the run id must not decide which run is the newest.
      await t.start({ id: "a", runId: "00000000-0000-7000-8000-000000000000" }, { ifRunning: "replace" });
      runIds.push("00000000-0000-7000-8000-000000000000");
      const runs = await Promise.all(runIds.map((runId) => t.run(runId)));
      expect(runs.map((run) => run.createdAt)).toEqual([0, 1, 2, 3, 4].map((i) => t.now + i));
      expect(await t.run({ namespace: "default", id: "a" })).toMatchObject({ runId: runIds[4], status: "pending" });
    },

    "a run with a delay is due after it, and one with a time is due then": async (t) => {
      const delayed = await t.start({ startDelayMs: 5_000 });
      const dated = await t.start({ startAt: t.now + 7_000 });
      const both = await t.start({ startAt: t.now + 7_000, startDelayMs: 9_000 });
      const past = await t.start({ startAt: t.now - 7_000 });
      const dueIn = [delayed, dated, both, past].map(({ run }) => (run.availableAt ?? 0) - t.now);
      expect(dueIn).toEqual([5_000, 7_000, 9_000, 0]);
    },

    "a run is never due after its deadline": async (t) => {
      const late = await t.start({ startDelayMs: 5_000, timeoutMs: 3_000 });
      expect(late.run).toMatchObject({ deadlineAt: t.now + 3_000, availableAt: t.now + 3_000 });
      const early = await t.start({ startDelayMs: 1_000, timeoutMs: 3_000 });
      expect(early.run).toMatchObject({ deadlineAt: t.now + 3_000, availableAt: t.now + 1_000 });
    },

    "the deadline counts from createdAt": async (t) => {
      await t.start({ id: "a" });
      const { run } = await t.start({ id: "a", timeoutMs: 500 }, { ifRunning: "replace" });
      expect(run).toMatchObject({ createdAt: t.now + 1, deadlineAt: t.now + 501, timeoutMs: 500, availableAt: t.now });
    },

    "start-and-hold claims the run in the same step": async (t) => {
      const holdBy = { workerId: await t.worker(), claimId: t.newId() };
      const { run } = await t.start({}, { holdBy });
      expect(run).toMatchObject({
        status: "running",
        epoch: 1,
        commit: 0,
        heldBy: holdBy.workerId,
        claimId: holdBy.claimId,
        availableAt: null,
        startedAt: t.now,
        alone: false,
      });
      expect(await t.store.workers.readHeld({ namespace: "default", workerId: holdBy.workerId })).toEqual([
        { runId: run.runId, epoch: 1, commit: 0, eventCount: 0 },
      ]);
    },

    "a repeated start-and-hold does not claim twice": async (t) => {
      const holdBy = { workerId: await t.worker(), claimId: t.newId() };
      const { run } = await t.start({ id: "a" }, { holdBy });
      const again = await t.start({ id: "a", runId: run.runId }, { holdBy });
      expect(again).toMatchObject({ outcome: "created", run: { epoch: 1, heldBy: holdBy.workerId } });
    },

    "start-and-hold holds nothing for a worker that is offline or unknown": async (t) => {
      const workerId = await t.worker();
      await t.store.workers.stop({ namespace: "default", workerId });
      for (const id of [workerId, t.newId()]) {
        const { outcome, run } = await t.start({}, { holdBy: { workerId: id, claimId: t.newId() } });
        expect(outcome).toBe("created");
        expect(run).toMatchObject({ status: "pending", heldBy: null, claimId: null, epoch: 0, startedAt: null });
        expect(run.availableAt).not.toBeNull();
      }
    },

    "start-and-hold holds no run that is not due yet": async (t) => {
      const holdBy = { workerId: await t.worker(), claimId: t.newId() };
      for (const fields of [{ startDelayMs: 1 }, { startAt: t.now + 1 }]) {
        const { run } = await t.start(fields, { holdBy });
        expect(run).toMatchObject({ status: "pending", heldBy: null, epoch: 0, availableAt: t.now + 1 });
      }
    },

    "start-and-hold does not take a run that was there before": async (t) => {
      const first = await t.start({ id: "a" });
      const holdBy = { workerId: await t.worker(), claimId: t.newId() };
      const returned = await t.start({ id: "a" }, { holdBy, ifRunning: "return" });
      expect(returned).toMatchObject({ outcome: "returned", run: { runId: first.run.runId, heldBy: null, epoch: 0 } });
    },

    "a draining worker is not offline: it may start and hold": async (t) => {
      const workerId = await t.worker();
      await t.store.workers.heartbeat({ namespace: "default", workerId, leaseMs: 10_000, draining: true });
      const { run } = await t.start({}, { holdBy: { workerId, claimId: t.newId() } });
      expect(run.heldBy).toBe(workerId);
    },

    "many starts in one call are decided one by one, and answered in order": async (t) => {
      const workerId = await t.worker();
      const closed = await t.held({ id: "closed" }, workerId);
      await closed.commit(end());
      const open = await t.start({ id: "open" });
      const start = (id: string, fields: Partial<StartRun>): StartRun =>
        aStart(t.newRun({ id, input: bytes(`"${id}"`) }), fields);
      const starts = [
        start("new", {}),
        start("open", { ifRunning: "return" }),
        start("held", { hold: true }),
        start("closed", {}),
        start("later", {}),
      ];
      const holdBy = { workerId, claimId: t.newId() };
      const { outcomes } = await t.store.runs.start({ starts, holdBy, replaceError: REPLACED });
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(["created", "returned", "created", "exists", "created"]);
      expect(outcomes.map(({ run }) => run?.id)).toEqual(["new", "open", "held", "closed", "later"]);
      expect(outcomes[1]?.run?.runId).toBe(open.run.runId);
      expect(outcomes.map(({ run }) => run?.heldBy)).toEqual([null, null, workerId, null, null]);
      expect((await t.run({ namespace: "default", id: "later" })).input).toEqual(bytes('"later"'));
    },

    "an empty call is answered": async (t) => {
      const { outcomes } = await t.store.runs.start({ starts: [], holdBy: null, replaceError: REPLACED });
      expect(outcomes).toEqual([]);
    },
  },
};
