import type { RunCommit } from "holdfast/adapter";
import { expect } from "vitest";
import { bytes, end, errorRecord, HOLD, park, RELEASE, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

export const transitions: Suite = {
  noun: "transitions",
  cases: {
    "hold keeps the run and sets its status": async (t) => {
      const holder = await t.held();
      await holder.commit({ type: "hold", status: "compensating" });
      expect(await t.run(holder.runId)).toMatchObject({ status: "compensating", heldBy: holder.workerId });
      await holder.commit(HOLD);
      expect(await t.run(holder.runId)).toMatchObject({ status: "running", availableAt: null });
    },

    "hold is never left out, however many messages wait": async (t) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId));
      expect(await holder.commit({ type: "hold", status: "compensating" })).toEqual({
        outcome: "written",
        held: true,
        delivered: 1,
      });
      expect(await t.run(holder.runId)).toMatchObject({ status: "compensating", commit: 1 });
    },

    "suspend lets the run go until its time": async (t) => {
      const holder = await t.held();
      const waitingFor = ["sleep", "charge#2", 'a,b "c"', "ю"];
      expect(await holder.commit(suspend(t.now + 700, { waitingFor }), { events: 1 })).toEqual({
        outcome: "written",
        held: false,
        delivered: 0,
      });
      expect(await t.run(holder.runId)).toMatchObject({
        status: "sleeping",
        heldBy: null,
        claimId: null,
        availableAt: t.now + 700,
        waitingFor,
        epoch: holder.epoch,
        commit: 1,
        endedAt: null,
      });
      expect(await t.store.workers.readHeld({ namespace: "default", workerId: holder.workerId })).toEqual([]);
    },

    "suspend without a time waits for a message": async (t) => {
      const holder = await t.held();
      await holder.commit(suspend(null, { waitingFor: [] }));
      expect(await t.run(holder.runId)).toMatchObject({ status: "waiting", availableAt: null, waitingFor: [] });
    },

    "a run that suspends while compensating says so": async (t) => {
      const holder = await t.held();
      await holder.commit(suspend(null, { status: "compensating" }));
      expect(await t.run(holder.runId)).toMatchObject({ status: "compensating", heldBy: null });
    },

    "suspend is left out when the holder is behind, and everything else of the commit is written": async (t) => {
      const holder = await t.held();
      const messageId = t.newId();
      await t.deliver(t.ref(holder.runId), { messageId });
      const commit = holder.draft(suspend(t.now + 50), { events: 2, attributes: { a: 1 } });
      const { outcomes, messages } = await holder.answerTo(commit);
      expect(outcomes).toEqual([{ outcome: "written", held: true, delivered: 1 }]);
      // The messages may be missing from the answer, but must not be wrong.
      if (messages.length > 0) expect(messages).toMatchObject([{ runId: holder.runId, number: 1, messageId }]);
      expect(await t.run(holder.runId)).toMatchObject({
        status: "running",
        heldBy: holder.workerId,
        availableAt: null,
        waitingFor: [],
        commit: 1,
        eventCount: 2,
        attributes: { a: 1 },
      });
      expect(await holder.commit(suspend(t.now + 50), { consumed: 1 })).toMatchObject({ held: false });
    },

    "a repeated suspend that was left out stays left out": async (t) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId));
      const commit = holder.draft(suspend(null));
      await holder.send(commit);
      expect(await holder.send(commit)).toEqual({ outcome: "written", held: true, delivered: 1 });
      expect(await t.run(holder.runId)).toMatchObject({ commit: 1, heldBy: holder.workerId });
    },

    "suspend that consumes the last message lets the run go": async (t) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId));
      await t.deliver(t.ref(holder.runId));
      expect(await holder.commit(suspend(null), { consumed: 2, events: 2 })).toMatchObject({
        held: false,
        delivered: 2,
      });
    },

    "what is made due now is due now, also past the deadline": async (t) => {
      for (const agoMs of [0, 5]) {
        const holder = await t.held({ timeoutMs: 10 });
        await t.advance(50);
        await holder.commit(suspend(t.now - agoMs));
        expect(await t.run(holder.runId)).toMatchObject({ heldBy: null, availableAt: t.now - agoMs });
      }
    },

    "availableAt is never later than the deadline": async (t) => {
      const holder = await t.held({ timeoutMs: 1_000 });
      const deadlineAt = t.now + 1_000;
      await holder.commit(suspend(t.now + 5_000));
      expect(await t.run(holder.runId)).toMatchObject({ availableAt: deadlineAt, deadlineAt });
      const other = await t.held({ timeoutMs: 1_000 });
      await other.commit(suspend(t.now + 500));
      expect(await t.run(other.runId)).toMatchObject({ availableAt: t.now + 500 });
    },

    "a commit that clears the deadline lets the run outlive it": async (t) => {
      const holder = await t.held({ timeoutMs: 1_000 });
      const commit = holder.draft(suspend(t.now + 5_000), { clearDeadline: true });
      await holder.send(commit);
      expect(await holder.send(commit)).toMatchObject({ outcome: "written", held: false });
      expect(await t.run(holder.runId)).toMatchObject({ deadlineAt: null, availableAt: t.now + 5_000 });
      await t.advance(4_000);
      expect(await t.sweep({ timeoutGraceMs: 0 })).toMatchObject({ timedOut: 0 });
      const other = await t.held({ timeoutMs: 1_000 });
      await other.commit(HOLD, { clearDeadline: false });
      expect(await t.run(other.runId)).toMatchObject({ deadlineAt: t.now + 1_000 });
    },

    "release lets the run go, due at once, whatever messages wait": async (t) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId));
      await t.advance(10);
      expect(await holder.commit(RELEASE, { events: 1 })).toMatchObject({ outcome: "written", held: false });
      expect(await t.run(holder.runId)).toMatchObject({
        status: "running",
        heldBy: null,
        claimId: null,
        availableAt: t.now,
        epoch: holder.epoch,
        deaths: 0,
      });
    },

    "release keeps a run compensating": async (t) => {
      const holder = await t.held();
      await holder.commit({ type: "hold", status: "compensating" });
      await holder.commit(RELEASE);
      expect(await t.run(holder.runId)).toMatchObject({ status: "compensating", heldBy: null });
    },

    "end closes the run with its output": async (t) => {
      const holder = await t.held({ timeoutMs: 60_000 });
      await t.advance(10);
      expect(await holder.commit(end({ output: bytes("42") }), { events: 3 })).toMatchObject({ held: false });
      expect(await t.run(holder.runId)).toMatchObject({
        status: "completed",
        output: bytes("42"),
        error: null,
        compensation: null,
        endedAt: t.now,
        heldBy: null,
        claimId: null,
        availableAt: null,
        waitingFor: [],
        eventCount: 3,
        continuedAs: null,
      });
    },

    "end keeps every status, the error and what became of the compensations": async (t) => {
      const error = { ...errorRecord("card declined"), code: "card_declined", attempts: 3, cause: errorRecord("x") };
      for (const status of ["failed", "canceled", "timed_out"] as const) {
        for (const compensation of [null, "compensated", "compensation_failed"] as const) {
          const holder = await t.held();
          await holder.commit(end({ status, output: null, error, compensation }));
          expect(await t.run(holder.runId)).toMatchObject({ status, output: null, error, compensation });
        }
      }
    },

    "an empty output is not the same as none": async (t) => {
      const [empty, none] = [await t.held(), await t.held()];
      await empty.commit(end({ output: new Uint8Array(0) }));
      await none.commit(end({ output: null }));
      expect((await t.run(empty.runId)).output).toEqual(new Uint8Array(0));
      expect((await t.run(none.runId)).output).toBeNull();
    },

    "of an end with unlessBehind nothing is written when messages wait, and the next commit has its number": async (
      t,
    ) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId));
      const before = await t.run(holder.runId);
      const transition = end({ unlessBehind: true });
      const refused = holder.draft(transition, { events: 2, attributes: { a: 1 }, clearDeadline: true });
      const answer = await holder.answerTo(refused);
      expect(answer.outcomes).toEqual([{ outcome: "behind", held: true, delivered: 1 }]);
      expect(await t.run(holder.runId)).toEqual(before);
      expect(await t.history(holder.runId)).toEqual([]);
      // A late copy of it is refused again, before and after the commit that is written instead.
      expect((await holder.answerTo(refused)).outcomes).toMatchObject([{ outcome: "behind", held: true }]);
      expect(await holder.commit(transition, { consumed: 1, events: 1 })).toMatchObject({
        outcome: "written",
        held: false,
      });
      const ended = await t.run(holder.runId);
      expect(ended).toMatchObject({ status: "completed", eventCount: 1, commit: 1, attributes: before.attributes });
      expect((await holder.answerTo(refused)).outcomes).toMatchObject([{ held: false }]);
      expect(await t.run(holder.runId)).toEqual(ended);
    },

    "an end that is behind spoils nothing for the others in its call": async (t) => {
      const behind = await t.held();
      const others = [await t.held({}, behind.workerId), await t.held({}, behind.workerId)];
      const sent = await t.deliver(t.ref(behind.runId));
      expect(sent).toMatchObject({ outcome: "delivered" });
      const [first, last] = others.map((holder) => holder.draft(end({ unlessBehind: true }), { events: 1 }));
      const commits = [first, behind.draft(end({ unlessBehind: true }), { events: 1 }), last] as RunCommit[];
      const { outcomes } = await t.store.runs.commit({ commits });
      expect(outcomes.map(({ outcome, held }) => [outcome, held])).toEqual([
        ["written", false],
        ["behind", true],
        ["written", false],
      ]);
      expect(await t.run(behind.runId)).toMatchObject({ status: "running", eventCount: 0, commit: 0 });
      for (const { runId } of others) expect(await t.run(runId)).toMatchObject({ status: "completed", eventCount: 1 });
    },

    "end without unlessBehind closes the run, whatever messages wait": async (t) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId));
      expect(await holder.commit(end({ unlessBehind: false }))).toMatchObject({ outcome: "written", held: false });
      expect(await t.run(holder.runId)).toMatchObject({ status: "completed", delivered: 1, consumed: 0 });
    },

    "park lets the run go with an error, and it is not due, whatever messages wait": async (t) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId));
      expect(await holder.commit(park("diverged"), { events: 1 })).toMatchObject({ outcome: "written", held: false });
      expect(await t.run(holder.runId)).toMatchObject({
        status: "parked",
        error: errorRecord("diverged"),
        heldBy: null,
        claimId: null,
        availableAt: null,
        endedAt: null,
        epoch: holder.epoch,
      });
      await t.advance(1_000_000);
      expect((await t.claim(await t.worker())).runs).toEqual([]);
    },

    "an ended run frees its id, a parked one does not": async (t) => {
      await (await t.held({ id: "ended" })).commit(end());
      await (await t.held({ id: "parked" })).commit(park("diverged"));
      expect(await t.start({ id: "ended" }, { ifClosed: "start" })).toMatchObject({ outcome: "created" });
      expect(await t.start({ id: "parked" }, { ifClosed: "start" })).toMatchObject({ outcome: "exists" });
    },

    "transitions of many runs in one call do not touch each other": async (t) => {
      const workerId = await t.worker();
      const holders = [];
      for (let i = 0; i < 5; i++) holders.push(await t.held({ id: `run ${i}` }, workerId));
      const wanted = [suspend(t.now + 9), end({ output: bytes("7") }), HOLD, park("odd"), RELEASE];
      const commits = holders.map((holder, i) => holder.draft(wanted[i] ?? HOLD, { events: i }));
      const { outcomes } = await t.store.runs.commit({ commits });
      expect(outcomes.map(({ held }) => held)).toEqual([false, false, true, false, false]);
      const runs = await Promise.all(holders.map((holder) => t.run(holder.runId)));
      expect(runs.map((run) => run.status)).toEqual(["sleeping", "completed", "running", "parked", "running"]);
      expect(runs.map((run) => run.availableAt)).toEqual([t.now + 9, null, null, null, t.now]);
      expect(runs.map((run) => run.eventCount)).toEqual([0, 1, 2, 4, 4]);
      expect(runs.map((run) => run.output)).toEqual([null, bytes("7"), null, null, null]);
    },
  },
};
