import { lockMessageId } from "holdfast/adapter";
import { expect } from "vitest";
import { askOf, newLock, requestEvent } from "../../lock-calls.ts";
import { end, HOLD, START_MS, suspend } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";

const GONE = { outcome: "gone", fence: null };
const WAITING = { outcome: "waiting", fence: null };

/** Who gets a lock, in which order, and how its run learns of it. */
export const locks: Suite = {
  noun: "locks",
  cases: {
    "a request is granted to whoever asks first, and the others wait in order": async (t) => {
      const runs = [await t.locks.run("x"), await t.locks.run("x"), await t.locks.run("x")];
      expect(runs.map(({ answer }) => answer.outcome)).toEqual(["granted", "waiting", "waiting"]);
      const [first, second, third] = runs.map(({ holder }) => holder.runId);
      expect(await t.locks.line("x")).toEqual({ holders: [first], waiting: [second, third] });
    },

    "a request that nobody has asked about is granted in its turn, not before those that were made earlier": async (
      t,
    ) => {
      const early = await t.held();
      const [seq = 0] = await t.locks.request(early, ["x"]);
      const late = await t.locks.run("x");
      expect(late.answer).toEqual(WAITING);
      expect(await t.locks.line("x")).toEqual({ holders: [early.runId], waiting: [late.holder.runId] });
      expect(await t.locks.ask(early, seq)).toMatchObject({ outcome: "granted" });
    },

    "asking again gives the same answer, and the same fence": async (t) => {
      const { holder, seq, answer } = await t.locks.run("x");
      expect(await t.locks.ask(holder, seq)).toEqual(answer);
      const other = await t.locks.run("x");
      expect(await t.locks.ask(other.holder, other.seq)).toEqual(WAITING);
      expect(await t.locks.told(holder.runId)).toEqual([]);
    },

    "as many are granted as the newest request says": async (t) => {
      const ones = [await t.locks.run("x"), await t.locks.run("x")];
      const three = await t.locks.run("x", { limit: 3 });
      expect(three.answer.outcome).toBe("granted");
      expect((await t.locks.line("x")).holders).toHaveLength(3);
      const four = await t.locks.run("x", { limit: 2 });
      expect(four.answer).toEqual(WAITING);
      for (const { holder, seq } of ones) await t.locks.giveBack(holder, [seq]);
      expect((await t.locks.line("x")).holders).toEqual([three.holder.runId, four.holder.runId]);
    },

    "when the newest request is given back, the limit of the one before counts again": async (t) => {
      const runs = [];
      for (let i = 0; i < 3; i++) runs.push(await t.locks.run("x", { limit: 2 }));
      const newest = await t.locks.run("x", { limit: 1 });
      await t.locks.giveBack(runs[0]?.holder as never, [runs[0]?.seq as number]);
      expect((await t.locks.line("x")).waiting).toHaveLength(2);
      await t.locks.giveBack(newest.holder, [newest.seq]);
      expect(await t.locks.line("x")).toMatchObject({
        holders: runs.slice(1).map(({ holder }) => holder.runId),
        waiting: [],
      });
    },

    "fences only grow, whatever the name": async (t) => {
      const fences: number[] = [];
      for (const name of ["x", "y", "x", "z"]) {
        const { holder, seq, answer } = await t.locks.run(name);
        fences.push(answer.fence as number);
        await t.locks.giveBack(holder, [seq]);
      }
      expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
    },

    "what is given back goes to the next in line, whose run gets one message and is due": async (t) => {
      const first = await t.locks.run("x");
      const second = await t.locks.run("x");
      await second.holder.commit(suspend(null));
      expect((await t.run(second.holder.runId)).availableAt).toBeNull();
      expect(await first.holder.commit(HOLD, { events: 1, unlocks: [first.seq] })).toMatchObject({ owes: true });
      expect((await t.locks.line("x")).holders).toEqual([]);
      expect(await t.locks.owed(first.holder)).toMatchObject({ kind: "lock", runId: first.holder.runId });
      expect(await t.locks.passOn(first.holder)).toBe(true);
      const { fence } = await t.locks.ask(second.holder, second.seq);
      expect(await t.locks.told(second.holder.runId)).toEqual([["lock:x", lockMessageId(second.seq, fence as number)]]);
      const row = await t.run(second.holder.runId);
      expect(row).toMatchObject({ delivered: 1, status: "waiting" });
      expect(row.availableAt).not.toBeNull();
      await t.locks.passOn(first.holder);
      expect(await t.locks.told(second.holder.runId)).toHaveLength(1);
    },

    "the debt is paid once everything was passed on": async (t) => {
      const { holder, seq } = await t.locks.run("x");
      await holder.commit(HOLD, { events: 1, unlocks: [seq] });
      const debt = await t.locks.owed(holder);
      const paid = { debtNo: debt?.debtNo as number, namespace: holder.namespace, runId: holder.runId };
      await t.store.debts.pay({ debts: [paid] });
      expect(await t.locks.owed(holder)).toBeDefined();
      await t.locks.passOn(holder);
      await t.store.debts.pay({ debts: [paid] });
      expect(await t.locks.owed(holder)).toBeUndefined();
      expect((await holder.commit(HOLD, { events: 1 })).owes).toBeUndefined();
    },

    "a grant comes as a message unless the holder of the run asks, under its epoch": async (t) => {
      const first = await t.locks.run("x");
      const holder = await t.held();
      const [seq = 0] = await t.locks.request(holder, ["x"]);
      const second = { holder, seq };
      await first.holder.commit(HOLD, { events: 1, unlocks: [first.seq] });
      const stale = await t.locks.ask(holder, seq, { epoch: holder.epoch - 1 });
      expect(stale.outcome).toBe("granted");
      expect(await t.locks.told(holder.runId)).toHaveLength(1);
      const third = await t.locks.run("x");
      await third.holder.commit(suspend(null));
      await second.holder.commit(HOLD, { events: 1, unlocks: [second.seq], consumed: 1 });
      expect((await t.locks.ask(third.holder, third.seq)).outcome).toBe("granted");
      expect(await t.locks.told(third.holder.runId)).toHaveLength(1);
    },

    "a holder that was told that it waits gets a message, whoever asks for it then: that may be a late copy of an earlier call":
      async (t) => {
        const first = await t.locks.run("x");
        const second = await t.locks.run("x");
        expect(second.answer).toEqual(WAITING);
        await first.holder.commit(HOLD, { events: 1, unlocks: [first.seq] });
        const { outcome, fence } = await t.locks.ask(second.holder, second.seq);
        expect(outcome).toBe("granted");
        expect(await t.locks.told(second.holder.runId)).toEqual([
          ["lock:x", lockMessageId(second.seq, fence as number)],
        ]);
        expect(await t.run(second.holder.runId)).toMatchObject({ heldBy: second.holder.workerId, delivered: 1 });
      },

    "the next holder was told nothing yet, and takes the answer for the message": async (t) => {
      const first = await t.locks.run("x");
      const second = await t.locks.run("x");
      await second.holder.commit(suspend(START_MS));
      const next = await t.claimOne(await t.worker());
      await first.holder.commit(HOLD, { events: 1, unlocks: [first.seq] });
      expect((await t.locks.ask(next, second.seq)).outcome).toBe("granted");
      expect(await t.locks.told(next.runId)).toEqual([]);
    },

    "a run that is held is told by a message in its inbox, and does not become due": async (t) => {
      const first = await t.locks.run("x");
      const second = await t.locks.run("x");
      await t.locks.giveBack(first.holder, [first.seq]);
      expect(await t.run(second.holder.runId)).toMatchObject({ heldBy: second.holder.workerId, availableAt: null });
      expect(await t.locks.told(second.holder.runId)).toHaveLength(1);
    },

    "a parked run is granted its lock, and stays parked": async (t) => {
      const first = await t.locks.run("x");
      const second = await t.locks.run("x");
      await second.holder.commit(suspend(null));
      await t.pause(t.ref(second.holder.runId));
      await t.locks.giveBack(first.holder, [first.seq]);
      expect(await t.run(second.holder.runId)).toMatchObject({ status: "parked", availableAt: null, delivered: 1 });
      expect((await t.locks.line("x")).holders).toEqual([second.holder.runId]);
    },

    "a request that waits is taken out of the line by giving it back": async (t) => {
      const first = await t.locks.run("x");
      const second = await t.locks.run("x");
      const third = await t.locks.run("x");
      await t.locks.giveBack(second.holder, [second.seq]);
      expect(await t.locks.ask(second.holder, second.seq)).toEqual(GONE);
      expect((await t.locks.line("x")).waiting).toEqual([third.holder.runId]);
      await t.locks.giveBack(first.holder, [first.seq]);
      expect((await t.locks.line("x")).holders).toEqual([third.holder.runId]);
      expect(await t.locks.told(second.holder.runId)).toEqual([]);
    },

    "a commit that is lost or written before changes no locks": async (t) => {
      const { holder, seq } = await t.locks.run("x");
      const stale = holder.draft(HOLD, { events: 1, unlocks: [seq] });
      for (let i = 0; i < 2; i++) await holder.commit(HOLD, { events: 1 });
      expect((await t.store.runs.commit({ commits: [stale] })).outcomes[0]?.outcome).toBe("lost");
      expect((await t.locks.line("x")).holders).toEqual([holder.runId]);
      const lock = newLock(holder.eventCount + 1, "y");
      const commit = holder.draft(HOLD, { events: [requestEvent(lock)], locks: [lock] });
      for (let i = 0; i < 2; i++)
        expect((await t.store.runs.commit({ commits: [commit] })).outcomes[0]?.outcome).toBe("written");
      expect((await t.locks.line("y")).waiting).toEqual([holder.runId]);
    },

    "a commit gives back before it requests: a run stands at the end of the line again": async (t) => {
      const first = await t.locks.run("x");
      const second = await t.locks.run("x");
      const lock = newLock(first.holder.eventCount + 1, "x", { op: "lock:x#2" });
      await first.holder.commit(HOLD, { events: [requestEvent(lock)], locks: [lock], unlocks: [first.seq] });
      expect(await t.locks.ask(first.holder, lock.seq)).toEqual(WAITING);
      expect(await t.locks.line("x")).toEqual({ holders: [second.holder.runId], waiting: [first.holder.runId] });
    },

    "giving back what is gone does nothing, and owes nothing": async (t) => {
      const holder = await t.held();
      expect((await holder.commit(HOLD, { events: 1, unlocks: [1, 7] })).owes).toBeUndefined();
      expect(await t.locks.owed(holder)).toBeUndefined();
    },

    "a run may hold many locks, and many asks fit into one call": async (t) => {
      const holder = await t.held();
      const names = ["a", "b", "c", "d"];
      const seqs = await t.locks.request(holder, names);
      const asks = seqs.map((seq) => askOf(holder, seq));
      const { answers } = await t.store.locks.pass({ asks, givenBackBy: [] });
      expect(answers.map(({ outcome }) => outcome)).toEqual(names.map(() => "granted"));
      const own = await t.store.locks.list({ namespace: "default", of: { runId: holder.runId }, limit: 3 });
      expect(own.map(({ name, seq, op, limit }) => [name, seq, op, limit])).toEqual(
        names.slice(0, 3).map((name, i) => [name, seqs[i], `lock:${name}`, 1]),
      );
    },

    "the names of other namespaces are other locks, and their runs are out of reach": async (t) => {
      const { holder, seq } = await t.locks.run("x");
      const theirs = await t.held({ namespace: "theirs" });
      const [other = 0] = await t.locks.request(theirs, ["x"]);
      expect((await t.locks.ask(theirs, other)).outcome).toBe("granted");
      expect(await t.locks.line("x", "theirs")).toMatchObject({ holders: [theirs.runId] });
      expect(await t.locks.line("x")).toMatchObject({ holders: [holder.runId] });
      expect(await t.locks.ask(holder, seq, { namespace: "theirs" })).toEqual(GONE);
      expect(await t.store.locks.list({ namespace: "theirs", of: { runId: holder.runId }, limit: 9 })).toEqual([]);
    },

    "a list shows the holders first, with the ids of their runs, no further than its limit": async (t) => {
      const holder = await t.held({ id: "mine" });
      const [seq = 0] = await t.locks.request(holder, ["x"], { limit: 1 });
      const answer = await t.locks.ask(holder, seq);
      await t.locks.run("x");
      await t.locks.run("x");
      const requests = await t.store.locks.list({ namespace: "default", of: { name: "x" }, limit: 2 });
      const about = { runId: holder.runId, id: "mine", op: "lock:x", name: "x", limit: 1, seq };
      expect(requests).toMatchObject([{ ...about, fence: answer.fence }, { fence: null }]);
      expect(requests).toHaveLength(2);
      await holder.commit(end());
    },
  },
};
