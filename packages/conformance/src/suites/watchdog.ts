import type { Hint, RestartOutcome, RestartParams } from "holdfast/adapter";
import { expect } from "vitest";
import { due, expectHints } from "../expected-hints.ts";
import type { Fixture } from "../fixture.ts";
import type { Holder } from "../holder.ts";
import { end, HOLD, park, suspend } from "../sample-data.ts";
import { COMPLETED, retried } from "../sample-tasks.ts";
import type { Suite } from "../suite.ts";

const EVENT = { type: "run_restarted", op: null, meta: { by: "watchdog", reason: "stalled_run" } } as const;

async function restart(t: Fixture, holder: Holder, fields: Partial<RestartParams> = {}): Promise<RestartOutcome> {
  const { namespace, runId, epoch, commit, eventCount } = await t.run(holder.runId);
  return t.store.runs.restartIfHeld({ namespace, runId, epoch, commit, eventCount, event: EVENT, ...fields });
}

/** What is asked of a store on behalf of people who are on call: what is due, who holds what, and taking it from them. */
export const watchdog: Suite = {
  noun: "what a watchdog sees and does",
  cases: {
    "a held run is taken from its holder, with the event, and is due": async (t) => {
      const holder = await t.held();
      await holder.commit(HOLD, { events: 1 });
      await t.advance(5);
      const before = await t.run(holder.runId);
      expect(await restart(t, holder)).toEqual({ outcome: "restarted" });
      expect(await t.run(holder.runId)).toEqual({
        ...before,
        epoch: before.epoch + 1,
        heldBy: null,
        claimId: null,
        availableAt: t.now,
        eventCount: 2,
      });
      expect((await t.history(holder.runId)).at(-1)).toEqual({ seq: 2, at: t.now, ...EVENT });
    },

    "the holder of a run that was restarted writes nothing any more, and another worker continues": async (t) => {
      const holder = await t.held();
      await restart(t, holder);
      expect(await holder.commit(end(), { events: 1 })).toMatchObject({ outcome: "lost" });
      const next = await t.claimOne(await t.worker());
      expect(next.runId).toBe(holder.runId);
      expect(await next.commit(end())).toMatchObject({ outcome: "written" });
      expect((await t.history(holder.runId)).map(({ type }) => type)).toEqual(["run_restarted"]);
    },

    "a restart for another epoch or commit changes nothing, nor does a second one": async (t) => {
      const holder = await t.held();
      const before = await t.run(holder.runId);
      for (const by of [-1, 1]) {
        expect(await restart(t, holder, { epoch: before.epoch + by })).toEqual({ outcome: "moved" });
        expect(await restart(t, holder, { commit: before.commit + by })).toEqual({ outcome: "moved" });
      }
      expect(await t.run(holder.runId)).toEqual(before);
      const known = { epoch: before.epoch, commit: before.commit };
      expect(await restart(t, holder, known)).toEqual({ outcome: "restarted" });
      const after = await t.run(holder.runId);
      expect(await restart(t, holder, known)).toEqual({ outcome: "moved" });
      expect(await t.run(holder.runId)).toEqual(after);
    },

    "only a run that is held is restarted": async (t) => {
      const suspended = await t.held();
      await suspended.commit(suspend(null));
      const parked = await t.held();
      await parked.commit(park("a bug"));
      const ended = await t.held();
      await ended.commit(end());
      for (const holder of [suspended, parked, ended]) {
        const before = await t.run(holder.runId);
        expect(await restart(t, holder)).toEqual({ outcome: "moved" });
        expect(await t.run(holder.runId)).toEqual(before);
      }
      const { run } = await t.start();
      const { namespace, runId, epoch, commit, eventCount } = run;
      const params = { namespace, runId, epoch, commit, eventCount, event: EVENT };
      expect(await t.store.runs.restartIfHeld(params)).toEqual({ outcome: "moved" });
    },

    "a run of another namespace does not exist for a restart": async (t) => {
      const holder = await t.held();
      expect(await restart(t, holder, { namespace: "other" })).toEqual({ outcome: "not_found" });
      expect((await t.run(holder.runId)).heldBy).toBe(holder.workerId);
    },

    "the holder of a run that is restarted is hinted, and so are those who may take it": async (t) => {
      const holder = await t.held();
      const taken: Hint = { type: "taken", runId: holder.runId, workerId: holder.workerId };
      await expectHints(t, [taken, due("default")], () => restart(t, holder));
    },

    "held runs are listed with how far they have come": async (t) => {
      const holder = await t.held();
      const { epoch, commit } = await t.run(holder.runId);
      const read = () => t.store.workers.readHeld({ namespace: "default", workerId: holder.workerId });
      expect(await read()).toEqual([{ runId: holder.runId, epoch, commit, eventCount: 0 }]);
      await holder.commit(HOLD, { events: 1 });
      expect(await read()).toEqual([{ runId: holder.runId, epoch, commit: commit + 1, eventCount: 1 }]);
    },

    "an attempt is ended by order, under its epoch, if a worker holds it": async (t) => {
      const { task } = await t.tasks.held();
      expect(await t.tasks.finish({ ...task, epoch: task.epoch - 1 }, retried(0), { type: "order" })).toBe("lost");
      expect(await t.tasks.finish(task, retried(0), { type: "order" })).toBe("done");
      expect(await t.tasks.finish(task, COMPLETED)).toBe("lost");
      const again = { ...task, epoch: task.epoch + 1 };
      expect(await t.tasks.finish(again, retried(0), { type: "order" })).toBe("lost");
    },

    "a note goes into the inbox of a run, once, and not into that of a parked one": async (t) => {
      const holder = await t.held();
      const note = { kind: "note", name: "why", messageId: "n" } as const;
      expect(await t.deliver(t.ref(holder.runId), note)).toMatchObject({ outcome: "delivered" });
      expect(await t.deliver(t.ref(holder.runId), note)).toMatchObject({ outcome: "duplicate" });
      const parked = await t.held();
      await parked.commit(park("a bug"));
      expect(await t.deliver(t.ref(parked.runId), note)).toMatchObject({ outcome: "parked" });
    },

    "a cancel that names an epoch is for that epoch alone": async (t) => {
      const holder = await t.held();
      const { epoch } = await t.run(holder.runId);
      const cancel = { kind: "cancel", messageId: "c" } as const;
      expect(await t.deliver(t.ref(holder.runId), { ...cancel, epoch: epoch - 1 })).toMatchObject({ outcome: "moved" });
      expect(await t.inbox(holder.runId)).toEqual([]);
      expect(await t.deliver(t.ref(holder.runId), { ...cancel, epoch })).toMatchObject({ outcome: "delivered" });
    },

    "what is due is counted by queue and version, over all priorities, no further than asked": async (t) => {
      const first = t.now;
      for (const priority of [0, 0, 1]) await t.start({ priority });
      await t.start({ version: "2" });
      await t.start({ queue: "slow" });
      await t.start({ namespace: "other" });
      await t.start({ startDelayMs: 1_000 });
      await t.held({ workflow: "held" });
      await t.advance(7);
      const read = async (atMost: number) =>
        (await t.store.queues.backlog({ namespace: "default", atMost, lateMs: 0 })).runs.map(
          ({ queue, workflow, version, waiting }) => [queue, workflow, version, waiting],
        );
      expect(await read(100)).toEqual([
        ["default", "order", "1", 3],
        ["default", "order", "2", 1],
        ["slow", "order", "1", 1],
      ]);
      expect((await read(2))[0]).toEqual(["default", "order", "1", 2]);
      const { now, runs, tasks } = await t.store.queues.backlog({ namespace: "other", atMost: 9, lateMs: 0 });
      const only = { queue: "default", workflow: "order", version: "1", waiting: 1, suspects: 0, late: 0 };
      expect({ now, runs, tasks }).toEqual({
        now: t.now,
        runs: [{ ...only, oldestDueAt: expect.any(Number), timerDueAt: null }],
        tasks: [],
      });
      expect(runs[0]?.oldestDueAt).toBeGreaterThanOrEqual(first);
    },

    "a run that sleeps although its time has come is late": async (t) => {
      const [soon, later] = [await t.held(), await t.held()];
      await soon.commit(suspend(t.now + 10, { status: "sleeping" }));
      await later.commit(suspend(t.now + 1_000, { status: "sleeping" }));
      const dueAt = t.now + 10;
      const read = async () => (await t.store.queues.backlog({ namespace: "default", atMost: 9, lateMs: 500 })).runs;
      expect(await read()).toEqual([]);
      await t.advance(100);
      expect(await read()).toMatchObject([{ waiting: 1, late: 0, timerDueAt: dueAt, oldestDueAt: dueAt }]);
      await t.advance(1_000);
      expect(await read()).toMatchObject([{ waiting: 2, late: 1, timerDueAt: dueAt }]);
    },

    "what waits for a place in a queue with limits is not counted": async (t) => {
      await t.queues.set({ concurrency: 1 });
      await t.queues.start(3);
      await t.queues.claim(await t.worker());
      expect((await t.store.queues.backlog({ namespace: "default", atMost: 9, lateMs: 0 })).runs).toEqual([]);
    },

    "tasks that are due are counted by queue, name and labels": async (t) => {
      const scheduled = await t.tasks.scheduled();
      await t.advance(3);
      const { tasks } = await t.store.queues.backlog({ namespace: "default", atMost: 9, lateMs: 0 });
      const { queue, name, requires } = await t.tasks.read(scheduled.key);
      expect(tasks).toEqual([{ queue, name, requires, waiting: 1, suspects: 0, oldestDueAt: expect.any(Number) }]);
    },
  },
};
