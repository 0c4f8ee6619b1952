import { type ClaimTasksParams, type FinishTasksResult, type Store, TASK_GRACE_MS, type Task } from "holdfast/adapter";
import { expect } from "vitest";
import { connections, pick, race, twoConnections } from "../../connections.ts";
import { type Fixture, SWEEP } from "../../fixture.ts";
import { untilAnswered } from "../../patience.ts";
import { bytes, end, errorRecord, HOLD, LEASE_MS, suspend } from "../../sample-data.ts";
import { BY_EXPIRY, byToken, COMPLETED, failed, retried } from "../../sample-tasks.ts";
import type { Suite } from "../../suite.ts";

const ROUNDS = 12;

/** Calls about tasks in flight at once: however they interleave, each task is done by one and answered once. */
export const taskRaces: Suite = {
  noun: "task races",
  cases: {
    "two claimers never get the same task, and together they get all": async (t) => {
      const stores = await connections(t);
      const holder = await t.held();
      await holder.schedule(Array.from({ length: 60 }, (_, i) => ({ priority: i % 3, name: i % 2 ? "sms" : "mail" })));
      const workers: string[] = [];
      for (let i = 0; i < 6; i++) workers.push(await t.worker());
      const claimed: number[] = [];
      // A claim skips rows that another claim has locked, so it may take several rounds.
      for (let round = 0; claimed.length < 60 && round < 200; round++) {
        const results = await Promise.all(
          workers.map((workerId, i) =>
            claimAt(pick(stores, i), t.tasks.claimParams(workerId, { limit: 4, names: ["mail", "sms"] })),
          ),
        );
        for (const { tasks } of results) claimed.push(...tasks.map(({ seq }) => seq));
      }
      expect([...claimed].sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
      const rows = await t.store.tasks.list({ namespace: "default", limit: 100 });
      expect(rows.every(({ epoch, status }) => epoch === 1 && status === "held")).toBe(true);
    },

    "copies of one claim that ask again at once take nothing more": async (t) => {
      const stores = await connections(t);
      const holder = await t.held();
      await holder.schedule(Array.from({ length: 10 }, () => ({})));
      const params = t.tasks.claimParams(await t.worker(), { limit: 3 });
      const first = await claimAt(pick(stores, 0), params);
      const copies = await Promise.all([1, 2, 3].map((i) => claimAt(pick(stores, i), { ...params, again: true })));
      for (const copy of copies) expect(seqsOf(copy.tasks)).toEqual(seqsOf(first.tasks));
      const held = await t.store.workers.readHeldTasks({ namespace: "default", workerId: params.workerId });
      expect(held).toHaveLength(3);
    },

    "of a holder and someone with the token, one finishes the task": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const { task, holder, key } = await t.tasks.held();
        const [byHolder, byOther] = await race(
          round % 2 === 0,
          () => finishAt(one, t, task),
          () => finishAt(other, t, task, byToken(task, t.newId())),
        );
        expect([byHolder, byOther].sort()).toEqual(["done", "lost"]);
        expect(await t.tasks.find(key)).toBeNull();
        expect(await t.inbox(holder.runId)).toHaveLength(1);
        expect(await t.run(holder.runId)).toMatchObject({ delivered: 1 });
      }
    },

    "of a holder that reports late and the limit that has passed, one ends the attempt": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const { task, holder, key } = await t.tasks.held({ timeoutMs: 10 }, await t.worker({ leaseMs: 1_000_000 }));
        await t.advance(10 + TASK_GRACE_MS);
        const expiry = { finishes: [t.tasks.finishParams(task, retried(0), BY_EXPIRY)] };
        const [byHolder, byExpiry] = await race(
          round % 2 === 0,
          () => finishAt(one, t, task),
          () => untilAnswered(() => other.tasks.finish(expiry)).then(outcomeOf),
        );
        expect([byHolder, byExpiry].sort()).toEqual(["done", "lost"]);
        expect(await t.inbox(holder.runId)).toHaveLength(byHolder === "done" ? 1 : 0);
        if (byHolder === "done") expect(await t.tasks.find(key)).toBeNull();
        else expect(await t.tasks.read(key)).toMatchObject({ status: "due", attempt: 2, epoch: 2 });
        await holder.commit(HOLD, { dropTasks: true });
      }
    },

    "copies of one completion that arrive at once are all done, and are one message": async (t) => {
      const stores = await connections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const { key, holder } = await t.tasks.scheduled({ external: true });
        const task = await t.tasks.read(key);
        const by = byToken(task, t.newId());
        const outcomes = await Promise.all([0, 1, 2, 3].map((i) => finishAt(pick(stores, i), t, task, by)));
        expect(outcomes).toEqual(["done", "done", "done", "done"]);
        expect(await t.inbox(holder.runId)).toHaveLength(1);
      }
    },

    "completions by different people at once: one is done, the others are refused": async (t) => {
      const stores = await connections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const { key, holder } = await t.tasks.scheduled({ external: true });
        const task = await t.tasks.read(key);
        const outcomes = await Promise.all(
          [0, 1, 2].map((i) => finishAt(pick(stores, i), t, task, byToken(task, t.newId()))),
        );
        expect([...outcomes].sort()).toEqual(["done", "lost", "lost"]);
        expect(await t.inbox(holder.runId)).toHaveLength(1);
      }
    },

    "results that arrive at once are numbered without gaps": async (t) => {
      const stores = await connections(t);
      const holder = await t.held();
      await holder.schedule(Array.from({ length: 30 }, () => ({})));
      const { tasks } = await t.tasks.claim(await t.worker());
      await Promise.all(tasks.map((task, i) => finishAt(pick(stores, i), t, task)));
      const inbox = await t.inbox(holder.runId);
      expect(inbox.map(({ number }) => number)).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
      expect(new Set(inbox.map(({ name }) => name)).size).toBe(30);
      expect(await t.run(holder.runId)).toMatchObject({ delivered: 30 });
      expect(await t.tasks.seqsOf(holder.runId)).toEqual([]);
    },

    "a result that races with a suspend is not lost, in either order": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const { holder, task } = await t.tasks.held();
        const commits = [holder.draft(suspend(null), { events: 1 })];
        const [committed] = await race(
          round % 2 === 0,
          () => untilAnswered(() => one.runs.commit({ commits })),
          () => finishAt(other, t, task),
        );
        const run = await t.run(holder.runId);
        expect(run).toMatchObject({ delivered: 1, consumed: 0 });
        if (committed.outcomes[0]?.held) expect(run).toMatchObject({ heldBy: holder.workerId, availableAt: null });
        else {
          expect(run).toMatchObject({ heldBy: null, status: "waiting" });
          expect(run.availableAt).not.toBeNull();
        }
      }
    },

    "a result that races with the commit that settles its task comes before it, or not at all": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const { holder, task, key } = await t.tasks.held();
        const commits = [holder.draft(HOLD, { events: 1, settled: [1] })];
        const [committed, finished] = await race(
          round % 2 === 0,
          () => untilAnswered(() => one.runs.commit({ commits })),
          () => finishAt(other, t, task),
        );
        expect(committed.outcomes[0]).toMatchObject({ outcome: "written", held: true });
        expect(["done", "lost"]).toContain(finished);
        expect(await t.inbox(holder.runId)).toHaveLength(finished === "done" ? 1 : 0);
        expect(await t.tasks.find(key)).toBeNull();
      }
    },

    "a result that races with the end of its run leaves no task": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const { holder, task, key } = await t.tasks.held();
        const commits = [holder.draft(end({ unlessBehind: true }), { dropTasks: true })];
        const [committed, finished] = await race(
          round % 2 === 0,
          () => untilAnswered(() => one.runs.commit({ commits })),
          () => finishAt(other, t, task),
        );
        const behind = committed.outcomes[0]?.outcome === "behind";
        expect(finished === "done").toBe(behind);
        expect(await t.inbox(holder.runId)).toHaveLength(behind ? 1 : 0);
        expect(await t.tasks.find(key)).toBeNull();
      }
    },

    "a result that races with a terminate leaves no task": async (t) => {
      const [one, other] = await twoConnections(t);
      const error = errorRecord("stop");
      for (let round = 0; round < ROUNDS; round++) {
        const { holder, task, key } = await t.tasks.held();
        const [, finished] = await race(
          round % 2 === 0,
          () => untilAnswered(() => one.runs.terminate({ runs: [t.ref(holder.runId)], error })),
          () => finishAt(other, t, task, undefined, failed(false)),
        );
        expect(["done", "lost", "closed"]).toContain(finished);
        expect(await t.inbox(holder.runId)).toHaveLength(finished === "done" ? 1 : 0);
        expect(await t.run(holder.runId)).toMatchObject({ status: "terminated" });
        expect(await t.tasks.find(key)).toBeNull();
      }
    },

    "a result that races with a continuation does not reach the successor": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const { holder, task, key } = await t.tasks.held();
        const { id } = await t.run(holder.runId);
        const next = t.newRun({ id });
        const commits = [holder.draft({ type: "continue", next, carried: [] }, { dropTasks: true })];
        await race(
          round % 2 === 0,
          () => untilAnswered(() => one.runs.commit({ commits })),
          () => finishAt(other, t, task),
        );
        expect(await t.run(next.runId)).toMatchObject({ delivered: 0, status: "pending" });
        expect(await t.inbox(next.runId)).toEqual([]);
        expect(await t.tasks.find(key)).toBeNull();
        await t.store.runs.terminate({ runs: [t.ref(next.runId)], error: errorRecord("enough") });
      }
    },

    "a cancel that races with a claim knows whether the task has begun": async (t) => {
      const [one, other] = await twoConnections(t);
      const workerId = await t.worker();
      for (let round = 0; round < ROUNDS; round++) {
        const { key, holder } = await t.tasks.scheduled();
        const [canceled, claimed] = await race(
          round % 2 === 0,
          () => untilAnswered(() => one.tasks.cancel({ namespace: "default", tasks: [key] })),
          () => claimAt(other, t.tasks.claimParams(workerId)),
        );
        const outcome = canceled.outcomes[0]?.outcome;
        const task = await t.tasks.read(key);
        expect(task.canceled).toBe(true);
        // If a repeated claim was needed, it may have found the row locked by the cancel.
        if (outcome === "never_began") expect([claimed.tasks.length, task.epoch]).toEqual([0, 0]);
        else expect([outcome, task.heldBy, task.epoch]).toEqual(["waiting", workerId, 1]);
        await holder.commit(HOLD, { dropTasks: true });
      }
    },

    "copies of one commit that arrive at once create its tasks once": async (t) => {
      const stores = await connections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const holder = await t.held();
        const holdBy = { workerId: await t.worker(), claimId: t.newId() };
        const commits = [holder.draftTasks([{ holdBy }, {}])];
        const results = await Promise.all(stores.map((store) => untilAnswered(() => store.runs.commit({ commits }))));
        for (const { outcomes } of results) expect(outcomes).toMatchObject([{ outcome: "written", tasksHeld: [1] }]);
        expect(await t.tasks.seqsOf(holder.runId)).toEqual([1, 2]);
        expect(await t.tasks.read({ runId: holder.runId, seq: 1 })).toMatchObject({ epoch: 1, status: "held" });
      }
    },

    "a report that races with a finish does not bring the task back": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const { task, key } = await t.tasks.held({ heartbeatMs: 500 });
        const { namespace, runId, seq, epoch } = task;
        const by = { type: "holder", workerId: task.heldBy as string } as const;
        const beats = [{ namespace, runId, seq, epoch, by, details: bytes("1") }];
        await race(
          round % 2 === 0,
          () => untilAnswered(() => one.tasks.beat({ beats })),
          () => finishAt(other, t, task),
        );
        expect(await t.tasks.find(key)).toBeNull();
      }
    },

    "of a sweep and the worker that it takes for dead, one ends the attempt": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const { task, key, holder } = await t.tasks.held();
        await t.advance(LEASE_MS);
        const [, finished] = await race(
          round % 2 === 0,
          () => untilAnswered(() => one.workers.sweep(SWEEP)),
          () => finishAt(other, t, task),
        );
        await t.sweep();
        expect(await t.inbox(holder.runId)).toHaveLength(finished === "done" ? 1 : 0);
        if (finished === "done") expect(await t.tasks.find(key)).toBeNull();
        else expect(await t.tasks.read(key)).toMatchObject({ status: "due", epoch: 2, deaths: 1 });
        await holder.commit(HOLD, { dropTasks: true });
      }
    },

    "sweeps on many workers at once count each death of a task once": async (t) => {
      const stores = await connections(t);
      const holder = await t.held({}, await t.worker({ leaseMs: 1_000_000 }));
      await holder.schedule(Array.from({ length: 12 }, () => ({})));
      for (let i = 0; i < 2; i++) await t.tasks.claim(await t.worker(), { limit: 6 });
      await t.advance(LEASE_MS);
      let [dead, returned] = [0, 0];
      for (let round = 0; round < 50 && returned < 12; round++) {
        const results = await Promise.all(stores.map((store) => untilAnswered(() => store.workers.sweep(SWEEP))));
        for (const result of results) [dead, returned] = [dead + result.dead, returned + result.tasksReturned];
      }
      expect([dead, returned]).toEqual([2, 12]);
      const rows = await t.store.tasks.list({ namespace: "default", limit: 100 });
      expect(rows.map(({ deaths, epoch }) => [deaths, epoch])).toEqual(rows.map(() => [1, 2]));
    },

    "a worker that stops while it claims tasks, or is given them, ends up with none": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const workerId = await t.worker();
        const { holder } = await t.tasks.scheduled();
        const commits = [holder.draftTasks([{ holdBy: { workerId, claimId: t.newId() } }])];
        await race(
          round % 2 === 0,
          () =>
            Promise.all([
              claimAt(one, t.tasks.claimParams(workerId)),
              untilAnswered(() => one.runs.commit({ commits })),
            ]),
          () => untilAnswered(() => other.workers.stop({ namespace: "default", workerId })),
        );
        // Tasks that the stop could not return because their rows were locked are reclaimed by the next sweep.
        await t.sweep();
        expect(await t.store.workers.readHeldTasks({ namespace: "default", workerId })).toEqual([]);
        const rows = await t.store.tasks.list({ namespace: "default", runId: holder.runId, limit: 10 });
        expect(rows.map(({ heldBy, deaths }) => [heldBy, deaths])).toEqual([
          [null, 0],
          [null, 0],
        ]);
        await t.store.runs.terminate({ runs: [t.ref(holder.runId)], error: errorRecord("enough") });
      }
    },
  },
};

function claimAt(store: Store, params: ClaimTasksParams) {
  return untilAnswered((again) => store.tasks.claim({ ...params, again: params.again || again }));
}

async function finishAt(
  store: Store,
  t: Fixture,
  task: Task,
  by?: Parameters<Fixture["tasks"]["finishParams"]>[2],
  result = COMPLETED,
): Promise<string | undefined> {
  const finishes = [t.tasks.finishParams(task, result, by)];
  return outcomeOf(await untilAnswered(() => store.tasks.finish({ finishes })));
}

function outcomeOf({ outcomes }: FinishTasksResult): string | undefined {
  return outcomes[0]?.outcome;
}

function seqsOf(tasks: readonly Task[]): readonly number[] {
  return tasks.map(({ seq }) => seq).sort((a, b) => a - b);
}
