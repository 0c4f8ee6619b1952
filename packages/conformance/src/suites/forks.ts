import type { EventDraft, ForkOutcome, ForkParams, HistoryEvent, NewRun, RunRow } from "holdfast/adapter";
import { expect } from "vitest";
import { due, expectHints } from "../expected-hints.ts";
import type { Fixture } from "../fixture.ts";
import { Holder } from "../holder.ts";
import { bytes, end, HOLD, park, START_MS, someEvents, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

const FORKED: EventDraft = {
  type: "run_forked",
  op: null,
  payload: bytes('{"ship":{"result":1}}'),
  meta: { seed: "another", by: "ana" },
};

type Fields = Partial<Omit<ForkParams, "origin" | "run">> & { readonly run?: Partial<NewRun> };

function paramsOf(t: Fixture, runId: string, { run, ...fields }: Fields): ForkParams {
  const origin = { namespace: "default", runId };
  return { origin, copied: 2, judged: 2, numberedFrom: 0, event: FORKED, run: t.newRun(run), ...fields };
}

function fork(t: Fixture, runId: string, fields: Fields = {}): Promise<ForkOutcome> {
  return t.store.runs.fork(paramsOf(t, runId, fields));
}

/** A run with so many events. */
async function withEvents(t: Fixture, count: number): Promise<Holder> {
  const holder = await t.held({ id: "origin", attributes: { region: "eu" } });
  await t.advance(5);
  await holder.commit(HOLD, { events: someEvents(0, count, t.now) });
  return holder;
}

function compensation(seq: number): HistoryEvent {
  return { seq, type: "step_completed", op: "compensate:charge", at: START_MS + 5 };
}

/** Runs that begin with the events of other runs. */
export const forks: Suite = {
  noun: "forks",
  cases: {
    "a fork has the first events of its origin, as they are, and then its own": async (t) => {
      const { runId } = await withEvents(t, 3);
      const before = await t.history(runId);
      await t.advance(100);
      const { outcome, run } = await fork(t, runId);
      expect(outcome).toBe("forked");
      expect(await t.history((run as RunRow).runId)).toEqual([...before.slice(0, 2), { seq: 3, at: t.now, ...FORKED }]);
      expect(await t.history(runId)).toEqual(before);
    },

    "it is due at once, and new but for its history and its start time": async (t) => {
      const { runId } = await withEvents(t, 3);
      const origin = await t.run(runId);
      await t.advance(100);
      const given = { id: "fork", seed: "s", input: bytes("7"), priority: 3, timeoutMs: 700, attributes: { n: 1 } };
      const { run } = await fork(t, runId, { numberedFrom: 4, run: { ...given, queue: "slow", version: "2" } });
      const row = run as RunRow;
      expect(row).toEqual({
        namespace: "default",
        runId: row.runId,
        id: "fork",
        firstRunId: row.runId,
        workflow: "order",
        version: "2",
        queue: "slow",
        priority: 3,
        seed: "s",
        status: "running",
        epoch: 0,
        commit: 0,
        heldBy: null,
        claimId: null,
        availableAt: t.now,
        eventCount: 3,
        delivered: 4,
        consumed: 4,
        deaths: 0,
        aloneDeaths: 0,
        alone: false,
        suspect: false,
        createdAt: t.now,
        startedAt: origin.startedAt,
        endedAt: null,
        deadlineAt: t.now + 700,
        timeoutMs: 700,
        attributes: { n: 1 },
        waitingFor: [],
        compensation: null,
        continuedFrom: null,
        continuedAs: null,
        forkedFrom: { runId, id: "origin" },
      });
      expect(await t.run(row.runId)).toEqual({ ...row, input: bytes("7"), output: null, error: null });
      expect(await t.run(runId)).toEqual(origin);
    },

    "it is claimed with its origin, and goes on where its history ends": async (t) => {
      const { runId } = await withEvents(t, 3);
      const { run } = await fork(t, runId);
      const claimed = await t.claim(await t.worker());
      expect(claimed.runs).toMatchObject([{ runId: run?.runId, forkedFrom: { runId, id: "origin" }, eventCount: 3 }]);
      const holder = new Holder(t.store, claimed.runs[0]?.heldBy as string, claimed.runs[0] as RunRow);
      expect(await holder.commit(end(), { events: 1 })).toMatchObject({ outcome: "written" });
      expect((await t.history(holder.runId)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    },

    "it may copy nothing, also of a run that nobody has claimed": async (t) => {
      const { run: origin } = await t.start();
      const { run } = await fork(t, origin.runId, { copied: 0, judged: 0 });
      expect(run).toMatchObject({ status: "pending", startedAt: null, eventCount: 1 });
      expect(await t.history(run?.runId as string)).toMatchObject([{ seq: 1, type: "run_forked" }]);
    },

    "its inbox is empty, and its messages are numbered behind those that its events may name": async (t) => {
      const { runId } = await withEvents(t, 2);
      await t.deliver(t.ref(runId), { messageId: "m1" });
      const { run } = await fork(t, runId, { numberedFrom: 7 });
      const forked = run?.runId as string;
      expect(await t.inbox(forked)).toEqual([]);
      expect(await t.deliver(t.ref(forked), { messageId: "m1" })).toMatchObject({ outcome: "delivered" });
      expect(await t.inbox(forked)).toMatchObject([{ number: 8, messageId: "m1" }]);
      expect((await t.claim(await t.worker())).messages).toMatchObject([{ runId: forked, number: 8 }]);
    },

    "the origin may be suspended, parked or closed": async (t) => {
      for (const transition of [suspend(null), park("odd"), end()]) {
        const holder = await t.held();
        await holder.commit(transition, { events: 2 });
        const before = await t.run(holder.runId);
        expect(await fork(t, holder.runId)).toMatchObject({ outcome: "forked", run: { status: "running" } });
        expect(await t.run(holder.runId)).toEqual(before);
      }
    },

    "a repeated call finds the fork, whatever has become of it": async (t) => {
      const { runId } = await withEvents(t, 2);
      const params = paramsOf(t, runId, { run: { id: "fork" } });
      const first = await t.store.runs.fork(params);
      expect(await t.store.runs.fork(params)).toEqual(first);
      await t.store.runs.terminate({
        runs: [t.ref(params.run.runId)],
        error: { name: "E", message: "", kind: "Unknown" },
      });
      const again = await t.store.runs.fork(params);
      expect(again).toMatchObject({ outcome: "forked", run: { status: "terminated" } });
      expect(await t.history(params.run.runId)).toHaveLength(3);
      expect(await t.store.runs.count({ namespace: "default", atMost: null })).toBe(2);
    },

    "an id that a run has is refused, open or closed": async (t) => {
      const { runId } = await withEvents(t, 2);
      const other = await t.held({ id: "taken" });
      const exists = { outcome: "exists", run: { runId: other.runId, id: "taken" } };
      expect(await fork(t, runId, { run: { id: "taken" } })).toMatchObject(exists);
      await other.commit(end());
      expect(await fork(t, runId, { run: { id: "taken" } })).toMatchObject(exists);
      expect(await t.store.runs.count({ namespace: "default", atMost: null })).toBe(2);
    },

    "there is no fork of a run that is not there, is of another namespace, or has fewer events": async (t) => {
      const { runId } = await withEvents(t, 2);
      const nothing = { outcome: "not_found", run: null };
      expect(await fork(t, t.newId())).toEqual(nothing);
      expect(await fork(t, runId, { copied: 3 })).toEqual(nothing);
      const foreign = paramsOf(t, runId, { run: { namespace: "other" } });
      expect(await t.store.runs.fork({ ...foreign, origin: { namespace: "other", runId } })).toEqual(nothing);
      expect(await t.store.runs.count({ namespace: "default", atMost: null })).toBe(1);
    },

    "a run id that a run of another namespace has is refused": async (t) => {
      const { runId } = await withEvents(t, 2);
      const { run } = await t.start({ namespace: "other" });
      await expect(fork(t, runId, { run: { runId: run.runId, id: "fork" } })).rejects.toMatchObject({
        code: "store_refused",
      });
    },

    "it is refused if something may have been undone since the caller looked": async (t) => {
      const holder = await withEvents(t, 2);
      await holder.commit(HOLD, { events: [compensation(3)] });
      const refused = { outcome: "compensated", run: null };
      expect(await fork(t, holder.runId, { judged: 2 })).toEqual(refused);
      expect(await fork(t, holder.runId, { judged: 3 })).toMatchObject({ outcome: "forked" });
      await holder.commit({ type: "hold", status: "compensating" });
      expect(await fork(t, holder.runId, { judged: 3 })).toEqual(refused);
    },

    "forks are found by their origin, the newest first": async (t) => {
      const { runId } = await withEvents(t, 2);
      const made: string[] = [];
      for (const id of ["a", "b", "c"]) {
        await t.advance(1);
        made.unshift((await fork(t, runId, { run: { id, attributes: { id } } })).run?.runId as string);
      }
      const list = async (more: object): Promise<string[]> =>
        (await t.store.runs.list({ namespace: "default", forkedFrom: runId, limit: 10, ...more })).map(
          (run) => run.runId,
        );
      expect(await list({})).toEqual(made);
      expect(await list({ limit: 2 })).toEqual(made.slice(0, 2));
      const last = await t.run(made[1] as string);
      expect(await list({ before: { createdAt: last.createdAt, runId: last.runId } })).toEqual(made.slice(2));
      expect(await list({ attributes: { id: "b" } })).toEqual([made[1]]);
      expect(await list({ id: "c", workflow: "order", statuses: ["running"] })).toEqual([made[0]]);
      expect(await list({ namespace: "other" })).toEqual([]);
      expect(await list({ parent: runId })).toEqual([]);
      expect(await list({ forkedFrom: t.newId() })).toEqual([]);
      expect(await t.store.runs.count({ namespace: "default", forkedFrom: runId, atMost: null })).toBe(3);
      expect(await t.store.runs.list({ namespace: "default", forkedFrom: runId, limit: 1 })).toMatchObject([
        { forkedFrom: { runId, id: "origin" }, lastEventAt: t.now },
      ]);
    },

    "it outlives its origin": async (t) => {
      const holder = await withEvents(t, 2);
      const { run } = await fork(t, holder.runId);
      await holder.commit(end());
      await t.advance(10);
      const purge = { namespace: "default", endedBefore: t.now, limit: 10 };
      expect(await t.store.runs.purge(purge)).toMatchObject({ purged: 1, more: false });
      expect(await t.run(run?.runId as string)).toMatchObject({ forkedFrom: { runId: holder.runId, id: "origin" } });
      expect(await t.history(run?.runId as string)).toHaveLength(3);
      expect(await t.store.runs.count({ namespace: "default", forkedFrom: holder.runId, atMost: null })).toBe(1);
    },

    "it goes with a purge, and its origin stays": async (t) => {
      const { runId } = await withEvents(t, 2);
      const { run } = await fork(t, runId);
      const error = { name: "E", message: "", kind: "Unknown" } as const;
      await t.store.runs.terminate({ runs: [t.ref(run?.runId as string)], error });
      await t.advance(10);
      await t.store.runs.purge({ namespace: "default", endedBefore: t.now, limit: 10 });
      expect(await t.history(run?.runId as string)).toEqual([]);
      expect(await t.history(runId)).toHaveLength(2);
      expect(await t.store.runs.count({ namespace: "default", forkedFrom: runId, atMost: null })).toBe(0);
    },

    "its continuation is no fork": async (t) => {
      const { runId } = await withEvents(t, 2);
      await fork(t, runId, { run: { id: "fork" } });
      const holder = await t.claimOne(await t.worker());
      await holder.commit({ type: "continue", next: t.newRun({ id: "fork" }), carried: [] });
      const next = await t.run({ namespace: "default", id: "fork" });
      expect(next.continuedFrom).toBe(holder.runId);
      expect(next.forkedFrom).toBeUndefined();
      expect(await t.store.runs.count({ namespace: "default", forkedFrom: runId, atMost: null })).toBe(1);
    },

    "workers are told that it is due": async (t) => {
      const { runId } = await withEvents(t, 2);
      await expectHints(t, [due("slow")], () => fork(t, runId, { run: { queue: "slow" } }));
    },
  },
};
