import type { EndPosition, PurgeRunsParams, PurgeRunsResult, RunStatus } from "holdfast/adapter";
import { expect } from "vitest";
import type { Fixture } from "../fixture.ts";
import type { Holder } from "../holder.ts";
import { end, errorRecord, HOLD, park, someEvents, suspend } from "../sample-data.ts";
import { aPut, aSchedule, put, STATE } from "../sample-schedules.ts";
import type { Suite } from "../suite.ts";

/** Purging runs that ended long ago. */
export const purges: Suite = {
  noun: "purges",
  cases: {
    "purge deletes runs that ended before the time, and only those": async (t) => {
      const old = await ended(t);
      await t.advance(10);
      const younger = await ended(t);
      expect(await purge(t, { endedBefore: t.now - 10 })).toEqual({ purged: 0, more: false });
      expect(await purge(t, { endedBefore: t.now })).toEqual({ purged: 1, more: false });
      expect(await exist(t, [old.runId, younger.runId])).toEqual([false, true]);
      expect(await purge(t, { endedBefore: t.now })).toEqual({ purged: 0, more: false });
    },

    "purge never touches open runs, however old they are": async (t) => {
      const { run: pending } = await t.start();
      const running = await t.held();
      await running.commit(HOLD, { events: 1 });
      const others = [suspend(null), suspend(t.now + 1_000), park("odd")];
      const runIds = [pending.runId, running.runId];
      for (const transition of others) {
        const holder = await t.held();
        await holder.commit(transition);
        runIds.push(holder.runId);
      }
      await t.advance(1_000_000);
      const before = await Promise.all(runIds.map((runId) => t.run(runId)));
      expect(await purge(t)).toEqual({ purged: 0, more: false });
      expect(await Promise.all(runIds.map((runId) => t.run(runId)))).toEqual(before);
    },

    "purge leaves a failed run that was reopened": async (t) => {
      const holder = await ended(t, {}, "failed");
      const event = { type: "run_retried", op: null } as const;
      await t.store.runs.reopenIfFailed({ run: t.ref(holder.runId), eventCount: holder.eventCount, event });
      expect(await purge(t)).toEqual({ purged: 0, more: false });
      expect(await t.run(holder.runId)).toMatchObject({ status: "running" });
    },

    "purge takes every status, or only those that it is given": async (t) => {
      const statuses = ["completed", "failed", "canceled", "timed_out"] as const;
      const runIds: string[] = [];
      for (const status of statuses) runIds.push((await ended(t, {}, status)).runId);
      const { run } = await t.start();
      await t.store.runs.terminate({ runs: [t.ref(run.runId)], error: errorRecord("stop") });
      runIds.push(run.runId);
      expect(await purge(t, { statuses: [] })).toEqual({ purged: 0, more: false });
      expect(await purge(t, { statuses: ["failed", "timed_out", "continued"] })).toEqual({ purged: 2, more: false });
      expect(await exist(t, runIds)).toEqual([true, false, true, false, true]);
      expect(await purge(t)).toEqual({ purged: 3, more: false });
      expect(await exist(t, runIds)).toEqual([false, false, false, false, false]);
    },

    "purge of named runs takes those of them that it may, and no others": async (t) => {
      const [old, other] = [await ended(t), await ended(t)];
      const failed = await ended(t, {}, "failed");
      const { run: open } = await t.start();
      const named = [old.runId, open.runId, failed.runId, old.runId, t.newRun().runId];
      await t.advance(10);
      expect(await purge(t, { runIds: [] })).toEqual({ purged: 0, more: false });
      expect(await purge(t, { runIds: named, namespace: "nowhere" })).toEqual({ purged: 0, more: false });
      expect(await purge(t, { runIds: named, endedBefore: t.now - 10 })).toEqual({ purged: 0, more: false });
      expect(await purge(t, { runIds: named, statuses: ["failed"] })).toEqual({ purged: 1, more: false });
      expect(await purge(t, { runIds: named })).toEqual({ purged: 1, more: false });
      expect(await exist(t, [old.runId, other.runId, failed.runId, open.runId])).toEqual([false, true, false, true]);
    },

    "purge takes the oldest first, at most the limit, and says whether there are more": async (t) => {
      const runIds: string[] = [];
      const first = await t.held({ workflow: "refund" });
      for (const status of ["completed", "failed", "completed"] as const) {
        await t.advance(1);
        runIds.push((await ended(t, {}, status)).runId);
      }
      await t.advance(1);
      await first.commit(end());
      runIds.push(first.runId);
      expect(await purge(t, { limit: 1 })).toEqual({ purged: 1, more: true });
      expect(await exist(t, runIds)).toEqual([false, true, true, true]);
      expect(await purge(t, { limit: 2 })).toEqual({ purged: 2, more: true });
      expect(await exist(t, runIds)).toEqual([false, false, false, true]);
      expect(await purge(t, { limit: 1 })).toEqual({ purged: 1, more: false });
      expect(await purge(t, { limit: 1 })).toEqual({ purged: 0, more: false });
    },

    "purge goes on behind a position, and says how far it has come": async (t) => {
      const ends: EndPosition[] = [];
      for (const status of ["completed", "failed", "completed", "canceled"] as const) {
        const { runId } = await ended(t, {}, status);
        ends.push({ endedAt: t.now, runId });
        if (ends.length !== 2) await t.advance(1);
      }
      // Two of them have ended in the same millisecond.
      ends.sort((a, b) => a.endedAt - b.endedAt || (a.runId < b.runId ? -1 : 1));
      const [first, second, third, fourth] = ends as [EndPosition, EndPosition, EndPosition, EndPosition];
      expect(await purgeUpTo(t, { after: first, limit: 1 })).toEqual({ purged: 1, more: true, last: second });
      expect(await purgeUpTo(t, { after: first, runIds: [first.runId, third.runId] })).toEqual({
        ...{ purged: 1, more: false },
        last: third,
      });
      expect(await purgeUpTo(t, { after: fourth })).toEqual({ purged: 0, more: false, last: null });
      expect(await purgeUpTo(t, { after: { ...second, endedAt: 0 } })).toEqual({
        purged: 2,
        more: false,
        last: fourth,
      });
    },

    "purge spares the last runs of schedules, if it is told to": async (t) => {
      const schedules = { "a@1": "a", "b!1": "b", "c@x@1": "c@x", "gone@1": undefined, "a@2": "a@" } as const;
      for (const [id, schedule] of Object.entries(schedules)) {
        await ended(t, { id });
        if (schedule === undefined) continue;
        await aSchedule(t, { id: schedule, state: { ...STATE, openId: id } });
      }
      await ended(t, { id: "a@1", namespace: "other" });
      const spares = { sparesLastOfSchedules: true };
      expect(await purge(t, { ...spares, namespace: "other" })).toEqual({ purged: 1, more: false });
      // The schedule "a@" cannot have started "a@2".
      expect(await purge(t, { ...spares, limit: 4 })).toMatchObject({ more: true });
      await purge(t, spares);
      const left = await t.store.runs.list({ namespace: "default", limit: 10 });
      expect(left.map(({ id }) => id).sort()).toEqual(["a@1", "b!1", "c@x@1"]);
      expect(await purge(t, spares)).toEqual({ purged: 0, more: false });
      const [schedule] = await t.store.schedules.read({ schedules: [{ namespace: "default", id: "a" }] });
      const change = { revision: schedule?.revision as string, state: { ...STATE, openId: "a@9" } };
      await put(t, aPut(t, { id: "a", ...change }));
      expect(await purge(t, spares)).toEqual({ purged: 1, more: false });
      expect(await purge(t)).toEqual({ purged: 2, more: false });
    },

    "purge spares no earlier part of a schedule's run": async (t) => {
      const { runIds, last } = await chain(t, "s@1");
      await last.commit(end());
      await aSchedule(t, { id: "s", state: { ...STATE, openId: "s@1" } });
      expect(await purge(t, { sparesLastOfSchedules: true })).toEqual({ purged: 2, more: false });
      expect(await exist(t, runIds.slice(2))).toEqual([true]);
    },

    "history, messages and attributes are gone, and those of others stay": async (t) => {
      const gone = await t.held({ id: "a", attributes: { team: "x" } });
      const kept = await t.held({ id: "b", attributes: { team: "x" } });
      for (const holder of [gone, kept]) {
        await t.deliver(t.ref(holder.runId), { messageId: "m" });
        await holder.commit(HOLD, { events: 2, consumed: 1 });
      }
      await gone.commit(end(), { events: 1 });
      expect(await purge(t)).toEqual({ purged: 1, more: false });
      expect(await t.history(gone.runId)).toEqual([]);
      expect(await t.inbox(gone.runId)).toEqual([]);
      expect(await t.deliver(t.ref(gone.runId))).toEqual({ outcome: "not_found", runId: null, status: null });
      const rows = await t.store.runs.list({ namespace: "default", attributes: { team: "x" }, limit: 10 });
      expect(rows.map(({ runId }) => runId)).toEqual([kept.runId]);
      expect(await t.store.runs.count({ namespace: "default", atMost: null })).toBe(1);
      expect(await t.history(kept.runId)).toEqual(someEvents(0, 2));
      expect(await t.inbox(kept.runId)).toHaveLength(1);
      expect(await t.deliver(t.ref(kept.runId), { messageId: "m" })).toMatchObject({ outcome: "duplicate" });
    },

    "a late commit of a purged run is lost": async (t) => {
      const holder = await t.held();
      const commit = holder.draft(end(), { events: 1 });
      await holder.send(commit);
      await purge(t);
      expect(await holder.send(commit)).toMatchObject({ outcome: "lost", held: false });
      expect(await t.history(holder.runId)).toEqual([]);
    },

    "the id of a purged run can be started anew, and remembers nothing": async (t) => {
      const old = await t.held({ id: "a" });
      await t.deliver(t.ref(old.runId), { messageId: "m" });
      await old.commit(end(), { events: 1, consumed: 1 });
      await purge(t);
      expect(await t.store.runs.read({ runs: [{ namespace: "default", id: "a" }] })).toEqual([null]);
      const { outcome, run } = await t.start({ id: "a" });
      expect(outcome).toBe("created");
      expect(await t.inbox(run.runId)).toEqual([]);
      expect(await t.history(run.runId)).toEqual([]);
      expect(await t.deliver(t.ref(run.runId), { messageId: "m" })).toMatchObject({ outcome: "delivered" });
      expect(await t.inbox(run.runId)).toHaveLength(1);
    },

    "the run id of a purged run can be started anew, and remembers nothing": async (t) => {
      const old = await t.held({ id: "a" });
      await t.deliver(t.ref(old.runId), { messageId: "m" });
      await old.commit(end(), { events: 2, consumed: 1 });
      await purge(t);
      expect(await t.start({ runId: old.runId, id: "b" })).toMatchObject({ outcome: "created", run: { id: "b" } });
      expect(await t.history(old.runId)).toEqual([]);
      expect(await t.inbox(old.runId)).toEqual([]);
    },

    "an older run of an id is its newest again once the newer one is purged": async (t) => {
      const first = await ended(t, { id: "a" });
      const { run } = await t.start({ id: "a" }, { ifClosed: "start" });
      await t.store.runs.terminate({ runs: [t.ref(run.runId)], error: errorRecord("stop") });
      // A run of the same id is created at least a millisecond later, and does not end before that.
      await t.advance(1);
      expect(await purge(t, { statuses: ["terminated"] })).toEqual({ purged: 1, more: false });
      expect(await t.run({ namespace: "default", id: "a" })).toMatchObject({ runId: first.runId });
    },

    "purge leaves other namespaces alone": async (t) => {
      const here = await ended(t, { id: "a" });
      const there = await ended(t, { id: "a", namespace: "other" });
      expect(await purge(t, { namespace: "nowhere" })).toEqual({ purged: 0, more: false });
      expect(await purge(t)).toEqual({ purged: 1, more: false });
      expect(await exist(t, [here.runId])).toEqual([false]);
      expect(await t.run({ namespace: "other", runId: there.runId })).toMatchObject({ status: "completed" });
    },

    "a chain remembers its messages while one of its runs is there": async (t) => {
      const { runIds, last } = await chain(t);
      expect(await purge(t, { limit: 1 })).toEqual({ purged: 1, more: true });
      expect(await purge(t)).toEqual({ purged: 1, more: false });
      expect(await exist(t, runIds)).toEqual([false, false, true]);
      for (const runId of runIds.slice(0, 2)) expect(await t.inbox(runId)).toEqual([]);
      for (const messageId of ["m1", "m2"])
        expect(await t.deliver(t.ref(last.runId), { messageId })).toMatchObject({ outcome: "duplicate" });
      expect(await t.deliver(t.ref(last.runId), { messageId: "m3" })).toMatchObject({ outcome: "delivered" });
      expect(await t.inbox(last.runId)).toMatchObject([{ messageId: "m3", number: 1 }]);
      expect(await t.run(last.runId)).toMatchObject({ firstRunId: runIds[0], continuedFrom: runIds[1] });
    },

    "a chain whose first run is gone goes on": async (t) => {
      const { runIds, last } = await chain(t);
      await purge(t);
      const next = t.newRun({ id: "a" });
      await last.commit({ type: "continue", next, carried: [] });
      expect(await t.run(next.runId)).toMatchObject({ firstRunId: runIds[0], continuedFrom: last.runId });
      const outcome = { outcome: "duplicate", runId: next.runId, status: "pending" };
      expect(await t.deliver(t.ref(last.runId), { messageId: "m1" })).toEqual(outcome);
    },

    "the run id of a chain's first run means its newest run once the first is gone": async (t) => {
      const { runIds, last } = await chain(t);
      const [first = "", middle = ""] = runIds;
      await purge(t);
      const { runId } = last;
      const elsewhere = { namespace: "other", runId: first };
      const found = { outcome: "delivered", runId, status: "running" };
      expect(await t.deliver(t.ref(first), { messageId: "m3" })).toEqual(found);
      expect(await t.deliver(t.ref(first), { messageId: "m1" })).toMatchObject({ outcome: "duplicate", runId });
      expect(await t.deliver(t.ref(first), { kind: "cancel", messageId: "c" })).toEqual(found);
      expect(await t.deliver(t.ref(first), { kind: "update", messageId: "u" })).toEqual(found);
      const updates = [{ run: t.ref(first), messageId: "u" }];
      expect(await t.store.inbox.replies({ updates })).toMatchObject([{ runId, stage: "unread" }]);
      const runs = [t.ref(first), t.ref(middle), elsewhere, t.ref(runId)];
      const read = await t.store.runs.read({ runs });
      expect(read.map((run) => run?.runId)).toEqual([runId, undefined, undefined, runId]);
      const nobody = { outcome: "not_found", runId: null, status: null };
      for (const to of [t.ref(middle), elsewhere]) expect(await t.deliver(to, { messageId: "m4" })).toEqual(nobody);
      expect(await t.history(first)).toEqual([]);
      expect(await t.inbox(first)).toEqual([]);
      const watcher = t.talks.op(await t.held());
      expect(await t.talks.watch(t.ref(first), watcher)).toMatchObject({ outcome: "watching" });
      const error = errorRecord("stop");
      expect(await t.store.runs.terminate({ runs: [t.ref(first)], error })).toMatchObject([
        { outcome: "terminated", runId },
      ]);
      expect(await t.talks.watch(t.ref(first), watcher)).toMatchObject({ outcome: "ended", end: { runId } });
    },

    "the result of an op that a purged run asked for does not reach the run that continues it": async (t) => {
      const { runIds, last } = await chain(t);
      await purge(t);
      const to = t.ref(runIds[0] as string);
      const nobody = { outcome: "not_found", runId: null, status: null };
      expect(await t.deliver(to, { kind: "child_completed", messageId: "r" })).toEqual(nobody);
      expect(await t.inbox(last.runId)).toEqual([]);
    },

    "with its last run a chain forgets its messages": async (t) => {
      const { runIds, last } = await chain(t);
      await purge(t, { limit: 1 });
      await last.commit(end());
      expect(await purge(t)).toEqual({ purged: 2, more: false });
      // Reuses the run id, which no client would do: anything left behind under it would show.
      const { run } = await t.start({ id: "a", runId: runIds[0] as string });
      for (const messageId of ["m1", "m2"])
        expect(await t.deliver(t.ref(run.runId), { messageId })).toMatchObject({ outcome: "delivered" });
    },

    "a message to a run whose continuation is gone finds nobody": async (t) => {
      const { runIds, last } = await chain(t);
      await last.commit(end());
      expect(await purge(t, { statuses: ["completed"] })).toEqual({ purged: 1, more: false });
      expect(await exist(t, runIds)).toEqual([true, true, false]);
      const { run: another } = await t.start({ id: "b" });
      expect(await t.inbox(another.runId)).toEqual([]);
      for (const to of [t.ref(runIds[0] as string), { namespace: "default", id: "a" }])
        for (const messageId of ["m1", "m9"])
          expect(await t.deliver(to, { messageId })).toEqual({ outcome: "not_found", runId: null, status: null });
      expect(await t.start({ id: "a" }, { ifClosed: "start" })).toMatchObject({ outcome: "created" });
    },

    "two purges at once delete each run once": async (t) => {
      for (let i = 0; i < 6; i++) await ended(t);
      const second = await t.second();
      const params = { namespace: "default", endedBefore: t.now + 1, limit: 4 };
      const results = await Promise.all([t.store.runs.purge(params), second.runs.purge(params)]);
      expect(results.reduce((sum, { purged }) => sum + purged, 0)).toBe(6);
      expect(await t.store.runs.count({ namespace: "default", atMost: null })).toBe(0);
    },
  },
};

