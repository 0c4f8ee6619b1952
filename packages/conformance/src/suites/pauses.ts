import { isOrder, type MessageKind, parkNote, resumeNote } from "holdfast/adapter";
import { expect } from "vitest";
import { due, ended, expectHints } from "../expected-hints.ts";
import { type Fixture, PAUSED } from "../fixture.ts";
import { Holder } from "../holder.ts";
import { bytes, CODES, end, errorRecord, HOLD, park, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

const { meta: PAUSE_META } = parkNote(PAUSED);
const PAUSE = { type: "park", error: PAUSED, paused: true, unlessBehind: true } as const;

/** Runs that a person stops and lets go on, and what is recorded of every park and resume. */
export const pauses: Suite = {
  noun: "pauses",
  cases: {
    "a suspended run is parked, with the event, and no longer due": async (t) => {
      const holder = await t.held();
      await holder.commit(suspend(t.now + 700, { waitingFor: ["sleep"] }), { events: 1 });
      await t.advance(5);
      const before = await t.run(holder.runId);
      expect(await t.pause(t.ref(holder.runId))).toEqual({ outcome: "parked" });
      expect(await t.run(holder.runId)).toEqual({
        ...before,
        status: "parked",
        epoch: before.epoch + 1,
        eventCount: 2,
        availableAt: null,
        waitingFor: [],
        error: PAUSED,
      });
      expect((await t.history(holder.runId)).at(-1)).toEqual({
        seq: 2,
        type: "run_parked",
        op: null,
        at: t.now,
        meta: PAUSE_META,
      });
      await t.advance(1_000);
      expect((await t.claim(await t.worker())).runs).toEqual([]);
    },

    "a resume makes it due, with the event": async (t) => {
      const holder = await t.held();
      await holder.commit(suspend(null));
      await t.pause(t.ref(holder.runId));
      await t.advance(5);
      const before = await t.run(holder.runId);
      expect(await t.resume(t.ref(holder.runId), { event: resumeNote({ by: "ben", reason: "on" }) })).toEqual({
        resumed: true,
        status: "running",
        pauses: false,
      });
      expect(await t.run(holder.runId)).toEqual({
        ...before,
        status: "running",
        epoch: before.epoch + 1,
        eventCount: 2,
        availableAt: t.now,
        error: null,
      });
      expect((await t.history(holder.runId)).at(-1)).toEqual({
        seq: 2,
        type: "run_resumed",
        op: null,
        at: t.now,
        meta: { by: "ben", reason: "on" },
      });
    },

    "a run that was never claimed keeps its start time: it is pending again, and due then": async (t) => {
      const { run } = await t.start({ startDelayMs: 1_000 });
      const dueAt = run.availableAt as number;
      await t.pause(t.ref(run.runId));
      expect(await t.run(run.runId)).toMatchObject({ status: "parked", availableAt: null, startedAt: null });
      expect(await t.resume(t.ref(run.runId), { dueAt })).toMatchObject({ resumed: true, status: "pending" });
      expect(await t.run(run.runId)).toMatchObject({ status: "pending", availableAt: dueAt, startedAt: null });
      await t.pause(t.ref(run.runId));
      await t.advance(5_000);
      await t.resume(t.ref(run.runId), { dueAt });
      expect(await t.run(run.runId)).toMatchObject({ status: "pending", availableAt: t.now });
    },

    "a later due time is not after the deadline": async (t) => {
      const { run } = await t.start({ startDelayMs: 1_000, timeoutMs: 5_000 });
      await t.pause(t.ref(run.runId));
      await t.resume(t.ref(run.runId), { dueAt: t.now + 9_000 });
      expect((await t.run(run.runId)).availableAt).toBe(run.deadlineAt);
    },

    "a pause or a resume with another epoch changes nothing": async (t) => {
      const holder = await t.held();
      await holder.commit(suspend(null));
      const idle = await t.run(holder.runId);
      for (const epoch of [idle.epoch - 1, idle.epoch + 1])
        expect(await t.pause(t.ref(holder.runId), { epoch })).toEqual({ outcome: "moved" });
      expect(await t.run(holder.runId)).toEqual(idle);
      await t.pause(t.ref(holder.runId));
      const paused = await t.run(holder.runId);
      for (const epoch of [paused.epoch - 1, paused.epoch + 1])
        expect(await t.resume(t.ref(holder.runId), { epoch })).toMatchObject({ resumed: false, status: "parked" });
      expect(await t.pause(t.ref(holder.runId), { epoch: idle.epoch })).toEqual({ outcome: "moved" });
      expect(await t.run(holder.runId)).toEqual(paused);
      expect(await t.history(holder.runId)).toHaveLength(1);
    },

    "a run that is held, has ended or does not exist is not paused": async (t) => {
      const held = await t.held();
      const done = await t.held();
      await done.commit(end());
      const before = [await t.run(held.runId), await t.run(done.runId)];
      expect(await t.pause(t.ref(held.runId))).toEqual({ outcome: "held" });
      expect(await t.pause(t.ref(done.runId))).toEqual({ outcome: "moved" });
      expect(await t.pause(t.ref(t.newId()))).toEqual({ outcome: "not_found" });
      expect([await t.run(held.runId), await t.run(done.runId)]).toEqual(before);
    },

    "a run that is parked for another reason can be paused: then no code takes it up": async (t) => {
      const holder = await t.held();
      await holder.commit(park("a bug", CODES[0]));
      expect(await t.pause(t.ref(holder.runId))).toEqual({ outcome: "parked" });
      const paused = await t.run(holder.runId);
      expect(paused).toMatchObject({ status: "parked", error: PAUSED, eventCount: 2 });
      expect(await takeUp(t, CODES[1])).toEqual({ live: true, taken: 0, more: false });
      expect(await takeUp(t, "f".repeat(32))).toEqual({ live: true, taken: 0, more: false });
      expect(await t.run(holder.runId)).toEqual(paused);
    },

    "an unread order keeps a run from being paused; anything else waits in its inbox": async (t) => {
      const kinds: readonly MessageKind[] = ["signal", "update", "cancel", "pause", "resume"];
      for (const kind of kinds) {
        const holder = await t.held();
        await holder.commit(suspend(null));
        await t.deliver(t.ref(holder.runId), { kind, payload: bytes("") });
        const outcome = isOrder(kind) ? "behind" : "parked";
        expect(await t.pause(t.ref(holder.runId))).toEqual({ outcome });
        expect((await t.run(holder.runId)).delivered).toBe(1);
      }
    },

    "a pause or a resume is delivered to a run that is not parked, and refused by one that is": async (t) => {
      for (const kind of ["pause", "resume"] as const) {
        const holder = await t.held();
        const message = { kind, name: "why", messageId: t.newId(), payload: bytes('"ana"') };
        expect(await t.deliver(t.ref(holder.runId), message)).toMatchObject({ outcome: "delivered" });
        expect(await t.inbox(holder.runId)).toMatchObject([{ kind, name: "why", payload: bytes('"ana"') }]);
        await holder.commit(park("odd"), { consumed: 1 });
        expect(await t.deliver(t.ref(holder.runId), { kind })).toEqual({
          outcome: "parked",
          runId: holder.runId,
          status: "parked",
        });
        // The order of outcomes: it was delivered before.
        expect(await t.deliver(t.ref(holder.runId), message)).toMatchObject({ outcome: "duplicate" });
        await t.store.runs.terminate({ runs: [t.ref(holder.runId)], error: errorRecord("stop") });
        expect(await t.deliver(t.ref(holder.runId), { kind })).toMatchObject({ outcome: "closed" });
        expect(await t.inbox(holder.runId)).toHaveLength(1);
      }
    },

    "a pause or a resume that names an epoch is for that one: a late copy changes nothing": async (t) => {
      for (const kind of ["pause", "resume"] as const) {
        const holder = await t.held();
        const message = { kind, messageId: t.newId(), payload: bytes(""), epoch: 1 };
        for (const epoch of [0, 2])
          expect(await t.deliver(t.ref(holder.runId), { ...message, epoch })).toEqual({
            outcome: "moved",
            runId: holder.runId,
            status: "running",
          });
        await holder.commit(suspend(null));
        await t.pause(t.ref(holder.runId));
        expect(await t.deliver(t.ref(holder.runId), message)).toMatchObject({ outcome: "parked" });
        await t.resume(t.ref(holder.runId));
        expect(await t.deliver(t.ref(holder.runId), message)).toMatchObject({ outcome: "moved" });
        const { epoch } = await t.run(holder.runId);
        expect(await t.inbox(holder.runId)).toEqual([]);
        expect(await t.deliver(t.ref(holder.runId), { ...message, epoch })).toMatchObject({ outcome: "delivered" });
        // The order of outcomes: it was delivered before.
        expect(await t.deliver(t.ref(holder.runId), message)).toMatchObject({ outcome: "duplicate" });
        expect(await t.inbox(holder.runId)).toHaveLength(1);
      }
    },

    "a pause that names an epoch does not follow a run that continues as new": async (t) => {
      const holder = await t.held({ id: "a" });
      const next = t.newId();
      await holder.commit({ type: "continue", next: t.newRun({ id: "a", runId: next }), carried: [] });
      const message = { kind: "pause", messageId: t.newId(), payload: bytes("") } as const;
      const { epoch } = await t.run(next);
      for (const named of [epoch, 1])
        expect(await t.deliver(t.ref(holder.runId), { ...message, epoch: named })).toMatchObject({
          outcome: "moved",
          runId: next,
        });
      expect(await t.deliver(t.ref(next), { ...message, epoch })).toMatchObject({ outcome: "delivered" });
    },

    "messages that are refused for their epoch do not fill the inbox": async (t) => {
      const { runId } = await t.held();
      const to = t.ref(runId);
      const kinds = ["pause", "signal", "pause", "signal"] as const;
      const messages = kinds.map((kind) => t.newMessage(to, kind === "pause" ? { kind, epoch: 7 } : { kind }));
      const { outcomes } = await t.store.inbox.deliver({ messages, inboxMax: 2 });
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(["moved", "delivered", "moved", "delivered"]);
    },

    "a resume says whether a pause is unread": async (t) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId), { kind: "pause", payload: bytes("") });
      await holder.commit(park("a bug"));
      expect(await t.resume(t.ref(holder.runId))).toEqual({ resumed: true, status: "running", pauses: true });
      const other = await t.held();
      await t.deliver(t.ref(other.runId));
      await other.commit(park("a bug"));
      expect(await t.resume(t.ref(other.runId))).toEqual({ resumed: true, status: "running", pauses: false });
    },

    "the holder's own pause is not written while messages are unread, and then is": async (t) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId));
      expect(await holder.commit(PAUSE, { events: 2 })).toMatchObject({ outcome: "behind", held: true, delivered: 1 });
      expect(await t.run(holder.runId)).toMatchObject({ status: "running", commit: 0, eventCount: 0 });
      expect(await t.history(holder.runId)).toEqual([]);
      const commit = holder.draft(PAUSE, { events: 2, consumed: 1 });
      expect(await holder.send(commit)).toMatchObject({ outcome: "written", held: false });
      expect(await holder.send(commit)).toMatchObject({ outcome: "written", held: false });
      expect(await t.run(holder.runId)).toMatchObject({
        status: "parked",
        commit: 1,
        eventCount: 3,
        epoch: 1,
        error: PAUSED,
      });
      expect((await t.history(holder.runId)).at(-1)).toMatchObject({ seq: 3, type: "run_parked", meta: PAUSE_META });
      expect(await takeUp(t, CODES[1])).toMatchObject({ taken: 0 });
    },

    "a park for another reason is written although messages are unread, with its event": async (t) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId));
      await t.advance(5);
      await holder.commit(park("a bug", CODES[0]));
      expect(await t.run(holder.runId)).toMatchObject({ status: "parked", eventCount: 1 });
      const { meta } = parkNote(errorRecord("a bug"));
      expect(await t.history(holder.runId)).toEqual([{ seq: 1, type: "run_parked", op: null, at: t.now, meta }]);
    },

    "a run that the sweep parks has the event, and its time does not go back": async (t) => {
      const holder = await t.held();
      const at = t.now + 1_000_000_000;
      await holder.commit(HOLD, { events: [{ seq: 1, type: "side_effect", op: "x", at, payload: bytes("1") }] });
      for (let deaths = 0; deaths < 4; deaths++) {
        await t.advance(60_000);
        await t.sweep();
        await t.claim(await t.worker(), { solo: deaths >= 1 });
      }
      expect(await t.run(holder.runId)).toMatchObject({ status: "parked", eventCount: 2 });
      const { meta } = parkNote(errorRecord("it kills its workers"));
      expect((await t.history(holder.runId)).at(-1)).toEqual({ seq: 2, type: "run_parked", op: null, at, meta });
    },

    "a cancel makes a paused run due, with who sent it; a parked one it does not": async (t) => {
      const [paused, parked] = [await t.held(), await t.held()];
      await paused.commit(suspend(null));
      await t.pause(t.ref(paused.runId));
      await parked.commit(park("a bug", CODES[0]));
      await t.advance(5);
      const before = await t.run(paused.runId);
      const cancel = { kind: "cancel", name: "enough", payload: bytes('"ben"') } as const;
      expect(await t.deliver(t.ref(paused.runId), cancel)).toMatchObject({ outcome: "delivered", status: "parked" });
      expect(await t.deliver(t.ref(parked.runId), cancel)).toMatchObject({ outcome: "delivered", status: "parked" });
      expect(await t.run(paused.runId)).toEqual({
        ...before,
        status: "running",
        epoch: before.epoch + 1,
        eventCount: before.eventCount + 1,
        delivered: 1,
        availableAt: t.now,
        error: null,
      });
      expect((await t.history(paused.runId)).at(-1)).toEqual({
        seq: 2,
        type: "run_resumed",
        op: null,
        at: t.now,
        meta: { by: "ben", reason: "enough" },
      });
      expect(await t.run(parked.runId)).toMatchObject({ status: "parked", eventCount: 1 });
      expect(await t.deliver(t.ref(paused.runId), cancel)).toMatchObject({ outcome: "delivered", status: "running" });
      expect(await t.history(paused.runId)).toHaveLength(2);
    },

    "a cancel without a word leaves an event without one": async (t) => {
      const { run } = await t.start({ startDelayMs: 1_000 });
      await t.pause(t.ref(run.runId));
      await t.deliver(t.ref(run.runId), { kind: "cancel", name: "", payload: bytes("") });
      expect(await t.run(run.runId)).toMatchObject({ status: "pending", availableAt: t.now });
      expect((await t.history(run.runId)).at(-1)).toEqual({ seq: 2, type: "run_resumed", op: null, at: t.now });
    },

    "neither a message nor its deadline makes a paused run due, nor ends it": async (t) => {
      const begun = await t.held({ timeoutMs: 2_000 });
      await begun.commit(suspend(null));
      const unbegun = (await t.start({ timeoutMs: 2_000, startDelayMs: 500 })).run;
      for (const runId of [begun.runId, unbegun.runId]) {
        await t.pause(t.ref(runId));
        await t.deliver(t.ref(runId));
      }
      await t.advance(600_000);
      expect(await t.sweep()).toMatchObject({ timedOut: 0 });
      for (const runId of [begun.runId, unbegun.runId])
        expect(await t.run(runId)).toMatchObject({ status: "parked", availableAt: null, delivered: 1 });
      await t.resume(t.ref(unbegun.runId));
      expect(await t.sweep()).toMatchObject({ timedOut: 1 });
    },

    "who waits for a result is told of a pause, and workers of a resume": async (t) => {
      const holder = await t.held({ queue: "q" });
      await holder.commit(suspend(null));
      await expectHints(t, [ended(holder.runId)], () => t.pause(t.ref(holder.runId)));
      await expectHints(t, [due("q")], () => t.resume(t.ref(holder.runId)));
      const { run } = await t.start({ queue: "q", startDelayMs: 5_000 });
      await t.pause(t.ref(run.runId));
      const dueAt = run.availableAt as number;
      await expectHints(t, [due("q", dueAt)], () => t.resume(t.ref(run.runId), { dueAt }));
    },

    "of a pause and a claim at the same time one has the run": async (t) => {
      const second = await t.second();
      for (let round = 0; round < 5; round++) {
        const holder = await t.held();
        await holder.commit(suspend(t.now - 1));
        const { epoch } = await t.run(holder.runId);
        const workerId = await t.worker();
        const run = t.ref(holder.runId);
        const [{ outcome }, { runs }] = await Promise.all([
          t.store.runs.pauseIfIdle({ run, epoch, error: PAUSED }),
          second.runs.claim(t.claimParams(workerId)),
        ]);
        const row = await t.run(holder.runId);
        if (outcome === "parked") expect([runs.length, row.status]).toEqual([0, "parked"]);
        else expect([["moved", "held", "busy"].includes(outcome), row.heldBy]).toEqual([true, workerId]);
        if (row.heldBy !== null) await new Holder(t.store, workerId, row).commit(end());
      }
    },
  },
};

async function takeUp(t: Fixture, code: string) {
  const handlers = [{ workflow: "order", version: "1", code }];
  const where = { namespace: "default", queues: ["default"], handlers, limit: 100 };
  const event = resumeNote({ by: "worker" });
  return t.store.runs.holdIfParkedByOtherCode({ workerId: await t.worker(), claimId: t.newId(), ...where, event });
}
