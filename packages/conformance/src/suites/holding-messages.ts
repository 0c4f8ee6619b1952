import type { DeliverMessage, DeliverMessagesParams, DeliverOutcome } from "holdfast/adapter";
import { expect } from "vitest";
import type { Fixture } from "../fixture.ts";
import { Holder } from "../holder.ts";
import { bytes, CODES, end, LEASE_MS, park, RELEASE, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

type HoldBy = NonNullable<DeliverMessagesParams["holdBy"]>;

/** A run that its worker has suspended. */
async function resting(t: Fixture, namespace = "default"): Promise<Holder> {
  const holder = await t.held(namespace === "default" ? {} : { namespace });
  await holder.commit(suspend(null), { events: 1 });
  return holder;
}

function byWorkerOf(t: Fixture, { workerId }: Holder): HoldBy {
  return { workerId, claimId: t.newId() };
}

/** A message that takes the run as it is. */
function taking(t: Fixture, holder: Holder, fields: Partial<DeliverMessage> = {}): DeliverMessage {
  const { namespace, runId, epoch } = holder;
  return t.newMessage({ namespace, runId }, { hold: { runId, epoch }, ...fields });
}

async function send(t: Fixture, holdBy: HoldBy, ...messages: DeliverMessage[]): Promise<readonly DeliverOutcome[]> {
  return (await t.store.inbox.deliver({ messages, inboxMax: 1_000, holdBy })).outcomes;
}

/** The message is delivered, the run is not taken, and it is due. */
async function expectNotTaken(t: Fixture, holdBy: HoldBy, message: DeliverMessage): Promise<void> {
  const { namespace } = message.to;
  const [outcome] = await send(t, holdBy, message);
  expect(outcome).toMatchObject({ outcome: "delivered" });
  expect(outcome).not.toHaveProperty("held");
  const run = await t.run({ namespace, runId: outcome?.runId as string });
  expect(run).toMatchObject({ heldBy: null, claimId: null });
}

/** What a worker asks for whose delivery was not answered. */
function taken(t: Fixture, holdBy: HoldBy) {
  return t.claim(holdBy.workerId, { claimId: holdBy.claimId, again: true, limit: 0, queues: [], handlers: [] });
}

export const holdingMessages: Suite = {
  noun: "holding messages",
  cases: {
    "a message takes the run for the worker that has suspended it, as a claim would": async (t) => {
      const holder = await resting(t);
      const holdBy = byWorkerOf(t, holder);
      await t.advance(7);
      expect(await send(t, holdBy, taking(t, holder))).toEqual([
        { outcome: "delivered", runId: holder.runId, status: "waiting", held: { number: 1, at: t.now } },
      ]);
      const run = await t.run(holder.runId);
      expect(run).toMatchObject({
        heldBy: holdBy.workerId,
        claimId: holdBy.claimId,
        status: "running",
        epoch: holder.epoch + 1,
        commit: holder.commitNumber,
        delivered: 1,
        consumed: 0,
        availableAt: null,
        waitingFor: [],
        alone: false,
      });
      expect((await t.claim(await t.worker())).runs).toEqual([]);
      const again = new Holder(t.store, holder.workerId, run);
      expect(await again.commit(end(), { consumed: 1 })).toMatchObject({ outcome: "written" });
    },

    "one that sleeps, was released or is compensating is taken as well, and keeps what it is": async (t) => {
      const asleep = await t.held();
      await asleep.commit(suspend(t.now + 5_000));
      const released = await t.held();
      await released.commit(RELEASE);
      const undoing = await t.held();
      await undoing.commit(suspend(null, { status: "compensating" }));
      for (const holder of [asleep, released, undoing]) {
        const [outcome] = await send(t, byWorkerOf(t, holder), taking(t, holder));
        expect(outcome).toHaveProperty("held");
        const status = holder === undoing ? "compensating" : "running";
        expect(await t.run(holder.runId)).toMatchObject({ heldBy: holder.workerId, availableAt: null, status });
      }
    },

    "the run may be named by its id, and is taken only if it is the one that is meant": async (t) => {
      const holder = await resting(t);
      const { id } = await t.run(holder.runId);
      const other = await resting(t);
      const to = { namespace: "default", id };
      await expectNotTaken(
        t,
        byWorkerOf(t, holder),
        taking(t, holder, { to, hold: { runId: other.runId, epoch: holder.epoch } }),
      );
      const [outcome] = await send(t, byWorkerOf(t, holder), taking(t, holder, { to }));
      expect(outcome).toMatchObject({ held: { number: 2 } });
    },

    "a run to which something has happened since is not taken": async (t) => {
      for (const epoch of [-1, 1]) {
        const holder = await resting(t);
        const message = taking(t, holder, { hold: { runId: holder.runId, epoch: holder.epoch + epoch } });
        await expectNotTaken(t, byWorkerOf(t, holder), message);
        expect(await t.run(holder.runId)).toMatchObject({ availableAt: t.now, epoch: holder.epoch });
      }
    },

    "a run that is held stays with its holder": async (t) => {
      const holder = await t.held();
      const thief = { workerId: await t.worker(), claimId: t.newId() };
      const [outcome] = await send(t, thief, taking(t, holder));
      expect(outcome).toEqual({ outcome: "delivered", runId: holder.runId, status: "running" });
      expect(await t.run(holder.runId)).toMatchObject({ heldBy: holder.workerId, epoch: holder.epoch });
    },

    "a run that is parked, by its code or by a person, is not taken": async (t) => {
      const buggy = await t.held();
      await buggy.commit(park("a bug", CODES[0]));
      await expectNotTaken(t, byWorkerOf(t, buggy), taking(t, buggy));
      const paused = await resting(t);
      await t.pause(t.ref(paused.runId));
      const { epoch } = await t.run(paused.runId);
      const hold = { runId: paused.runId, epoch };
      await expectNotTaken(t, byWorkerOf(t, paused), taking(t, paused, { hold }));
      await expectNotTaken(t, byWorkerOf(t, paused), taking(t, paused, { hold, kind: "cancel", name: "" }));
      for (const { runId } of [buggy, paused]) expect(await t.run(runId)).toMatchObject({ heldBy: null });
    },

    "a suspect is not taken: it is claimed alone": async (t) => {
      const holder = await t.held();
      await t.advance(LEASE_MS * 2);
      await t.sweep({ suspectAfter: 1 });
      const { epoch, suspect } = await t.run(holder.runId);
      expect(suspect).toBe(true);
      const holdBy = { workerId: await t.worker(), claimId: t.newId() };
      await expectNotTaken(t, holdBy, taking(t, holder, { hold: { runId: holder.runId, epoch } }));
    },

    "a worker that is offline, unknown or of another namespace gets nothing": async (t) => {
      const holder = await resting(t);
      const stopped = await t.worker();
      await t.store.workers.stop({ namespace: "default", workerId: stopped });
      const foreign = await t.worker({ namespace: "other" });
      for (const workerId of [stopped, foreign, t.newId()])
        await expectNotTaken(t, { workerId, claimId: t.newId() }, taking(t, holder));
    },

    "what is not delivered takes nothing": async (t) => {
      const holder = await resting(t);
      const holdBy = byWorkerOf(t, holder);
      const known = taking(t, holder);
      const { hold: _hold, ...before } = known;
      await t.store.inbox.deliver({ messages: [before], inboxMax: 1_000 });
      expect(await send(t, holdBy, known)).toEqual([{ outcome: "duplicate", runId: holder.runId, status: "waiting" }]);
      const { outcomes } = await t.store.inbox.deliver({ messages: [taking(t, holder)], inboxMax: 1, holdBy });
      expect(outcomes).toEqual([{ outcome: "full", runId: holder.runId, status: "waiting" }]);
      expect(await t.run(holder.runId)).toMatchObject({ heldBy: null, epoch: holder.epoch, delivered: 1 });
      const done = await t.held();
      await done.commit(end());
      expect(await send(t, byWorkerOf(t, done), taking(t, done))).toMatchObject([{ outcome: "closed" }]);
      expect(await t.run(done.runId)).toMatchObject({ heldBy: null, status: "completed" });
    },

    "messages of one call take their run once, and all of them say so": async (t) => {
      const holder = await resting(t);
      const other = await resting(t);
      const free = await resting(t);
      const outcomes = await send(
        t,
        byWorkerOf(t, holder),
        taking(t, holder),
        t.newMessage(t.ref(free.runId)),
        taking(t, other),
        t.newMessage(t.ref(holder.runId)),
        taking(t, holder),
      );
      const held = (number: number) => ({ number, at: t.now });
      expect(outcomes).toMatchObject([{ held: held(1) }, {}, { held: held(1) }, { held: held(2) }, { held: held(3) }]);
      expect(outcomes[1]).not.toHaveProperty("held");
      expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => "waiting"));
      expect(await t.run(holder.runId)).toMatchObject({ epoch: holder.epoch + 1, delivered: 3 });
      expect(await t.run(free.runId)).toMatchObject({ heldBy: null, availableAt: t.now });
    },

    "a message that comes before the one that takes the run belongs to it too": async (t) => {
      const holder = await resting(t);
      const outcomes = await send(
        t,
        byWorkerOf(t, holder),
        t.newMessage(t.ref(holder.runId)),
        taking(t, holder, { payload: bytes("2") }),
      );
      expect(outcomes).toMatchObject([{ held: { number: 1 } }, { held: { number: 2 } }]);
      expect(await t.run(holder.runId)).toMatchObject({ heldBy: holder.workerId, availableAt: null });
    },

    "a message that is unread counts on": async (t) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId));
      await holder.commit(RELEASE);
      expect(await send(t, byWorkerOf(t, holder), taking(t, holder))).toMatchObject([{ held: { number: 2 } }]);
      expect(await t.run(holder.runId)).toMatchObject({ delivered: 2, consumed: 0 });
    },

    "a repetition takes nothing; what the first call has taken is found under its claim": async (t) => {
      const holder = await resting(t);
      const holdBy = byWorkerOf(t, holder);
      const message = taking(t, holder);
      await send(t, holdBy, message);
      const before = await t.run(holder.runId);
      const [again] = await send(t, holdBy, message);
      expect(again).toEqual({ outcome: "duplicate", runId: holder.runId, status: "running" });
      expect(await t.run(holder.runId)).toEqual(before);
      const { live, runs, messages } = await taken(t, holdBy);
      expect({ live, runs }).toEqual({ live: true, runs: [before] });
      expect(messages.map(({ messageId }) => messageId)).toEqual([message.messageId]);
    },

    "a late copy of a call takes nothing from its run once that has been suspended again": async (t) => {
      const holder = await resting(t);
      const holdBy = byWorkerOf(t, holder);
      const message = taking(t, holder);
      await send(t, holdBy, message);
      const again = new Holder(t.store, holder.workerId, await t.run(holder.runId));
      await again.commit(suspend(null), { consumed: 1 });
      const before = await t.run(holder.runId);
      await send(t, holdBy, message);
      expect(await t.run(holder.runId)).toEqual(before);
    },

    "nothing is found, and nothing claimed, under a claim that has taken nothing": async (t) => {
      await t.start();
      const workerId = await t.worker();
      const { runs } = await taken(t, { workerId, claimId: t.newId() });
      expect(runs).toEqual([]);
      const { runs: none } = await t.claim(workerId, { again: true, limit: 0 });
      expect(none).toEqual([]);
    },

    "a run that was taken is returned by a sweep like any other": async (t) => {
      const holder = await resting(t);
      await send(t, byWorkerOf(t, holder), taking(t, holder));
      await t.advance(LEASE_MS * 2);
      expect(await t.sweep()).toMatchObject({ dead: 1, returned: 1 });
      expect(await t.run(holder.runId)).toMatchObject({ heldBy: null, epoch: holder.epoch + 2, availableAt: t.now });
    },
  },
};