function purgeUpTo(t: Fixture, fields: Partial<PurgeRunsParams> = {}): Promise<PurgeRunsResult> {
  return t.store.runs.purge({ namespace: "default", endedBefore: t.now + 1, limit: 100, ...fields });
}

/** Without the position that it has come to. */
async function purge(t: Fixture, fields: Partial<PurgeRunsParams> = {}): Promise<Omit<PurgeRunsResult, "last">> {
  const { last: _last, ...result } = await purgeUpTo(t, fields);
  return result;
}

async function exist(t: Fixture, runIds: readonly string[]): Promise<boolean[]> {
  const runs = await t.store.runs.read({ runs: runIds.map((runId) => t.ref(runId)) });
  return runs.map((run, i) => run?.runId === runIds[i]);
}

type EndStatus = Extract<RunStatus, "completed" | "failed" | "canceled" | "timed_out">;

async function ended(
  t: Fixture,
  fields: Parameters<Fixture["held"]>[0] = {},
  status: EndStatus = "completed",
): Promise<Holder> {
  const holder = await t.held(fields);
  await holder.commit(end({ status }), { events: 1 });
  return holder;
}

/** Three runs, the last one held; the first two have consumed the messages `m1` and `m2`. */
async function chain(t: Fixture, id = "a"): Promise<{ runIds: readonly string[]; last: Holder }> {
  let last = await t.held({ id });
  const runIds = [last.runId];
  for (const messageId of ["m1", "m2"]) {
    await t.deliver(t.ref(last.runId), { messageId });
    const next = t.newRun({ id });
    await t.advance(1);
    await last.commit({ type: "continue", next, carried: [] }, { events: 1, consumed: 1 });
    await t.advance(1);
    last = await t.claimOne(await t.worker());
    runIds.push(last.runId);
  }
  return { runIds, last };
}
