import { TASK_GRACE_MS } from "holdfast/adapter";
import { expect } from "vitest";
import { bytes, end, HOLD, park, RELEASE, someEvents, suspend } from "../../sample-data.ts";
import { byToken, COMPLETED, failed, newTask, secretOf, taskEvent } from "../../sample-tasks.ts";
import type { Suite } from "../../suite.ts";

/** What a run's own commits do to its tasks. */
export const taskScheduling: Suite = {
  noun: "task scheduling",
  cases: {
    "a commit creates its tasks, due at once, with all that the run asked for": async (t) => {
      const holder = await t.held({ namespace: "team ü", priority: 7, queue: "runs" });
      await t.advance(5);
      const asked = newTask(2, { queue: 'a "b"', name: "möbel", requires: ["gpu", "gpu=a100"], priority: -3 });
      const spec = { name: "möbel", requires: ["gpu"], timeoutMs: 5, onCrash: "fail" } as const;
      const events = [...someEvents(0, 1), { ...taskEvent(asked), meta: { task: spec } }];
      expect(await holder.commit(HOLD, { events, tasks: [asked] })).toEqual({
        outcome: "written",
        held: true,
        delivered: 0,
      });
      expect(await t.tasks.read({ runId: holder.runId, seq: 2 }, "team ü")).toEqual({
        namespace: "team ü",
        runId: holder.runId,
        seq: 2,
        inputSeq: 2,
        op: "mail#2",
        name: "möbel",
        queue: 'a "b"',
        requires: ["gpu", "gpu=a100"],
        priority: -3,
        status: "due",
        epoch: 0,
        secret: secretOf(2),
        attempt: 1,
        heldBy: null,
        claimId: null,
        availableAt: t.now,
        expiresAt: null,
        expires: null,
        canceled: false,
        deaths: 0,
        aloneDeaths: 0,
        alone: false,
        suspect: false,
        failOnCrash: false,
        createdAt: t.now,
        details: null,
        failures: [],
        input: bytes('"input 2"'),
        spec,
      });
    },

    "a task has the input and the options of the event that it names": async (t) => {
      const holder = await t.held();
      const [first] = await holder.schedule([{}]);
      await holder.commit(HOLD, { events: [{ seq: 2, type: "op_rescheduled", op: "mail#1", at: t.now }] });
      await holder.commit(HOLD, {
        events: [{ seq: 3, type: "op_rescheduled", op: "mail#1", at: t.now }],
        settled: [1],
        tasks: [newTask(3, { inputSeq: 1, op: "mail#1" })],
      });
      expect(await t.tasks.find({ runId: holder.runId, seq: first?.seq as number })).toBeNull();
      expect(await t.tasks.read({ runId: holder.runId, seq: 3 })).toMatchObject({
        inputSeq: 1,
        op: "mail#1",
        input: bytes('"input 1"'),
        spec: { name: "mail" },
      });
    },

    "an event without input or options makes a task without them": async (t) => {
      const holder = await t.held();
      const events = [{ seq: 1, type: "task_scheduled", op: "mail", at: t.now } as const];
      await holder.commit(HOLD, { events, tasks: [newTask(1)] });
      expect(await t.tasks.read({ runId: holder.runId, seq: 1 })).toMatchObject({ input: null, spec: null });
    },

    "an empty input is not the same as none": async (t) => {
      const holder = await t.held();
      const events = [{ ...taskEvent(newTask(1)), payload: bytes("") }];
      await holder.commit(HOLD, { events, tasks: [newTask(1)] });
      expect(await t.tasks.read({ runId: holder.runId, seq: 1 })).toMatchObject({ input: bytes("") });
    },

    "a commit that is lost changes no task": async (t) => {
      const { holder, key } = await t.tasks.scheduled();
      const before = await t.tasks.read(key);
      const draft = holder.draftTasks([{}], HOLD, { settled: [1], dropTasks: true });
      for (const wrong of [{ epoch: 9 }, { commit: 7 }, { workerId: t.newId() }, { namespace: "other" }]) {
        expect(await holder.send({ ...draft, ...wrong })).toMatchObject({ outcome: "lost" });
        expect(await t.tasks.seqsOf(holder.runId)).toEqual([1]);
      }
      expect(await t.tasks.read(key)).toEqual(before);
    },

    "a commit that is behind changes no task and deletes no result": async (t) => {
      const { holder, key, task } = await t.tasks.held();
      const [other] = await holder.schedule([{}]);
      expect(await t.tasks.finish(task, COMPLETED)).toBe("done");
      await t.deliver(t.ref(holder.runId));
      const fields = { settled: [2], dropTasks: true, results: [1], consumed: 1 };
      const draft = holder.draftTasks([{}], end({ unlessBehind: true }), fields);
      expect(await holder.send(draft)).toMatchObject({ outcome: "behind", held: true });
      expect(await t.tasks.seqsOf(holder.runId)).toEqual([other?.seq]);
      expect(await t.tasks.find(key)).toBeNull();
      expect((await t.inbox(holder.runId)).map(({ number }) => number)).toEqual([1, 2]);
    },

    "a repeated commit creates nothing again and deletes nothing that came later": async (t) => {
      const holder = await t.held();
      const draft = holder.draftTasks([{}, {}], HOLD, { dropTasks: true });
      await holder.send(draft);
      const claimed = await t.tasks.claimOne(await t.worker(), { limit: 1 });
      await t.tasks.finish(claimed, COMPLETED);
      const before = await t.store.tasks.list({ namespace: "default", limit: 10 });
      await t.advance(50);
      expect(await holder.send(draft)).toMatchObject({ outcome: "written" });
      expect(await t.store.tasks.list({ namespace: "default", limit: 10 })).toEqual(before);
      expect(before).toHaveLength(1);
    },

    "tasks are created by a commit that should have suspended the run and is behind": async (t) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId));
      expect(await holder.send(holder.draftTasks([{}], suspend(null)))).toMatchObject({
        outcome: "written",
        held: true,
      });
      expect(await t.tasks.seqsOf(holder.runId)).toEqual([1]);
    },

    "tasks stay, and are done, while their run is suspended, released or parked": async (t) => {
      const workerId = await t.worker();
      for (const transition of [suspend(null), suspend(t.now + 100_000), RELEASE, park("odd")]) {
        const holder = await t.held();
        await holder.send(holder.draftTasks([{}], transition));
        const task = await t.tasks.claimOne(workerId);
        expect(task).toMatchObject({ runId: holder.runId, epoch: 1 });
        expect(await t.tasks.finish(task, COMPLETED)).toBe("done");
        expect(await t.inbox(holder.runId)).toHaveLength(1);
      }
    },

    "an external task is created open for whoever has its token": async (t) => {
      const { key } = await t.tasks.scheduled({ external: true, timeoutMs: 700, secret: secretOf(99) });
      expect(await t.tasks.read(key)).toMatchObject({
        status: "external",
        epoch: 0,
        attempt: 1,
        heldBy: null,
        availableAt: null,
        secret: secretOf(99),
        expiresAt: t.now + 700,
        expires: "timeout",
      });
      expect((await t.tasks.claim(await t.worker())).tasks).toEqual([]);
    },

    "a task can be held from the beginning, and the answer says so": async (t) => {
      const workerId = await t.worker();
      const holder = await t.held();
      const claimId = t.newId();
      const draft = holder.draftTasks([{}, { holdBy: { workerId, claimId }, timeoutMs: 40 }]);
      expect(await holder.send(draft)).toEqual({ outcome: "written", held: true, delivered: 0, tasksHeld: [2] });
      expect(await t.tasks.read({ runId: holder.runId, seq: 2 })).toMatchObject({
        status: "held",
        heldBy: workerId,
        claimId,
        epoch: 1,
        attempt: 1,
        alone: false,
        availableAt: null,
        expiresAt: t.now + 40 + TASK_GRACE_MS,
        expires: "timeout",
      });
      expect(await t.store.workers.readHeldTasks({ namespace: "default", workerId })).toEqual([
        { runId: holder.runId, seq: 2, epoch: 1, canceled: false },
      ]);
      expect((await t.tasks.claim(workerId)).tasks.map(({ seq }) => seq)).toEqual([1]);
    },

    "a worker that is offline, of another namespace or unknown holds no task from the beginning": async (t) => {
      const stopped = await t.worker();
      await t.store.workers.stop({ namespace: "default", workerId: stopped });
      const dead = await t.worker({ leaseMs: 10 });
      await t.advance(10);
      await t.sweep();
      const holder = await t.held();
      const nobody = [stopped, dead, await t.worker({ namespace: "other" }), t.newId()];
      const tasks = nobody.map((workerId) => ({ holdBy: { workerId, claimId: t.newId() } }));
      const draft = holder.draftTasks(tasks);
      expect(await holder.send(draft)).toEqual({ outcome: "written", held: true, delivered: 0, tasksHeld: [] });
      const rows = await t.store.tasks.list({ namespace: "default", limit: 10 });
      expect(rows.map(({ status, epoch, heldBy }) => [status, epoch, heldBy])).toEqual(
        nobody.map(() => ["due", 0, null]),
      );
      expect((await t.tasks.claim(await t.worker())).tasks).toHaveLength(4);
    },

    "a draining worker, and one whose lease no sweep has found expired, may hold from the beginning": async (t) => {
      const [draining, late] = [await t.worker(), await t.worker({ leaseMs: 1 })];
      await t.store.workers.heartbeat({ namespace: "default", workerId: draining, leaseMs: 10_000, draining: true });
      const holder = await t.held();
      await t.advance(5);
      const tasks = [draining, late].map((workerId) => ({ holdBy: { workerId, claimId: t.newId() } }));
      expect(await holder.send(holder.draftTasks(tasks))).toMatchObject({ tasksHeld: [1, 2] });
    },

    "a repeated commit says which tasks are still held since then": async (t) => {
      const workerId = await t.worker();
      const holder = await t.held();
      const claimId = t.newId();
      const draft = holder.draftTasks([{}, {}, {}].map(() => ({ holdBy: { workerId, claimId } })));
      expect(await holder.send(draft)).toMatchObject({ tasksHeld: [1, 2, 3] });
      const [, second, third] = await t.store.tasks.list({ namespace: "default", limit: 10 });
      await t.tasks.finish(second as NonNullable<typeof second>, COMPLETED);
      await t.tasks.finish(third as NonNullable<typeof third>, { type: "release" });
      expect(await holder.send(draft)).toMatchObject({ outcome: "written", tasksHeld: [1] });
      // Claimed by the same worker, but not since the commit.
      await t.tasks.claimOne(workerId);
      expect(await holder.send(draft)).toMatchObject({ outcome: "written", tasksHeld: [1] });
    },

    "a repeated commit does not hold for a worker what it did not hold at first": async (t) => {
      const workerId = await t.worker();
      await t.store.workers.stop({ namespace: "default", workerId });
      const holder = await t.held();
      const draft = holder.draftTasks([{ holdBy: { workerId, claimId: t.newId() } }]);
      await holder.send(draft);
      const claimed = await t.tasks.claimOne(await t.worker());
      expect(await holder.send(draft)).toMatchObject({ outcome: "written", tasksHeld: [] });
      expect(await t.tasks.read(claimed)).toEqual(claimed);
    },

    "a commit that stops holding the run still says which tasks are held": async (t) => {
      const workerId = await t.worker();
      const holder = await t.held();
      const draft = holder.draftTasks([{ holdBy: { workerId, claimId: t.newId() } }], suspend(null));
      expect(await holder.send(draft)).toMatchObject({ outcome: "written", held: false, tasksHeld: [1] });
      expect(await holder.send(draft)).toMatchObject({ outcome: "written", held: false, tasksHeld: [1] });
    },

    "settled tasks go with the commit, whatever has become of them": async (t) => {
      const { holder, task: dead } = await t.tasks.held({ priority: 9 });
      await t.tasks.finish(dead, failed(true));
      await holder.schedule([{ priority: 5 }, {}, { external: true }, {}]);
      await t.tasks.claimOne(await t.worker(), { limit: 1 });
      expect(await holder.commit(HOLD, { settled: [1, 2, 3, 4, 77], consumed: 1 })).toMatchObject({
        outcome: "written",
      });
      expect(await t.tasks.seqsOf(holder.runId)).toEqual([5]);
    },

    "a commit settles only tasks of its own run": async (t) => {
      const [mine, other] = [await t.tasks.scheduled(), await t.tasks.scheduled()];
      await mine.holder.commit(HOLD, { settled: [1] });
      await mine.holder.commit(HOLD, { dropTasks: true });
      expect(await t.tasks.find(mine.key)).toBeNull();
      expect(await t.tasks.find(other.key)).toMatchObject({ status: "due" });
    },

    "whoever held a settled task can neither finish it nor report on it": async (t) => {
      const { holder, task } = await t.tasks.held();
      await holder.commit(HOLD, { settled: [1] });
      expect(await t.tasks.finish(task, COMPLETED)).toBe("lost");
      expect(await t.tasks.beat(task)).toEqual({ outcome: "lost", canceled: true });
      expect(await t.tasks.finish(task, COMPLETED, byToken(task, t.newId()))).toBe("lost");
      expect(await t.inbox(holder.runId)).toEqual([]);
      expect(await t.store.workers.readHeldTasks({ namespace: "default", workerId: task.heldBy as string })).toEqual(
        [],
      );
    },

    "dropping takes all tasks but dead letters and those that the commit creates": async (t) => {
      const { holder, task } = await t.tasks.held({ priority: 9 });
      await t.tasks.finish(task, failed(true));
      await holder.schedule([{ priority: 5 }, {}, { external: true }]);
      await t.tasks.claimOne(await t.worker(), { limit: 1 });
      await t.tasks.cancel({ runId: holder.runId, seq: 3 });
      await holder.send(holder.draftTasks([{}, {}], HOLD, { dropTasks: true, consumed: 1 }));
      const left = await t.store.tasks.list({ namespace: "default", limit: 10 });
      expect(left.map(({ seq, status }) => [seq, status])).toEqual([
        [1, "dead"],
        [5, "due"],
        [6, "due"],
      ]);
    },

    "an end by commit deletes what the commit says, and nothing else": async (t) => {
      const one = await t.tasks.scheduled();
      await one.holder.commit(end());
      expect(await t.tasks.find(one.key)).toMatchObject({ status: "due" });
      const two = await t.tasks.scheduled();
      await two.holder.commit(end(), { dropTasks: true });
      expect(await t.tasks.find(two.key)).toBeNull();
    },

    "commits of several runs in one call create their tasks, except those of a lost one": async (t) => {
      const workerId = await t.worker();
      const holders = [await t.held({}, workerId), await t.held({}, workerId), await t.held({}, workerId)];
      const commits = holders.map((holder, i) => {
        const draft = holder.draftTasks([{ holdBy: { workerId, claimId: t.newId() } }, {}]);
        return i === 1 ? { ...draft, epoch: 8 } : draft;
      });
      const { outcomes } = await t.store.runs.commit({ commits });
      expect(outcomes.map(({ outcome, tasksHeld }) => [outcome, tasksHeld ?? []])).toEqual([
        ["written", [1]],
        ["lost", []],
        ["written", [1]],
      ]);
      for (const [i, { runId }] of holders.entries())
        expect(await t.tasks.seqsOf(runId)).toEqual(i === 1 ? [] : [1, 2]);
    },

    "a commit may create thousands of tasks": async (t) => {
      const holder = await t.held();
      const keys = await holder.schedule(Array.from({ length: 2_500 }, () => ({})));
      const { tasks, moreDue } = await t.tasks.claim(await t.worker(), { limit: 2_400 });
      expect([tasks.length, moreDue]).toEqual([2_400, true]);
      await holder.commit(HOLD, { settled: keys.slice(0, 2_499).map(({ seq }) => seq) });
      expect(await t.tasks.seqsOf(holder.runId)).toEqual([2_500]);
    },
  },
};
