import type { CarriedMessage, NewRun, Transition } from "holdfast/adapter";
import { expect } from "vitest";
import type { Fixture } from "../fixture.ts";
import { Holder } from "../holder.ts";
import { bytes, end } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

/** Continue-as-new: a run ends, and its successor gets its id, its inbox and its known message ids. */
export const continuations: Suite = {
  noun: "continuations",
  cases: {
    "the run ends as continued and its successor begins": async (t) => {
      const holder = await t.held({ id: "a", attributes: { old: 1 } });
      await t.advance(30);
      const next = t.newRun({
        id: "a",
        version: "2",
        input: bytes("2"),
        seed: "s2",
        priority: 4,
        attributes: { n: 2 },
      });
      expect(await holder.commit(continueAs(next), { events: 2 })).toEqual({
        outcome: "written",
        held: false,
        delivered: 0,
      });
      expect(await t.run(holder.runId)).toMatchObject({
        status: "continued",
        continuedAs: next.runId,
        endedAt: t.now,
        heldBy: null,
        claimId: null,
        availableAt: null,
        output: null,
        error: null,
        eventCount: 2,
      });
      expect(await t.run(next.runId)).toMatchObject({
        ...next,
        status: "pending",
        epoch: 0,
        commit: 0,
        firstRunId: holder.runId,
        continuedFrom: holder.runId,
        continuedAs: null,
        availableAt: t.now,
        createdAt: t.now,
        startedAt: null,
        heldBy: null,
        eventCount: 0,
        delivered: 0,
        consumed: 0,
        deadlineAt: null,
      });
      expect(await t.history(next.runId)).toEqual([]);
    },

    "the successor is the newest run of the id, even within one millisecond": async (t) => {
      const { holder, next } = await continued(t, { runId: "00000000-0000-7000-8000-000000000000" });
      expect(await t.run({ namespace: "default", id: "a" })).toMatchObject({ runId: next.runId });
      expect((await t.run(next.runId)).createdAt).toBeGreaterThan((await t.run(holder.runId)).createdAt);
      expect(await t.start({ id: "a" }, { ifRunning: "return", ifClosed: "start" })).toMatchObject({
        outcome: "returned",
        run: { runId: next.runId },
      });
    },

    "a delay and a timeout of the successor count from its creation": async (t) => {
      const holder = await t.held({ id: "a", timeoutMs: 50 });
      await t.advance(10);
      const next = t.newRun({ id: "a", startDelayMs: 200, timeoutMs: 900 });
      await holder.commit(continueAs(next));
      const due = { availableAt: t.now + 200, deadlineAt: t.now + 900, timeoutMs: 900 };
      expect(await t.run(next.runId)).toMatchObject(due);
      const late = t.newRun({ id: "b", startDelayMs: 900, timeoutMs: 200 });
      const other = await t.held({ id: "b" });
      await t.advance(10);
      await other.commit(continueAs(late));
      expect(await t.run(late.runId)).toMatchObject({ availableAt: t.now + 200, deadlineAt: t.now + 200 });
    },

    "a repeated continue counts as written and makes no second successor": async (t) => {
      const holder = await t.held({ id: "a" });
      const commit = holder.draft(continueAs(t.newRun({ id: "a" })), { events: 1 });
      await holder.send(commit);
      const before = await t.run({ namespace: "default", id: "a" });
      expect(await holder.send(commit)).toMatchObject({ outcome: "written", held: false });
      expect(await t.run({ namespace: "default", id: "a" })).toEqual(before);
      expect(await t.store.runs.count({ namespace: "default", atMost: null })).toBe(2);
    },

    "a continue that is refused makes no successor": async (t) => {
      const holder = await t.held({ id: "a" });
      const next = t.newRun({ id: "a" });
      const commit = { ...holder.draft(continueAs(next)), epoch: holder.epoch + 1 };
      expect(await holder.send(commit)).toMatchObject({ outcome: "lost" });
      expect(await t.store.runs.read({ runs: [t.ref(next.runId)] })).toEqual([null]);
    },

    "the successor's inbox is the carried and then the unconsumed messages": async (t) => {
      const holder = await t.held({ id: "a" });
      for (const name of ["one", "two", "three", "four"])
        await t.deliver(t.ref(holder.runId), { name, messageId: `id ${name}`, payload: bytes(`"${name}"`) });
      await t.advance(5);
      const next = t.newRun({ id: "a" });
      const carried = [carry("two"), carry("one")];
      await holder.commit(continueAs(next, carried), { consumed: 2, events: 2 });
      expect(await t.run(next.runId)).toMatchObject({ delivered: 4, consumed: 0 });
      const inbox = await t.inbox(next.runId);
      expect(inbox.map(({ number, name }) => [number, name])).toEqual([
        [1, "two"],
        [2, "one"],
        [3, "three"],
        [4, "four"],
      ]);
      for (const message of inbox)
        expect(message).toMatchObject({
          runId: next.runId,
          kind: "signal",
          messageId: `id ${message.name}`,
          payload: bytes(`"${message.name}"`),
        });
      const { messages } = await t.claim(await t.worker());
      expect(messages).toEqual(inbox);
    },

    "the successor goes on numbering behind what it has inherited": async (t) => {
      const { next } = await continued(t, {}, ["one", "two"]);
      await t.deliver(t.ref(next.runId), { name: "three" });
      expect((await t.inbox(next.runId)).map(({ number, name }) => [number, name])).toEqual([
        [1, "one"],
        [2, "two"],
        [3, "three"],
      ]);
      const holder = await t.claimOne(await t.worker());
      expect(
        await holder.commit({ type: "suspend", status: "waiting", availableAt: null, waitingFor: [] }),
      ).toMatchObject({
        held: true,
        delivered: 3,
      });
    },

    "what is inherited counts towards the limit of the inbox": async (t) => {
      const { next } = await continued(t, {}, ["one", "two"]);
      expect(await t.deliver(t.ref(next.runId), {}, 2)).toMatchObject({ outcome: "full" });
      expect(await t.deliver(t.ref(next.runId), {}, 3)).toMatchObject({ outcome: "delivered" });
    },

    "a message follows a run that has continued, by run id and by id": async (t) => {
      const first = await continued(t);
      const second = await continueAgain(t, first.next);
      for (const to of [t.ref(first.holder.runId), t.ref(first.next.runId), { namespace: "default", id: "a" }]) {
        expect(await t.deliver(to)).toEqual({ outcome: "delivered", runId: second.runId, status: "pending" });
      }
      expect(await t.inbox(second.runId)).toHaveLength(3);
    },

    "a message id is remembered by the whole chain": async (t) => {
      const holder = await t.held({ id: "a" });
      await t.deliver(t.ref(holder.runId), { messageId: "consumed" });
      await t.deliver(t.ref(holder.runId), { messageId: "inherited" });
      const next = t.newRun({ id: "a" });
      await holder.commit(continueAs(next), { consumed: 1, events: 1 });
      for (const messageId of ["consumed", "inherited"]) {
        for (const to of [t.ref(holder.runId), t.ref(next.runId), { namespace: "default", id: "a" }]) {
          expect(await t.deliver(to, { messageId })).toEqual({
            outcome: "duplicate",
            runId: next.runId,
            status: "pending",
          });
        }
      }
      expect(await t.run(next.runId)).toMatchObject({ delivered: 1 });
      const last = await continueAgain(t, next);
      expect(await t.deliver(t.ref(last.runId), { messageId: "consumed" })).toMatchObject({ outcome: "duplicate" });
      expect(await t.run(last.runId)).toMatchObject({ firstRunId: holder.runId });
    },

    "a new run of the same id is another chain and remembers nothing": async (t) => {
      const { next } = await continued(t);
      await t.deliver(t.ref(next.runId), { messageId: "m" });
      const holder = await t.claimOne(await t.worker());
      await holder.commit(end(), { consumed: 1 });
      const { run } = await t.start({ id: "a" }, { ifClosed: "start" });
      expect(run.firstRunId).toBe(run.runId);
      expect(await t.deliver(t.ref(run.runId), { messageId: "m" })).toMatchObject({ outcome: "delivered" });
      expect(await t.deliver(t.ref(next.runId), { messageId: "n" })).toMatchObject({
        outcome: "closed",
        runId: next.runId,
      });
    },

    "a message to a chain that has closed is closed, unless it is a duplicate": async (t) => {
      const { holder, next } = await continued(t);
      await t.deliver(t.ref(next.runId), { messageId: "m" });
      await t.store.runs.terminate({
        runs: [t.ref(next.runId)],
        error: { name: "E", message: "", kind: "Unknown" },
      });
      expect(await t.deliver(t.ref(holder.runId), { messageId: "new" })).toEqual({
        outcome: "closed",
        runId: next.runId,
        status: "terminated",
      });
      expect(await t.deliver(t.ref(holder.runId), { messageId: "m" })).toMatchObject({ outcome: "duplicate" });
    },

    "the histories of a chain stay apart": async (t) => {
      const { holder, next } = await continued(t);
      const claimed = await t.claimOne(await t.worker());
      await claimed.commit(end(), { events: 2 });
      expect(await t.history(holder.runId)).toHaveLength(1);
      expect(await t.history(next.runId)).toHaveLength(2);
    },
  },
};

export function continueAs(next: NewRun, carried: readonly CarriedMessage[] = []): Transition {
  return { type: "continue", next, carried };
}

function carry(name: string): CarriedMessage {
  return { kind: "signal", name, messageId: `id ${name}`, payload: bytes(`"${name}"`) };
}

/** A run with the id `a` that has continued, with unconsumed messages of these names. */
async function continued(t: Fixture, fields: Partial<NewRun> = {}, names: readonly string[] = []) {
  const holder = await t.held({ id: "a" });
  for (const name of names) await t.deliver(t.ref(holder.runId), { name });
  const next = t.newRun({ id: "a", ...fields });
  await holder.commit(continueAs(next), { events: 1 });
  return { holder, next };
}

async function continueAgain(t: Fixture, run: NewRun): Promise<NewRun> {
  const workerId = await t.worker();
  const [claimed] = (await t.claim(workerId)).runs;
  if (claimed?.runId !== run.runId) throw new Error("the claim took another run");
  const next = t.newRun({ id: run.id });
  await new Holder(t.store, workerId, claimed).commit(continueAs(next), { consumed: claimed.delivered });
  return next;
}
