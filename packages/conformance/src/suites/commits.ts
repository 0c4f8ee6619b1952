import { expect } from "vitest";
import { Holder } from "../holder.ts";
import { bytes, end, HOLD, RELEASE, someEvents, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

/** The fence, and what every commit writes. transitions.ts has what each transition does. */
export const commits: Suite = {
  noun: "commits",
  cases: {
    "a commit appends its events and counts on": async (t) => {
      const holder = await t.held();
      expect(await holder.commit(HOLD, { events: 2 })).toEqual({ outcome: "written", held: true, delivered: 0 });
      expect(await t.run(holder.runId)).toMatchObject({ epoch: 1, commit: 1, eventCount: 2, status: "running" });
      await holder.commit(HOLD, { events: 1 });
      expect(await t.run(holder.runId)).toMatchObject({ epoch: 1, commit: 2, eventCount: 3 });
      expect(await t.history(holder.runId)).toEqual(someEvents(0, 3));
    },

    "a commit without events counts as well": async (t) => {
      const holder = await t.held();
      expect(await holder.commit(HOLD)).toMatchObject({ outcome: "written", held: true });
      expect(await t.run(holder.runId)).toMatchObject({ commit: 1, eventCount: 0 });
    },

    "a repeated commit counts as written and writes nothing": async (t) => {
      const holder = await t.held();
      const commit = holder.draft(HOLD, { events: 2, attributes: { step: 2 } });
      await holder.send(commit);
      const before = await t.run(holder.runId);
      expect(await holder.send(commit)).toEqual({ outcome: "written", held: true, delivered: 0 });
      expect(await t.run(holder.runId)).toEqual(before);
      expect(await t.history(holder.runId)).toEqual(someEvents(0, 2));
    },

    "a late copy of an old commit is lost and changes nothing": async (t) => {
      const holder = await t.held();
      const old = holder.draft(HOLD, { events: 1 });
      await holder.send(old);
      await holder.commit(HOLD, { events: 1 });
      const before = await t.run(holder.runId);
      expect(await new Holder(t.store, holder.workerId, before).send(old)).toMatchObject({
        outcome: "lost",
        held: false,
      });
      expect(await t.run(holder.runId)).toEqual(before);
      expect(await t.history(holder.runId)).toHaveLength(2);
    },

    "a commit number from the future is lost": async (t) => {
      const holder = await t.held();
      const commit = { ...holder.draft(HOLD, { events: 1 }), commit: holder.commitNumber + 1 };
      expect(await holder.send(commit)).toMatchObject({ outcome: "lost", held: false });
      expect(await t.history(holder.runId)).toEqual([]);
    },

    "a stale or future epoch is lost, though the commit number fits": async (t) => {
      const holder = await t.held();
      await holder.commit(RELEASE, { events: 1 });
      const next = await t.claimOne(await t.worker());
      const before = await t.run(next.runId);
      for (const epoch of [holder.epoch, next.epoch + 1]) {
        const commit = { ...next.draft(HOLD, { events: 1 }), epoch };
        expect(await next.send(commit)).toMatchObject({ outcome: "lost", held: false });
      }
      expect(await t.run(next.runId)).toEqual(before);
      expect(await t.history(next.runId)).toHaveLength(1);
    },

    "a worker that does not hold the run cannot write, even with the right numbers": async (t) => {
      const holder = await t.held();
      const other = new Holder(t.store, await t.worker(), await t.run(holder.runId));
      expect(await other.commit(HOLD, { events: 1 })).toMatchObject({ outcome: "lost", held: false });
      expect(await t.run(holder.runId)).toMatchObject({ commit: 0, eventCount: 0, heldBy: holder.workerId });
    },

    "a run that nobody holds takes no commit": async (t) => {
      const { run } = await t.start();
      const other = new Holder(t.store, await t.worker(), run);
      expect(await other.commit(HOLD, { events: 1 })).toMatchObject({ outcome: "lost", held: false });
      expect(await t.run(run.runId)).toMatchObject({ commit: 0, eventCount: 0, status: "pending" });
    },

    "a commit for a run that does not exist is lost": async (t) => {
      const holder = await t.held();
      const commit = { ...holder.draft(HOLD, { events: 1 }), runId: t.newId() };
      expect(await holder.send(commit)).toMatchObject({ outcome: "lost", held: false });
    },

    "a closed run takes no commit": async (t) => {
      const holder = await t.held();
      await holder.commit(end(), { events: 1 });
      const before = await t.run(holder.runId);
      expect(await holder.commit(HOLD, { events: 1 })).toMatchObject({ outcome: "lost", held: false });
      expect(await t.run(holder.runId)).toEqual(before);
    },

    "a repeated commit that let the run go counts as written while nobody has taken it": async (t) => {
      const holder = await t.held();
      const commit = holder.draft(suspend(t.now), { events: 1 });
      await holder.send(commit);
      const before = await t.run(holder.runId);
      expect(await holder.send(commit)).toMatchObject({ outcome: "written", held: false });
      expect(await t.run(holder.runId)).toEqual(before);
      await t.claimOne(await t.worker());
      expect(await holder.send(commit)).toMatchObject({ outcome: "lost", held: false });
    },

    "a repeated end counts as written and keeps the first output": async (t) => {
      const holder = await t.held();
      const commit = holder.draft(end(), { events: 1 });
      await holder.send(commit);
      const before = await t.run(holder.runId);
      await t.advance(100);
      expect(await holder.send(commit)).toEqual({ outcome: "written", held: false, delivered: 0 });
      expect(await t.run(holder.runId)).toEqual(before);
    },

    "a worker whose lease has run out but was not swept may still write": async (t) => {
      const holder = await t.held();
      await t.advance(60_000);
      expect(await holder.commit(HOLD, { events: 1 })).toMatchObject({ outcome: "written", held: true });
    },

    "many commits in one call are decided one by one, and answered in order": async (t) => {
      const workerId = await t.worker();
      const [a, b, c] = [await t.held({}, workerId), await t.held({}, workerId), await t.held({}, workerId)];
      const repeated = c.draft(HOLD, { events: 1 });
      await c.send(repeated);
      const commits = [
        { ...b.draft(HOLD, { events: 3 }), epoch: 7 },
        a.draft(HOLD, { events: 2 }),
        repeated,
        { ...a.draft(HOLD, { events: 1 }), runId: t.newId() },
      ];
      const { outcomes, now } = await t.store.runs.commit({ commits });
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(["lost", "written", "written", "lost"]);
      expect(outcomes.map(({ held }) => held)).toEqual([false, true, true, false]);
      expect(now).toBe(t.now);
      const histories = await Promise.all([a, b, c].map((holder) => t.history(holder.runId)));
      expect(histories.map((events) => events.length)).toEqual([2, 0, 1]);
    },

    "one call carries the commits of several workers, and each is judged by its own": async (t) => {
      const [a, b, c] = [await t.held(), await t.held(), await t.held()];
      await b.commit(HOLD, { events: 1 });
      const commits = [
        a.draft(HOLD, { events: 2 }),
        { ...b.draft(end(), { events: 1 }), workerId: a.workerId },
        c.draft(end(), { events: 1 }),
      ];
      const { outcomes } = await t.store.runs.commit({ commits });
      expect(outcomes.map(({ outcome, held }) => [outcome, held])).toEqual([
        ["written", true],
        ["lost", false],
        ["written", false],
      ]);
      const rows = await Promise.all([a, b, c].map(({ runId }) => t.run(runId)));
      expect(rows.map(({ status, heldBy, eventCount }) => [status, heldBy, eventCount])).toEqual([
        ["running", a.workerId, 2],
        ["running", b.workerId, 1],
        ["completed", null, 1],
      ]);
      const again = await t.store.runs.commit({ commits });
      expect(again.outcomes).toEqual(outcomes);
    },

    "an empty call is answered": async (t) => {
      expect(await t.store.runs.commit({ commits: [] })).toMatchObject({ outcomes: [] });
    },

    "consumed is stored, and delivered is answered": async (t) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId));
      await t.deliver(t.ref(holder.runId));
      expect(await holder.commit(HOLD, { consumed: 1 })).toEqual({ outcome: "written", held: true, delivered: 2 });
      expect(await t.run(holder.runId)).toMatchObject({ consumed: 1, delivered: 2 });
    },

    "attributes replace all that were there, and null leaves them": async (t) => {
      const holder = await t.held({ attributes: { region: "eu", tries: 1 } });
      await holder.commit(HOLD);
      expect((await t.run(holder.runId)).attributes).toEqual({ region: "eu", tries: 1 });
      await holder.commit(HOLD, { attributes: { tries: 2 } });
      expect((await t.run(holder.runId)).attributes).toEqual({ tries: 2 });
      await holder.commit(end(), { attributes: {} });
      expect((await t.run(holder.runId)).attributes).toEqual({});
    },

    "the input and the seed stay as they were given": async (t) => {
      const holder = await t.held({ input: bytes('"x"'), seed: "s" });
      await holder.commit(HOLD, { events: 1 });
      await holder.commit(end(), { events: 1 });
      expect(await t.run(holder.runId)).toMatchObject({ input: bytes('"x"'), seed: "s", output: bytes('"done"') });
    },
  },
};
