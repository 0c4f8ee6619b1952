import type { ClaimRunsParams, Store } from "holdfast/adapter";
import { expect } from "vitest";
import { connections, pick, race, twoConnections } from "../connections.ts";
import { aStart, type Fixture, REPLACED, type StartOptions, SWEEP } from "../fixture.ts";
import { untilAnswered } from "../patience.ts";
import { end, errorRecord, HOLD, LEASE_MS, someEvents, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

const ROUNDS = 12;

/** Many calls in flight at once, from several connections: however they interleave, nothing is lost or duplicated. */
export const concurrency: Suite = {
  noun: "concurrency",
  cases: {
    "two claimers never get the same run, and together they get all": async (t) => {
      const stores = await connections(t);
      await t.startMany(Array.from({ length: 90 }, (_, i) => t.newRun({ priority: i % 3 })));
      const workers = [];
      for (let i = 0; i < 9; i++) workers.push(await t.worker());
      const claimed: string[] = [];
      // A claim skips rows that another claim has locked, so it may take several rounds.
      for (let round = 0; claimed.length < 90 && round < 200; round++) {
        const results = await Promise.all(
          workers.map((workerId, i) => claimAt(pick(stores, i), t.claimParams(workerId, { limit: 7 }))),
        );
        for (const { runs } of results) for (const run of runs) claimed.push(run.runId);
      }
      expect(claimed).toHaveLength(90);
      expect(new Set(claimed).size).toBe(90);
      const rows = await t.store.runs.list({ namespace: "default", limit: 100 });
      expect(rows.every((row) => row.epoch === 1 && row.heldBy !== null)).toBe(true);
    },

    "copies of one claim that ask again at once take nothing more": async (t) => {
      const stores = await connections(t);
      await t.startMany(Array.from({ length: 10 }, () => t.newRun()));
      const params = t.claimParams(await t.worker(), { limit: 3 });
      const first = await claimAt(pick(stores, 0), params);
      const copies = await Promise.all([1, 2, 3].map((i) => claimAt(pick(stores, i), { ...params, again: true })));
      for (const copy of copies) {
        expect(copy.runs.map(({ runId }) => runId).sort()).toEqual(first.runs.map(({ runId }) => runId).sort());
      }
      expect(await t.store.workers.readHeld({ namespace: "default", workerId: params.workerId })).toHaveLength(3);
    },

    "concurrent starts of one id create one run": async (t) => {
      const stores = await connections(t);
      for (const ifRunning of ["return", "fail"] as const) {
        const outcomes = await startAtOnce(t, stores, ifRunning, { ifRunning });
        const created = outcomes.filter(({ outcome }) => outcome === "created");
        expect(created).toHaveLength(1);
        expect(new Set(outcomes.map(({ run }) => run?.runId)).size).toBe(1);
        expect(await t.store.runs.count({ namespace: "default", id: ifRunning, atMost: null })).toBe(1);
      }
    },

    "concurrent replacements of one id leave one open run, and a row of closed ones": async (t) => {
      const stores = await connections(t);
      const outcomes = await startAtOnce(t, stores, "a", { ifRunning: "replace" });
      expect(outcomes.every(({ outcome }) => outcome === "created")).toBe(true);
      const rows = await t.store.runs.list({ namespace: "default", id: "a", limit: 100 });
      expect(rows.map(({ status }) => status)).toEqual(["pending", ...rows.slice(1).map(() => "terminated")]);
      expect(rows).toHaveLength(outcomes.length);
      expect(new Set(rows.map(({ createdAt }) => createdAt)).size).toBe(rows.length);
    },

    "copies of one start that arrive at once create one run": async (t) => {
      const stores = await connections(t);
      const start = aStart(t.newRun());
      const holdBy = { workerId: await t.worker(), claimId: t.newId() };
      const results = await Promise.all(
        stores.flatMap((store) =>
          [1, 2].map(() =>
            untilAnswered(() =>
              store.runs.start({ starts: [{ ...start, hold: true }], holdBy, replaceError: REPLACED }),
            ),
          ),
        ),
      );
      expect(results.every(({ outcomes }) => outcomes[0]?.outcome === "created")).toBe(true);
      expect(await t.run(start.run.runId)).toMatchObject({ epoch: 1, heldBy: holdBy.workerId });
      expect(await t.store.runs.count({ namespace: "default", atMost: null })).toBe(1);
    },

    "messages that arrive at once are numbered without gaps": async (t) => {
      const stores = await connections(t);
      const { run } = await t.start();
      const messages = Array.from({ length: 30 }, () => t.newMessage(t.ref(run.runId)));
      await Promise.all(
        messages.map((message, i) =>
          untilAnswered(() => pick(stores, i).inbox.deliver({ messages: [message], inboxMax: 100 })),
        ),
      );
      const inbox = await t.inbox(run.runId);
      expect(inbox.map(({ number }) => number)).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
      expect(inbox.map(({ messageId }) => messageId).sort()).toEqual(messages.map(({ messageId }) => messageId).sort());
      expect(await t.run(run.runId)).toMatchObject({ delivered: 30 });
    },

    "copies of one message that arrive at once are one message": async (t) => {
      const stores = await connections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const { run } = await t.start();
        const messages = [t.newMessage(t.ref(run.runId))];
        const results = await Promise.all(
          stores.map((store) => untilAnswered(() => store.inbox.deliver({ messages, inboxMax: 100 }))),
        );
        const outcomes = results.map((result) => result.outcomes[0]?.outcome).sort();
        expect(outcomes).toEqual(["delivered", ...stores.slice(1).map(() => "duplicate")]);
        expect(await t.inbox(run.runId)).toHaveLength(1);
      }
    },

    "a message that races with a suspend is not lost, in either order": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const holder = await t.held();
        const commits = [holder.draft(suspend(null), { events: 1 })];
        const messages = [t.newMessage(t.ref(holder.runId))];
        const [committed] = await race(
          round % 2 === 0,
          () => untilAnswered(() => one.runs.commit({ commits })),
          () => untilAnswered(() => other.inbox.deliver({ messages, inboxMax: 10 })),
        );
        const run = await t.run(holder.runId);
        expect(run).toMatchObject({ delivered: 1, consumed: 0, commit: 1, eventCount: 1 });
        const outcome = committed.outcomes[0];
        // Either the holder learns that it is behind, or the run is due for the next claim.
        if (outcome?.held) expect(run).toMatchObject({ heldBy: holder.workerId, availableAt: null, status: "running" });
        else {
          expect(run).toMatchObject({ heldBy: null, status: "waiting" });
          expect(run.availableAt).not.toBeNull();
        }
      }
    },

    "a message that races with an end is either consumed or refused": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const holder = await t.held();
        const commits = [holder.draft(end({ unlessBehind: true }))];
        const messages = [t.newMessage(t.ref(holder.runId))];
        const [committed, delivered] = await race(
          round % 2 === 0,
          () => untilAnswered(() => one.runs.commit({ commits })),
          () => untilAnswered(() => other.inbox.deliver({ messages, inboxMax: 10 })),
        );
        const held = committed.outcomes[0]?.held;
        expect(delivered.outcomes[0]?.outcome).toBe(held ? "delivered" : "closed");
        expect((await t.run(holder.runId)).status).toBe(held ? "running" : "completed");
      }
    },

    "a message that races with a continuation reaches the successor, once": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const holder = await t.held({ id: `a${round}` });
        const next = t.newRun({ id: `a${round}` });
        const commits = [holder.draft({ type: "continue", next, carried: [] })];
        const messages = [t.newMessage(t.ref(holder.runId))];
        await race(
          round % 2 === 0,
          () => untilAnswered(() => one.runs.commit({ commits })),
          () => untilAnswered(() => other.inbox.deliver({ messages, inboxMax: 10 })),
        );
        const inbox = await t.inbox(next.runId);
        expect(inbox.map(({ messageId }) => messageId)).toEqual([messages[0]?.messageId]);
        expect(await t.run(next.runId)).toMatchObject({ delivered: 1, status: "pending" });
      }
    },

    "copies of one commit that arrive at once are written once": async (t) => {
      const stores = await connections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const holder = await t.held();
        const commits = [holder.draft(HOLD, { events: 3 })];
        const results = await Promise.all(stores.map((store) => untilAnswered(() => store.runs.commit({ commits }))));
        expect(results.every(({ outcomes }) => outcomes[0]?.outcome === "written")).toBe(true);
        expect(await t.history(holder.runId)).toEqual(someEvents(0, 3));
        expect(await t.run(holder.runId)).toMatchObject({ commit: 1, eventCount: 3 });
      }
    },

    "a commit that races with a terminate is written whole before it, or not at all": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const holder = await t.held();
        const commits = [holder.draft(HOLD, { events: 2 })];
        const error = errorRecord("stop");
        const [committed] = await race(
          round % 2 === 0,
          () => untilAnswered(() => one.runs.commit({ commits })),
          () => untilAnswered(() => other.runs.terminate({ runs: [t.ref(holder.runId)], error })),
        );
        const events = committed.outcomes[0]?.outcome === "written" ? 2 : 0;
        expect(await t.run(holder.runId)).toMatchObject({ status: "terminated", eventCount: events, epoch: 2 });
        expect(await t.history(holder.runId)).toHaveLength(events);
      }
    },

    "sweeps on many workers at once count each death once": async (t) => {
      const stores = await connections(t);
      const workerIds = [await t.worker(), await t.worker()];
      const runIds: string[] = [];
      for (let i = 0; i < 12; i++) runIds.push((await t.held({}, workerIds[i % 2])).runId);
      await t.advance(LEASE_MS);
      let [dead, returned] = [0, 0];
      for (let round = 0; round < 50 && returned < 12; round++) {
        const results = await Promise.all(stores.map((store) => untilAnswered(() => store.workers.sweep(SWEEP))));
        for (const result of results) [dead, returned] = [dead + result.dead, returned + result.returned];
      }
      expect([dead, returned]).toEqual([2, 12]);
      for (const runId of runIds) expect(await t.run(runId)).toMatchObject({ deaths: 1, epoch: 2, heldBy: null });
    },

    "a worker that stops while it claims, or starts and holds, ends up with nothing": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const workerId = await t.worker();
        const { run } = await t.start();
        const starts = [aStart(t.newRun(), { hold: true })];
        const holdBy = { workerId, claimId: t.newId() };
        const params = t.claimParams(workerId);
        await race(
          round % 2 === 0,
          () =>
            Promise.all([
              claimAt(one, params),
              untilAnswered(() => one.runs.start({ starts, holdBy, replaceError: REPLACED })),
            ]),
          () => untilAnswered(() => other.workers.stop({ namespace: "default", workerId })),
        );
        // Runs that the stop could not release because their rows were locked are reclaimed by the next sweep.
        await t.sweep();
        expect(await t.store.workers.readHeld({ namespace: "default", workerId })).toEqual([]);
        const runIds = [run.runId, starts[0]?.run.runId as string];
        for (const runId of runIds) expect(await t.run(runId)).toMatchObject({ heldBy: null, deaths: 0 });
        await t.store.runs.terminate({ runs: runIds.map((runId) => t.ref(runId)), error: REPLACED });
      }
    },

    "a heartbeat that races with a sweep is told what the sweep decided": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const workerId = await t.worker({ namespace: `n${round}`, leaseMs: 10 });
        await t.advance(10);
        const [beat] = await race(
          round % 2 === 0,
          () =>
            untilAnswered(() =>
              one.workers.heartbeat({ namespace: "default", workerId, leaseMs: 10, draining: false }),
            ),
          () => untilAnswered(() => other.workers.sweep(SWEEP)),
        );
        const [worker] = await t.store.workers.list({ namespace: `n${round}` });
        expect(worker).toMatchObject(beat.live ? { status: "online" } : { status: "offline", died: true });
        await t.store.workers.stop({ namespace: "default", workerId });
      }
    },

    "a reopening that races with a start leaves one open run": async (t) => {
      const [one, other] = await twoConnections(t);
      const event = { type: "run_retried", op: null } as const;
      for (let round = 0; round < ROUNDS; round++) {
        const id = `a${round}`;
        const holder = await t.held({ id });
        await holder.commit(end({ status: "failed", output: null }));
        const starts = [aStart(t.newRun({ id }), { ifClosed: "start", ifRunning: "return" })];
        const [reopened, started] = await race(
          round % 2 === 0,
          () => untilAnswered(() => one.runs.reopenIfFailed({ run: t.ref(holder.runId), eventCount: 0, event })),
          () => untilAnswered(() => other.runs.start({ starts, holdBy: null, replaceError: REPLACED })),
        );
        const rows = await t.store.runs.list({ namespace: "default", id, limit: 10 });
        expect(rows.filter(({ endedAt }) => endedAt === null)).toHaveLength(1);
        const expected = reopened.outcome === "reopened" ? "returned" : "created";
        expect(started.outcomes[0]?.outcome).toBe(expected);
      }
    },

    "holders on many connections write side by side": async (t) => {
      const stores = await connections(t);
      const holders = [];
      for (let i = 0; i < 20; i++) holders.push(await t.held());
      for (let step = 0; step < 3; step++) {
        const results = await Promise.all(
          holders.map((holder, i) => {
            const commits = [holder.draft(HOLD, { events: 2 })];
            return untilAnswered(() => pick(stores, i + step).runs.commit({ commits }));
          }),
        );
        expect(results.every(({ outcomes }) => outcomes[0]?.outcome === "written")).toBe(true);
        for (const holder of holders) holder.follow(holder.draft(HOLD, { events: 2 }));
      }
      for (const { runId } of holders) expect(await t.history(runId)).toEqual(someEvents(0, 6));
    },
  },
};

function claimAt(store: Store, params: ClaimRunsParams) {
  return untilAnswered((again) => store.runs.claim({ ...params, again: params.again || again }));
}

async function startAtOnce(t: Fixture, stores: readonly Store[], id: string, policies: StartOptions) {
  const results = await Promise.all(
    Array.from({ length: 15 }, (_, i) => {
      const starts = [aStart(t.newRun({ id }), policies)];
      return untilAnswered(() => pick(stores, i).runs.start({ starts, holdBy: null, replaceError: REPLACED }));
    }),
  );
  return results.flatMap(({ outcomes }) => outcomes);
}
