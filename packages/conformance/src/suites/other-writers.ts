import { expect } from "vitest";
import { aStart, type Fixture, REPLACED } from "../fixture.ts";
import { Holder } from "../holder.ts";
import { APPEND, end, HOLD, someEvents, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

/** The ways in which a store may have learned of a run before its holder ends it. */
const HELD: Readonly<Record<string, (t: Fixture) => Promise<Holder>>> = {
  "from its start": (t) => t.held(),
  "by a claim": async (t) => {
    await t.start();
    return t.claimOne(await t.worker());
  },
  "after a commit": async (t) => {
    const holder = await t.held();
    await holder.commit(HOLD, { events: 1 });
    return holder;
  },
  "after an append": async (t) => {
    const holder = await t.held();
    await holder.commit(HOLD, { events: 1 });
    await holder.commit(APPEND, { events: 2 });
    return holder;
  },
};

/** On another connection, something happens to a run that is held; what follows from that must not be lost at its end. */
function each(check: (t: Fixture, holder: Holder) => Promise<void>): (t: Fixture) => Promise<void> {
  return async (t) => {
    for (const hold of Object.values(HELD)) await check(t, await hold(t));
  };
}

export const otherWriters: Suite = {
  noun: "what others do to held runs",
  cases: {
    "a child that another connection has started is closed after the end of its parent": each(async (t, holder) => {
      const { namespace, runId } = holder;
      const start = t.talks.childStart({ namespace, runId });
      await (await t.second()).runs.start({ starts: [start], holdBy: null, replaceError: REPLACED, inboxMax: 10 });
      const outcome = await holder.commit(end(), { events: 1 });
      expect(outcome).toMatchObject({ outcome: "written", held: false, owes: true });
      await t.store.runs.terminate({ runs: [{ namespace, runId: start.run.runId }], error: REPLACED });
    }),

    "whoever watches through another connection is owed the result": each(async (t, holder) => {
      const run = t.ref(holder.runId);
      const by = { namespace: "default", runId: t.newId(), op: "watch" };
      await (await t.second()).runs.watch({ watches: [{ run, by }] });
      expect(await holder.commit(end(), { events: 1 })).toMatchObject({ outcome: "written", owes: true });
    }),

    "an end is behind a message that another connection has delivered": each(async (t, holder) => {
      const messages = [t.newMessage(t.ref(holder.runId))];
      await (await t.second()).inbox.deliver({ messages, inboxMax: 10 });
      const last = end({ unlessBehind: true });
      expect(await holder.commit(last, { events: 1 })).toMatchObject({ outcome: "behind", delivered: 1 });
      expect(await holder.commit(last, { events: 1, consumed: 1 })).toMatchObject({ outcome: "written" });
    }),

    "a place in a queue that another connection has limited meanwhile is given back": each(async (t, holder) => {
      const params = { namespace: "default", queue: "default", limits: { concurrency: 1 } };
      const other = await t.second();
      const set = await other.queues.setIfRevision({ ...params, revision: null, next: t.newId() });
      const revision = set.outcome === "written" ? undefined : set.revision;
      if (revision !== undefined) await other.queues.setIfRevision({ ...params, revision, next: t.newId() });
      expect((await t.queues.read()).runs.running).toBe(1);
      await holder.commit(end(), { events: 1 });
      expect((await t.queues.read()).runs.running).toBe(0);
      await t.queues.set(null);
    }),

    "a run that another connection has taken away is lost to its holder": each(async (t, holder) => {
      const { namespace, workerId, runId, epoch } = holder;
      await (await t.second()).runs.releaseIfHeld({ namespace, workerId, runs: [{ runId, epoch }] });
      expect(await holder.commit(end(), { events: 1 })).toMatchObject({ outcome: "lost" });
      const next = await t.claimOne(await t.worker());
      expect(await next.commit(end(), { events: 1 })).toMatchObject({ outcome: "written" });
    }),

    "progress clears deaths, however the run is ended": async (t) => {
      const { run } = await t.start();
      const { runId } = run;
      const first = await t.worker();
      await t.claimOne(first);
      await t.sweep({ gone: [first] });
      const holder = await t.claimOne(await t.worker());
      expect(await t.run(runId)).toMatchObject({ deaths: 1 });
      await holder.commit(end(), { events: 1 });
      expect(await t.run(runId)).toMatchObject({ deaths: 0, status: "completed", eventCount: 1 });
    },

    "the end of a run that was taken with one of several messages is behind all of them": async (t) => {
      for (const both of [false, true]) {
        const waiting = await t.held();
        const { workerId, runId, epoch } = waiting;
        await waiting.commit(suspend(null), { events: 1 });
        const hold = { runId, epoch };
        const messages = [true, both].map((held) => t.newMessage(t.ref(runId), held ? { hold } : {}));
        const holdBy = { workerId, claimId: t.newId() };
        await t.store.inbox.deliver({ messages, inboxMax: 10, holdBy });
        const row = await t.run(runId);
        expect(row).toMatchObject({ heldBy: workerId, delivered: 2 });
        const holder = new Holder(t.store, workerId, row);
        const last = end({ unlessBehind: true });
        expect(await holder.commit(last, { events: 1, consumed: 1 })).toMatchObject({
          outcome: "behind",
          delivered: 2,
        });
        expect(await holder.commit(last, { events: 1, consumed: 2 })).toMatchObject({ outcome: "written" });
        expect(await t.history(runId)).toHaveLength(2);
      }
    },

    "runs that end in one call end each in its own way": async (t) => {
      const workerId = await t.worker();
      const holders: Holder[] = [];
      for (let i = 0; i < 20; i++) holders.push(await t.held({}, workerId));
      const failed = end({ status: "failed", output: null, error: REPLACED });
      const commits = holders.map((holder, i) => holder.draft(i % 3 === 2 ? failed : end(), { events: i % 5 }));
      for (const _copy of [1, 2]) {
        const { outcomes } = await t.store.runs.commit({ commits });
        expect(outcomes.every(({ outcome, held }) => outcome === "written" && !held)).toBe(true);
      }
      for (const [i, { runId }] of holders.entries()) {
        const status = i % 3 === 2 ? "failed" : "completed";
        expect(await t.run(runId)).toMatchObject({ status, eventCount: i % 5, heldBy: null, availableAt: null });
        expect(await t.history(runId)).toEqual(someEvents(0, i % 5));
      }
    },

    "the end of a run that was held from its start is behind the messages that came with it": async (t) => {
      const workerId = await t.worker();
      const messages = [{ kind: "signal", name: "go", messageId: t.newId(), payload: new Uint8Array() } as const];
      const start = aStart(t.newRun(), { hold: true, messages });
      const holdBy = { workerId, claimId: t.newId() };
      await t.store.runs.start({ starts: [start], holdBy, replaceError: REPLACED, inboxMax: 10 });
      const row = await t.run(start.run.runId);
      expect(row).toMatchObject({ heldBy: workerId, delivered: 1 });
      const holder = new Holder(t.store, workerId, row);
      expect(await holder.commit(end({ unlessBehind: true }), { events: 1 })).toMatchObject({ outcome: "behind" });
    },
  },
};
