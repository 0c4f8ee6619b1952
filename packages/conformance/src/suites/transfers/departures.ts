import type { DepartParams, RunRest } from "holdfast/adapter";
import { expect } from "vitest";
import { ended, expectHints } from "../../expected-hints.ts";
import { bytes, end, RELEASE, suspend } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";
import { MOVED } from "../../transfer-calls.ts";

/** Runs that leave for another store. */
export const departures: Suite = {
  noun: "departures",
  cases: {
    "a store keeps the first id that it is given": async (t) => {
      const storeId = t.newId();
      expect(await t.store.transfers.identify({ storeId })).toEqual({ storeId });
      expect(await t.store.transfers.identify({ storeId: t.newId() })).toEqual({ storeId });
    },

    "a run that a worker holds stays": async (t) => {
      const { runId } = await t.held();
      const run = await t.run(runId);
      expect(await t.transfers.depart(runId)).toEqual({ outcome: "held" });
      expect(await t.run(runId)).toEqual(run);
    },

    "a run that nobody holds leaves: it is closed, and what its end overwrites is kept": async (t) => {
      const holder = await t.held({ timeoutMs: 100_000 });
      await holder.commit(suspend(t.now + 5_000, { waitingFor: ["nap"] }), { events: 2 });
      await t.advance(100);
      const answer = await t.transfers.depart(holder.runId);
      const rest = { status: "sleeping", availableAt: t.now + 4_900, waitingFor: ["nap"], error: null, parkedBy: null };
      expect(answer).toEqual({ outcome: "departed", rest: { ...rest, knownIds: [], updates: [], tasks: [] } });
      expect(await t.run(holder.runId)).toMatchObject({
        ...{
          status: "moved",
          epoch: 2,
          availableAt: null,
          waitingFor: [],
          endedAt: t.now,
          error: MOVED,
          eventCount: 2,
        },
      });
      expect(await t.history(holder.runId)).toHaveLength(2);
    },

    "a repetition is answered as the first one, and nothing else is": async (t) => {
      const holder = await t.held();
      await holder.commit(suspend(null));
      const params = await t.transfers.departure(holder.runId);
      const answer = await t.store.transfers.departIfIdle(params);
      expect(await t.store.transfers.departIfIdle(params)).toEqual(answer);
      expect(await t.transfers.depart(holder.runId)).toEqual({ outcome: "changed" });
      const another = { ...params, departureId: t.newId() };
      expect(await t.store.transfers.departIfIdle(another)).toEqual({ outcome: "changed" });
      expect(await t.store.transfers.departIfIdle({ ...another, target: "other/default" })).toEqual({
        outcome: "changed",
      });
      await t.store.transfers.confirm({ namespace: "default", runId: holder.runId, epoch: 2 });
      expect(await t.store.transfers.departIfIdle(params)).toEqual({ outcome: "changed" });
    },

    "a run that has changed since it was read does not leave": async (t) => {
      const holder = await t.held();
      await holder.commit(suspend(null));
      const params = await t.transfers.departure(holder.runId);
      const other: Partial<DepartParams>[] = [
        { epoch: params.epoch + 1 },
        { epoch: params.epoch - 1 },
        { commit: params.commit - 1 },
        { delivered: params.delivered + 1 },
      ];
      for (const fields of other)
        expect(await t.transfers.depart(holder.runId, fields)).toEqual({ outcome: "changed" });
      await t.deliver(t.ref(holder.runId));
      expect(await t.store.transfers.departIfIdle(params)).toEqual({ outcome: "changed" });
      expect(await t.transfers.depart(holder.runId, { runId: t.newId() })).toEqual({ outcome: "not_found" });
      expect(await t.transfers.depart(holder.runId, { namespace: "other" })).toEqual({ outcome: "not_found" });
      expect(await t.transfers.depart(holder.runId)).toMatchObject({ outcome: "departed" });
    },

    "nobody can claim it, wake it or start a run of its id": async (t) => {
      const { run } = await t.start({ id: "a" });
      await t.transfers.departed(run.runId);
      expect((await t.claim(await t.worker())).runs).toEqual([]);
      expect(await t.deliver({ namespace: "default", id: "a" })).toMatchObject({ outcome: "closed", status: "moved" });
      const again = { runId: t.newId(), id: "a" };
      expect(await t.start(again, { ifClosed: "start" })).toMatchObject({
        outcome: "exists",
        run: { runId: run.runId },
      });
      expect(await t.start(again, { ifClosed: "fail" })).toMatchObject({ outcome: "exists" });
      expect(await t.start(again, { ifClosed: "return" })).toMatchObject({ outcome: "returned" });
    },

    "its tasks leave with it, except one that is held: then the run stays": async (t) => {
      const { holder, key } = await t.tasks.scheduled({ timeoutMs: 500, key: "k" });
      await holder.schedule([{ op: "person", name: "person", external: true, secret: "f".repeat(32) }]);
      await holder.commit(suspend(null));
      const worker = await t.worker();
      const task = await t.tasks.claimOne(worker);
      expect(await t.transfers.depart(holder.runId)).toEqual({ outcome: "held" });
      await t.tasks.finish(task, { type: "retry", delayMs: 70, failures: [] });
      const { rest } = await t.transfers.departed(holder.runId);
      expect(rest.tasks).toMatchObject([
        { seq: key.seq, status: "due", attempt: 2, availableAt: t.now + 70, timeoutMs: 500, key: "k", external: false },
        { op: "person", status: "external", secret: "f".repeat(32), external: true, availableAt: null },
      ]);
      expect(await t.tasks.seqsOf(holder.runId)).toEqual([]);
      await t.advance(70);
      expect((await t.tasks.claim(worker)).tasks).toEqual([]);
    },

    "a dead letter leaves as well": async (t) => {
      const { holder, task } = await t.tasks.held();
      await t.tasks.finish(task, { type: "failed", payload: bytes("{}"), failures: [], keep: true });
      await holder.commit(suspend(null), { consumed: 1 });
      const { rest } = await t.transfers.departed(holder.runId);
      expect(rest.tasks).toMatchObject([{ status: "dead" }]);
    },

    "it is not purged before its departure is confirmed": async (t) => {
      const { run } = await t.start();
      await t.transfers.departed(run.runId);
      await t.advance(1_000);
      const purge = () => t.store.runs.purge({ namespace: "default", endedBefore: t.now, limit: 10 });
      expect(await purge()).toMatchObject({ purged: 0 });
      const departure = { namespace: "default", runId: run.runId, epoch: 1 };
      await t.store.transfers.confirm({ ...departure, epoch: 2 });
      await t.store.transfers.confirm({ ...departure, namespace: "other" });
      expect(await purge()).toMatchObject({ purged: 0 });
      await t.store.transfers.confirm(departure);
      await t.store.transfers.confirm(departure);
      expect(await purge()).toMatchObject({ purged: 1 });
    },

    "departures are listed by run id until they are confirmed": async (t) => {
      const runs = [await t.start(), await t.start(), await t.start()].map(({ run }) => run.runId);
      const rests: RunRest[] = [];
      for (const runId of runs.toReversed()) rests.unshift((await t.transfers.departed(runId)).rest);
      const list = (fields: object = {}) =>
        t.store.transfers.departures({ namespace: "default", limit: 10, ...fields });
      const all = runs.map((runId, i) => {
        return {
          namespace: "default",
          runId,
          epoch: 1,
          target: "there/default",
          to: "elsewhere",
          at: t.now,
          rest: rests[i],
        };
      });
      expect(await list()).toEqual(all);
      expect(await list({ limit: 2 })).toEqual(all.slice(0, 2));
      expect(await list({ after: runs[1] })).toEqual(all.slice(2));
      expect(await list({ namespace: "other" })).toEqual([]);
      await t.store.transfers.confirm({ namespace: "default", runId: runs[0] as string, epoch: 1 });
      expect(await list()).toEqual(all.slice(1));
    },

    "a run with an open child stays, and so does the child": async (t) => {
      const parent = await t.held();
      const child = await t.talks.heldChild(parent);
      await child.commit(suspend(null));
      await parent.commit(suspend(null));
      expect(await t.transfers.depart(parent.runId)).toEqual({ outcome: "tied", tie: "children" });
      expect(await t.transfers.depart(child.runId)).toEqual({ outcome: "tied", tie: "parent" });
    },

    "a run does not leave before it knows how its child ended": async (t) => {
      const parent = await t.held();
      const child = await t.talks.heldChild(parent);
      await parent.commit(suspend(null));
      await child.commit(end());
      expect(await t.transfers.depart(parent.runId)).toEqual({ outcome: "tied", tie: "children" });
    },

    "a child leaves once its parent has ended and owes nothing": async (t) => {
      const parent = await t.held();
      const child = await t.talks.heldChild(parent, { policy: "abandon" });
      await child.commit(suspend(null));
      await parent.commit(end());
      expect(await t.transfers.depart(child.runId)).toMatchObject({ outcome: "departed" });
    },

    "a run that is watched stays, and so does the run that watches": async (t) => {
      const [watched, watching] = [await t.held(), await t.held()];
      for (const holder of [watched, watching]) await holder.commit(suspend(null));
      const by = { namespace: "default", runId: watching.runId, op: "result:x" };
      await t.store.runs.watch({ watches: [{ run: t.ref(watched.runId), by }] });
      expect(await t.transfers.depart(watched.runId)).toEqual({ outcome: "tied", tie: "watched" });
      expect(await t.transfers.depart(watching.runId)).toEqual({ outcome: "tied", tie: "watches" });
    },

    "a run that owes an answer to another one stays, and so does the one that waits for it": async (t) => {
      const [asked, asking] = [await t.held(), await t.held()];
      for (const holder of [asked, asking]) await holder.commit(suspend(null));
      const replyTo = { namespace: "default", runId: asking.runId, op: "ask:x" };
      await t.deliver(t.ref(asked.runId), { kind: "update", name: "x", replyTo });
      expect(await t.transfers.depart(asked.runId)).toEqual({ outcome: "tied", tie: "asked" });
      expect(await t.transfers.depart(asking.runId)).toEqual({ outcome: "tied", tie: "asks" });
    },

    "a run that holds a lock, or waits for one, stays": async (t) => {
      const [first, second] = [await t.locks.run("l"), await t.locks.run("l")];
      for (const { holder } of [first, second]) {
        await holder.commit(RELEASE, { consumed: (await t.run(holder.runId)).delivered });
        expect(await t.transfers.depart(holder.runId)).toEqual({ outcome: "tied", tie: "locks" });
      }
    },

    "whoever waits for its end is told to look": async (t) => {
      const holder = await t.held();
      await holder.commit(suspend(null));
      await expectHints(t, [ended(holder.runId)], () => t.transfers.depart(holder.runId));
    },
  },
};
