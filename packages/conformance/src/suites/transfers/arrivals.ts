import type { RunImage } from "holdfast/adapter";
import { expect } from "vitest";
import type { Fixture } from "../../fixture.ts";
import { bytes, end, errorRecord, RELEASE, suspend } from "../../sample-data.ts";
import { byToken, COMPLETED } from "../../sample-tasks.ts";
import type { Suite } from "../../suite.ts";

/** The image of a run of another store: everything of it has other ids than here. */
async function foreign(t: Fixture, runId: string, id = `there ${runId}`): Promise<RunImage> {
  const image = await t.transfers.image(runId);
  const newId = t.newId();
  const run = { ...image.run, runId: newId, firstRunId: newId, id, heldBy: null, claimId: null };
  return { ...image, run, messages: image.messages.map((message) => ({ ...message, runId: newId })) };
}

/** Runs that arrive from another store. */
export const arrivals: Suite = {
  noun: "arrivals",
  cases: {
    "a run that comes back is as it was when it left": async (t) => {
      const holder = await t.held({ timeoutMs: 90_000, attributes: { a: "b", n: 1 }, key: "k", priority: 3 });
      await t.deliver(t.ref(holder.runId), { messageId: "one" });
      await holder.commit(suspend(t.now + 50), { events: 2, consumed: 1 });
      await t.deliver(t.ref(holder.runId), { messageId: "two", kind: "cancel", name: "why" });
      await t.advance(10);
      const image = await t.transfers.departed(holder.runId);
      await t.advance(10);
      expect(await t.transfers.arrive(image, { epoch: 3 })).toBe("arrived");
      expect(await t.run(holder.runId)).toEqual({ ...image.run, epoch: 3 });
      expect(await t.history(holder.runId)).toEqual(image.events);
      expect(await t.inbox(holder.runId)).toEqual(image.messages);
      expect(await t.transfers.rest(holder.runId)).toEqual(image.rest);
      expect(await t.store.transfers.departures({ namespace: "default", limit: 9 })).toEqual([]);
    },

    "it can be claimed when it is due, and goes on": async (t) => {
      const holder = await t.held();
      await holder.commit(suspend(t.now + 50), { events: 2 });
      const image = await t.transfers.departed(holder.runId);
      await t.transfers.arrive(image, { epoch: 3 });
      const worker = await t.worker();
      expect((await t.claim(worker)).runs).toEqual([]);
      await t.advance(50);
      const again = await t.claimOne(worker);
      expect(again).toMatchObject({ runId: holder.runId, epoch: 4, eventCount: 2 });
      expect(await again.commit(end(), { events: 1 })).toMatchObject({ outcome: "written" });
    },

    "its messages are known, also those that earlier runs of its chain have had": async (t) => {
      const first = await t.held({ id: "chain" });
      await t.deliver(t.ref(first.runId), { messageId: "early" });
      const next = t.newRun({ id: "chain" });
      await first.commit({ type: "continue", next, carried: [] }, { consumed: 1 });
      await t.deliver(t.ref(next.runId), { messageId: "late" });
      const image = await t.transfers.departed(next.runId);
      expect(image.rest.knownIds.map(({ messageId }) => messageId)).toEqual(["early"]);
      await t.advance(1);
      await t.store.runs.purge({ namespace: "default", endedBefore: t.now, statuses: ["continued"], limit: 9 });
      await t.transfers.arrive(image, { epoch: image.run.epoch + 1 });
      for (const messageId of ["early", "late"])
        expect(await t.deliver({ namespace: "default", id: "chain" }, { messageId })).toMatchObject({
          outcome: "duplicate",
        });
      expect((await t.inbox(next.runId)).map(({ messageId }) => messageId)).toEqual(["late"]);
      expect(await t.run(first.runId)).toMatchObject({ runId: next.runId });
    },

    "its tasks can be claimed, and its tokens are valid": async (t) => {
      const { holder, key } = await t.tasks.scheduled({ totalTimeoutMs: 5_000 });
      const secret = "f".repeat(32);
      const [person] = await holder.schedule([{ op: "person", name: "person", external: true, secret }]);
      await holder.commit(suspend(null));
      const before = [await t.tasks.read(key), await t.tasks.read(person as never)];
      const image = await t.transfers.departed(holder.runId);
      expect(await t.tasks.finish(before[1] as never, COMPLETED, byToken({ secret }, "f"))).not.toBe("done");
      await t.transfers.arrive(image, { epoch: image.run.epoch + 1 });
      expect([await t.tasks.read(key), await t.tasks.read(person as never)]).toEqual(before);
      const task = await t.tasks.claimOne(await t.worker());
      expect(task).toMatchObject({ ...key, epoch: 1, input: bytes(`"input ${key.seq}"`) });
      expect(await t.tasks.finish(before[1] as never, COMPLETED, byToken({ secret }, "f"))).toBe("done");
      expect(await t.tasks.finish(task, COMPLETED)).toBe("done");
      expect(await t.inbox(holder.runId)).toHaveLength(2);
    },

    "a parked run stays parked, and knows why": async (t) => {
      const { run } = await t.start();
      await t.pause(t.ref(run.runId));
      const paused = await t.run(run.runId);
      const image = await t.transfers.departed(run.runId);
      await t.transfers.arrive(image, { epoch: image.run.epoch + 1 });
      const { status, error, availableAt } = paused;
      expect(await t.run(run.runId)).toMatchObject({ status, error, availableAt });
      expect(await t.resume(t.ref(run.runId))).toMatchObject({ resumed: true });
    },

    "a run arrives once for each departure, even if it has ended and was purged since": async (t) => {
      const { run } = await t.start({ id: "here" });
      const image = await foreign(t, run.runId, "there");
      expect(await t.transfers.arrive(image)).toBe("arrived");
      expect(await t.transfers.arrive(image)).toBe("arrived");
      await t.store.runs.terminate({ runs: [t.ref(image.run.runId)], error: errorRecord("over") });
      await t.advance(1);
      const purge = { namespace: "default", endedBefore: t.now, limit: 9 };
      expect(await t.store.runs.purge(purge)).toMatchObject({ purged: 1 });
      expect(await t.transfers.arrive(image)).toBe("arrived");
      expect(await t.store.runs.read({ runs: [t.ref(image.run.runId)] })).toEqual([null]);
    },

    "a run does not arrive where its id is open, or has a newer run; it never does later": async (t) => {
      const { run } = await t.start({ id: "taken" });
      const older = await foreign(t, run.runId, "taken");
      const image = { ...older, run: { ...older.run, createdAt: older.run.createdAt + 1 } };
      expect(await t.transfers.arrive(image)).toBe("id_taken");
      await t.store.runs.terminate({ runs: [t.ref(run.runId)], error: errorRecord("over") });
      expect(await t.transfers.arrive(image)).toBe("id_taken");
      const { createdAt, epoch } = older.run;
      expect(await t.transfers.arrive(image, { epoch: epoch + 1, createdAt })).toBe("id_taken");
      expect(await t.transfers.arrive(image, { epoch: epoch + 2 })).toBe("arrived");
      expect(await t.run({ namespace: "default", id: "taken" })).toMatchObject({ runId: image.run.runId });
    },

    "a run id that exists is not written again": async (t) => {
      const { run } = await t.start();
      const image = await t.transfers.image(run.runId);
      expect(await t.transfers.arrive(image, { epoch: 9 })).toBe("exists");
      expect(await t.run(run.runId)).toEqual(image.run);
      const left = await t.transfers.departed(run.runId);
      expect(await t.transfers.arrive(left, { epoch: 1 })).toBe("exists");
    },

    "a closed run arrives as it ended, and nothing of it can be claimed": async (t) => {
      const { holder, task } = await t.tasks.held();
      await t.tasks.finish(task, { type: "failed", payload: bytes("{}"), failures: [], keep: true });
      await holder.commit(end({ status: "failed", output: null, error: errorRecord("no") }), {
        events: 1,
        consumed: 1,
      });
      const image = await foreign(t, holder.runId);
      expect(image.rest.tasks).toEqual([]);
      expect(await t.transfers.arrive(image)).toBe("arrived");
      expect(await t.transfers.arrive(image)).toBe("exists");
      expect(await t.run(image.run.runId)).toEqual(image.run);
      expect(await t.history(image.run.runId)).toEqual(image.events);
      expect((await t.claim(await t.worker())).runs).toEqual([]);
      expect(await t.store.runs.purge({ namespace: "default", endedBefore: t.now + 1, limit: 9 })).toMatchObject({
        purged: 2,
      });
    },

    "closed runs of an id arrive newest first, behind all that are here": async (t) => {
      const { run } = await t.start({ id: "many" });
      const open = await foreign(t, run.runId, "many");
      await t.store.runs.terminate({ runs: [t.ref(run.runId)], error: errorRecord("over") });
      const image = await foreign(t, run.runId, "many");
      expect(await t.transfers.arrive(image)).toBe("id_taken");
      for (const ms of [1, 2]) {
        const fields = { createdAt: image.run.createdAt - ms, runId: t.newId() };
        expect(await t.transfers.arrive(image, { ...fields, firstRunId: fields.runId })).toBe("arrived");
      }
      expect(await t.run({ namespace: "default", id: "many" })).toMatchObject({ runId: run.runId });
      expect(open.run.status).toBe("pending");
      const listed = await t.store.runs.list({ namespace: "default", id: "many", limit: 9 });
      expect(listed.map(({ createdAt }) => run.createdAt - createdAt)).toEqual([0, 1, 2]);
    },

    "a child and a fork say where they come from": async (t) => {
      const parent = await t.held();
      const child = await t.talks.heldChild(parent, { policy: "abandon" });
      await child.commit(RELEASE);
      const image = await foreign(t, child.runId);
      const forkedFrom = { runId: t.newId(), id: "origin" };
      expect(await t.transfers.arrive(image)).toBe("arrived");
      expect((await t.run(image.run.runId)).lineage).toEqual(image.run.lineage);
      const { lineage: _lineage, ...run } = (await foreign(t, child.runId, "fork")).run;
      expect(await t.transfers.arrive({ ...image, messages: [], run: { ...run, forkedFrom } })).toBe("arrived");
      expect((await t.run(run.runId)).forkedFrom).toEqual(forkedFrom);
    },

    "what the run has answered is still the answer": async (t) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId), { messageId: "ask", kind: "update", name: "x" });
      await holder.commit(suspend(null), { events: 1, consumed: 1, replies: [{ number: 1, seq: 1 }] });
      const ask = { updates: [{ run: t.ref(holder.runId), messageId: "ask" }] };
      const [before] = await t.store.inbox.replies(ask);
      const image = await t.transfers.departed(holder.runId);
      await t.transfers.arrive(image, { epoch: image.run.epoch + 1 });
      expect(await t.store.inbox.replies(ask)).toEqual([before]);
      expect(before).toMatchObject({ stage: "answered", event: { seq: 1 } });
    },
  },
};
