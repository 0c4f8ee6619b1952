import { expect } from "vitest";
import { PAUSED } from "../fixture.ts";
import { Holder } from "../holder.ts";
import { APPEND, end, errorRecord, HOLD, park, RELEASE, someEvents, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";
import { begun, RESTARTED, TAKINGS } from "./taking-away.ts";

/** Commits that only add events: the fence, and that everything else counts them although the row does not change. */
export const appends: Suite = {
  noun: "appends",
  cases: {
    "an append adds its events and changes nothing else of the row": async (t) => {
      const holder = await begun(t);
      const before = await t.run(holder.runId);
      expect(await holder.commit(APPEND, { events: 2 })).toEqual({ outcome: "written", held: true, delivered: 0 });
      expect(await holder.commit(APPEND, { events: 1 })).toEqual({ outcome: "written", held: true, delivered: 0 });
      expect(await t.run(holder.runId)).toEqual({ ...before, eventCount: 4 });
      expect(await t.history(holder.runId)).toEqual(someEvents(0, 4));
    },

    "a repeated append counts as written and writes nothing, also when another has followed": async (t) => {
      const holder = await begun(t);
      const [one, two] = [holder.draft(APPEND, { events: 2 }), holder.draft(APPEND, { events: 2 })];
      await holder.send(one);
      expect(await holder.send(two)).toMatchObject({ outcome: "written", held: true });
      await holder.commit(APPEND, { events: 1 });
      const before = await t.run(holder.runId);
      expect(await new Holder(t.store, holder.workerId, before).send(one)).toMatchObject({ outcome: "written" });
      expect(await t.run(holder.runId)).toEqual(before);
      expect(await t.history(holder.runId)).toEqual(someEvents(0, 4));
    },

    "a run that is parked without events keeps those of an earlier commit that its holder takes for refused": async (
      t,
    ) => {
      for (const earlier of [APPEND, HOLD]) {
        const holder = await begun(t);
        await holder.commit(earlier, { events: 2 });
        const { eventCount, ...parked } = holder.draft(park("refused"));
        expect(await holder.send({ ...parked, eventCount: eventCount - 2 })).toMatchObject({ outcome: "written" });
        expect(await t.run(holder.runId)).toMatchObject({ status: "parked", eventCount: 4 });
        const history = await t.history(holder.runId);
        expect(history.slice(0, 3)).toEqual(someEvents(0, 3));
        expect(history.slice(3)).toMatchObject([{ seq: 4, type: "run_parked" }]);
      }
    },

    "an append of other events under the same numbers is a bug": async (t) => {
      const holder = await begun(t);
      const [event] = someEvents(1, 1);
      const other = holder.draft(APPEND, { events: event ? [{ ...event, op: "another" }] : [] });
      await holder.commit(APPEND, { events: 1 });
      await expect(t.store.runs.commit({ commits: [other] })).rejects.toMatchObject({ code: "invariant_broken" });
      expect(await t.history(holder.runId)).toEqual(someEvents(0, 2));
    },

    "a late copy of an append is lost once another commit has changed the row": async (t) => {
      const holder = await begun(t);
      const late = holder.draft(APPEND, { events: 1 });
      await holder.send(late);
      await holder.commit(HOLD, { events: 1 });
      const before = await t.run(holder.runId);
      expect(await t.store.runs.commit({ commits: [late] })).toMatchObject({ outcomes: [{ outcome: "lost" }] });
      expect(await t.run(holder.runId)).toEqual(before);
    },

    "what a former holder has on its way is lost, also in one call with what the present one writes": async (t) => {
      for (const late of [APPEND, HOLD])
        for (const present of [APPEND, HOLD, end()])
          for (const order of [0, 1]) {
            const former = await begun(t);
            const copy = new Holder(t.store, former.workerId, await t.run(former.runId)).draft(late, { events: 1 });
            await former.commit(RELEASE);
            const holder = await t.claimOne(former.workerId);
            await holder.commit(HOLD, { events: 1 });
            const commits = [copy, holder.draft(present, { events: 1 })];
            const { outcomes } = await t.store.runs.commit({ commits: order === 0 ? commits : commits.reverse() });
            expect(outcomes.map(({ outcome }) => outcome)).toEqual(
              order === 0 ? ["lost", "written"] : ["written", "lost"],
            );
            expect(await t.history(holder.runId)).toEqual(someEvents(0, 3));
          }
    },

    "an append with another epoch, commit number or holder is lost, and so is one to a run that nobody holds": async (
      t,
    ) => {
      const holder = await begun(t);
      const commit = holder.draft(APPEND, { events: 1 });
      const wrong = [{ epoch: 2 }, { commit: 0 }, { commit: 2 }, { workerId: await t.worker() }, { runId: t.newId() }];
      for (const fields of wrong) {
        const { outcomes } = await t.store.runs.commit({ commits: [{ ...commit, ...fields }] });
        expect(outcomes).toEqual([{ outcome: "lost", held: false, delivered: 0 }]);
      }
      await holder.commit(suspend(null));
      expect(await holder.commit(APPEND, { events: 1 })).toMatchObject({ outcome: "lost" });
      expect(await t.history(holder.runId)).toHaveLength(1);
    },

    "a closed run takes no append": async (t) => {
      const holder = await begun(t);
      await holder.commit(end(), { events: 1 });
      expect(await holder.commit(APPEND, { events: 1 })).toMatchObject({ outcome: "lost" });
      expect(await t.run(holder.runId)).toMatchObject({ eventCount: 2 });
    },

    "appends and other commits of one call are decided one by one, and answered in order": async (t) => {
      const workerId = await t.worker();
      const [a, b, c, d] = [
        await begun(t, workerId),
        await begun(t, workerId),
        await begun(t),
        await begun(t, workerId),
      ];
      const again = c.draft(APPEND, { events: 1 });
      await c.send(again);
      const commits = [
        a.draft(APPEND, { events: 2 }),
        b.draft(end(), { events: 1 }),
        again,
        { ...d.draft(APPEND, { events: 1 }), epoch: 7 },
      ];
      const { outcomes, now } = await t.store.runs.commit({ commits });
      expect(outcomes.map(({ outcome, held }) => [outcome, held])).toEqual([
        ["written", true],
        ["written", false],
        ["written", true],
        ["lost", false],
      ]);
      expect(now).toBe(t.now);
      const rows = await Promise.all([a, b, c, d].map(({ runId }) => t.run(runId)));
      expect(rows.map(({ eventCount, status }) => [eventCount, status])).toEqual([
        [3, "running"],
        [2, "completed"],
        [2, "running"],
        [1, "running"],
      ]);
      expect(await t.history(a.runId)).toEqual(someEvents(0, 3));
    },

    "an append answers how many messages were delivered, and the next suspend still sees them": async (t) => {
      const holder = await begun(t);
      await t.deliver(t.ref(holder.runId));
      expect(await holder.commit(APPEND, { events: 1 })).toMatchObject({ delivered: 1 });
      expect(await holder.commit(suspend(null), { events: 1 })).toMatchObject({ outcome: "written", held: true });
      expect(await holder.commit(APPEND, { events: 1 })).toMatchObject({ outcome: "written", delivered: 1 });
      expect(await t.run(holder.runId)).toMatchObject({ eventCount: 4, commit: 2, consumed: 0 });
    },

    "what the store records follows what was appended": async (t) => {
      const parked = await begun(t);
      await parked.commit(APPEND, { events: 2 });
      await parked.commit(park("no"), { events: 1 });
      expect((await t.history(parked.runId)).map(({ type }) => type).slice(3)).toEqual([
        "step_completed",
        "run_parked",
      ]);
      expect(await t.run(parked.runId)).toMatchObject({ eventCount: 5, commit: 2 });
      const idle = await begun(t);
      await idle.commit(APPEND, { events: 2 });
      await idle.commit(suspend(null));
      expect(await t.run(idle.runId)).toMatchObject({ eventCount: 3, commit: 2 });
      await t.pause(t.ref(idle.runId), { error: PAUSED });
      expect(await t.run(idle.runId)).toMatchObject({ eventCount: 4, status: "parked" });
    },

    "every commit that lets the run go counts what was appended": async (t) => {
      const next = t.newRun({ id: "next" });
      const transitions = [RELEASE, suspend(t.now), end(), { type: "continue", next, carried: [] } as const];
      for (const transition of transitions) {
        const holder = await t.held(transition.type === "continue" ? { id: "next" } : {});
        await holder.commit(HOLD, { events: 1 });
        await holder.commit(APPEND, { events: 2 });
        expect(await holder.commit(transition, { events: 1 })).toMatchObject({ outcome: "written", held: false });
        expect(await t.run(holder.runId)).toMatchObject({ eventCount: 4, commit: 2 });
        expect(await t.history(holder.runId)).toEqual(someEvents(0, 4));
      }
    },

    "a commit that does not follow what was appended is a bug": async (t) => {
      const holder = await begun(t);
      const late = holder.draft(end(), { events: 1 });
      await holder.commit(APPEND, { events: 1 });
      const gap = holder.draft(end(), { events: someEvents(3, 1) });
      for (const commit of [late, gap]) await expect(t.store.runs.commit({ commits: [commit] })).rejects.toBeDefined();
      expect(await t.run(holder.runId)).toMatchObject({ status: "running", eventCount: 2 });
    },

    "everybody is told how many events a run has that is held": async (t) => {
      const workerId = await t.worker();
      const { run } = await t.start();
      const claim = t.claimParams(workerId);
      await t.store.runs.claim(claim);
      const holder = new Holder(t.store, workerId, await t.run(run.runId));
      await holder.commit(HOLD, { events: 1 });
      await holder.commit(APPEND, { events: 2 });
      expect((await t.store.runs.claim({ ...claim, again: true })).runs).toMatchObject([{ eventCount: 3, commit: 1 }]);
      expect(await t.store.runs.list({ namespace: "default", limit: 10 })).toMatchObject([{ eventCount: 3 }]);
      const held = await t.store.workers.readHeld({ namespace: "default", workerId });
      expect(held).toEqual([{ runId: run.runId, epoch: 1, commit: 1, eventCount: 3 }]);
      const again = await t.start({ id: run.id }, { ifRunning: "return" });
      expect(again.run).toMatchObject({ runId: run.runId, eventCount: 3 });
    },

    "a list knows when something was last appended": async (t) => {
      const holder = await begun(t);
      await holder.commit(APPEND, { events: someEvents(1, 1, t.now + 50) });
      const listed = await t.store.runs.list({ namespace: "default", limit: 10 });
      expect(listed).toMatchObject([{ lastEventAt: t.now + 50 }]);
    },

    "a fork has what was appended to its origin": async (t) => {
      const holder = await begun(t);
      await holder.commit(APPEND, { events: 2 });
      const event = { type: "run_forked", op: null } as const;
      const origin = { namespace: "default", runId: holder.runId };
      const params = { origin, copied: 3, judged: 3, run: t.newRun(), numberedFrom: 0, event };
      const { outcome, run } = await t.store.runs.fork(params);
      expect([outcome, run?.eventCount]).toEqual(["forked", 4]);
      expect((await t.history(run?.runId ?? "")).slice(0, 3)).toEqual(someEvents(0, 3));
    },

    "a restart for a run that has recorded something since changes nothing": async (t) => {
      const holder = await begun(t);
      const { namespace, runId, epoch, commit, eventCount } = await t.run(holder.runId);
      await holder.commit(APPEND, { events: 1 });
      const params = { namespace, runId, epoch, commit, eventCount, event: RESTARTED };
      expect(await t.store.runs.restartIfHeld(params)).toEqual({ outcome: "moved" });
      expect(await t.store.runs.restartIfHeld({ ...params, eventCount: 2 })).toEqual({ outcome: "restarted" });
      expect((await t.history(runId)).map(({ seq }) => seq)).toEqual([1, 2, 3]);
    },

    "whoever takes a run away counts what was appended, and the former holder is lost": async (t) => {
      for (const [name, takeAway] of Object.entries(TAKINGS)) {
        const holder = await begun(t);
        await holder.commit(APPEND, { events: 2 });
        await takeAway(t, t.store, holder);
        const row = await t.run(holder.runId);
        const notes = name === "restart" ? 1 : 0;
        expect([name, row.heldBy, row.eventCount]).toEqual([name, null, 3 + notes]);
        expect(await holder.commit(APPEND, { events: 1 })).toMatchObject({ outcome: "lost" });
        expect(await t.history(holder.runId)).toHaveLength(3 + notes);
        if (row.endedAt !== null) continue;
        const next = await t.claimOne(await t.worker());
        expect(next.eventCount).toBe(3 + notes);
        expect(await next.commit(HOLD, { events: 1 })).toMatchObject({ outcome: "written" });
        expect(await next.commit(APPEND, { events: 1 })).toMatchObject({ outcome: "written" });
        expect(await t.run(holder.runId)).toMatchObject({ eventCount: 5 + notes });
        await next.commit(end());
      }
    },

    "a run that ends from outside ends after what was appended": async (t) => {
      const holder = await begun(t);
      await holder.commit(APPEND, { events: someEvents(1, 1, t.now + 500) });
      await t.store.runs.terminate({ runs: [t.ref(holder.runId)], error: errorRecord("enough") });
      expect(await t.run(holder.runId)).toMatchObject({ endedAt: t.now + 500, eventCount: 2 });
    },

    "a run that kills its workers is parked behind what was appended": async (t) => {
      const { run } = await t.start();
      for (let deaths = 0; deaths < 4; deaths++) {
        const workerId = await t.worker();
        await t.claimOne(workerId, { solo: deaths > 1 });
        await t.sweep({ gone: [workerId] });
      }
      const row = await t.run(run.runId);
      expect(row).toMatchObject({ status: "parked", eventCount: 1 });
    },

    "a transaction step of a run that only appends is recorded once": async (t) => {
      const holder = await begun(t);
      await holder.commit(APPEND, { events: 1 });
      const { outcome } = await t.transact(holder);
      expect(outcome).toBe("recorded");
      expect(await holder.commit(APPEND, { events: 1 })).toMatchObject({ outcome: "written", delivered: 1 });
      expect(await holder.commit(HOLD, { events: 1, consumed: 1 })).toMatchObject({ outcome: "written" });
      expect(await t.run(holder.runId)).toMatchObject({ eventCount: 4, consumed: 1, delivered: 1 });
    },
  },
};
