import { expect } from "vitest";
import { bytes, end, HOLD, park, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

export const inbox: Suite = {
  noun: "inbox",
  cases: {
    "a message is numbered and kept with all that it carries": async (t) => {
      const { run } = await t.start();
      await t.advance(3);
      expect(await t.deliver(t.ref(run.runId), { name: "paid", messageId: "m 1", payload: bytes("1") })).toEqual({
        outcome: "delivered",
        runId: run.runId,
        status: "pending",
      });
      await t.deliver(t.ref(run.runId), { kind: "cancel", name: "", messageId: "m 2", payload: bytes("") });
      const base = { runId: run.runId, at: t.now };
      expect(await t.inbox(run.runId)).toEqual([
        { ...base, number: 1, kind: "signal", name: "paid", messageId: "m 1", payload: bytes("1") },
        { ...base, number: 2, kind: "cancel", name: "", messageId: "m 2", payload: bytes("") },
      ]);
      expect(await t.run(run.runId)).toMatchObject({ delivered: 2, consumed: 0 });
    },

    "a message to the id reaches its newest run": async (t) => {
      const old = await t.start({ id: "a" });
      const { run } = await t.start({ id: "a" }, { ifRunning: "replace" });
      expect(await t.deliver({ namespace: "default", id: "a" })).toMatchObject({ runId: run.runId });
      expect(await t.deliver(t.ref(old.run.runId))).toEqual({
        outcome: "closed",
        runId: old.run.runId,
        status: "terminated",
      });
    },

    "a message to nobody is not found": async (t) => {
      await t.start({ id: "a" });
      const nowhere = { outcome: "not_found", runId: null, status: null };
      expect(await t.deliver(t.ref(t.newId()))).toEqual(nowhere);
      expect(await t.deliver({ namespace: "default", id: "b" })).toEqual(nowhere);
      expect(await t.deliver({ namespace: "elsewhere", id: "a" })).toEqual(nowhere);
    },

    "a message makes a waiting run due": async (t) => {
      const holder = await t.held();
      await holder.commit(suspend(null));
      await t.advance(40);
      expect(await t.deliver(t.ref(holder.runId))).toMatchObject({ outcome: "delivered", status: "waiting" });
      expect(await t.run(holder.runId)).toMatchObject({ availableAt: t.now, status: "waiting", heldBy: null });
      expect((await t.claim(await t.worker())).messages).toHaveLength(1);
    },

    "a message wakes a sleeping run early": async (t) => {
      const holder = await t.held();
      await holder.commit(suspend(t.now + 500_000));
      await t.advance(40);
      await t.deliver(t.ref(holder.runId));
      expect(await t.run(holder.runId)).toMatchObject({ availableAt: t.now, status: "sleeping" });
    },

    "a signal does not start a run before its time; a cancel does not wait for it": async (t) => {
      const { run } = await t.start({ startDelayMs: 500_000 });
      const dueAt = t.now + 500_000;
      await t.advance(40);
      await t.deliver(t.ref(run.runId));
      expect(await t.run(run.runId)).toMatchObject({ availableAt: dueAt, delivered: 1, status: "pending" });
      await t.deliver(t.ref(run.runId), { kind: "cancel", name: "" });
      expect(await t.run(run.runId)).toMatchObject({ availableAt: t.now, delivered: 2, status: "pending" });
    },

    "a message does not put off a run that is due already": async (t) => {
      const { run } = await t.start();
      const dueAt = t.now;
      await t.advance(40);
      await t.deliver(t.ref(run.runId));
      expect(await t.run(run.runId)).toMatchObject({ availableAt: dueAt });
    },

    "a message to a held run counts, and the holder stays": async (t) => {
      const holder = await t.held();
      expect(await t.deliver(t.ref(holder.runId))).toMatchObject({ outcome: "delivered", status: "running" });
      expect(await t.run(holder.runId)).toMatchObject({
        delivered: 1,
        heldBy: holder.workerId,
        availableAt: null,
        epoch: holder.epoch,
        commit: 0,
      });
      expect(await holder.commit(HOLD, { events: 1 })).toEqual({ outcome: "written", held: true, delivered: 1 });
    },

    "a message to a parked run counts and does not make it due": async (t) => {
      const holder = await t.held();
      await holder.commit(park("odd"));
      expect(await t.deliver(t.ref(holder.runId))).toMatchObject({ outcome: "delivered", status: "parked" });
      expect(await t.run(holder.runId)).toMatchObject({ delivered: 1, availableAt: null, status: "parked" });
    },

    "a message id is delivered once": async (t) => {
      const { run } = await t.start({ id: "a" });
      await t.deliver(t.ref(run.runId), { messageId: "m" });
      const before = await t.run(run.runId);
      for (const to of [t.ref(run.runId), { namespace: "default", id: "a" }]) {
        expect(await t.deliver(to, { messageId: "m" })).toEqual({
          outcome: "duplicate",
          runId: run.runId,
          status: "pending",
        });
      }
      expect(await t.run(run.runId)).toEqual(before);
      expect(await t.inbox(run.runId)).toHaveLength(1);
    },

    "a message id is remembered after it was consumed": async (t) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId), { messageId: "m" });
      await holder.commit(suspend(null), { consumed: 1, events: 1 });
      expect(await t.deliver(t.ref(holder.runId), { messageId: "m" })).toMatchObject({ outcome: "duplicate" });
      expect(await t.run(holder.runId)).toMatchObject({ delivered: 1, availableAt: null });
    },

    "the same message id for another run is another message": async (t) => {
      const [a, b] = [await t.start(), await t.start()];
      await t.deliver(t.ref(a.run.runId), { messageId: "m" });
      expect(await t.deliver(t.ref(b.run.runId), { messageId: "m" })).toMatchObject({ outcome: "delivered" });
    },

    "a duplicate is a duplicate even when the run has closed": async (t) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId), { messageId: "m" });
      await holder.commit(end(), { consumed: 1 });
      expect(await t.deliver(t.ref(holder.runId), { messageId: "m" })).toEqual({
        outcome: "duplicate",
        runId: holder.runId,
        status: "completed",
      });
      expect(await t.deliver(t.ref(holder.runId), { messageId: "n" })).toMatchObject({ outcome: "closed" });
      expect(await t.run(holder.runId)).toMatchObject({ delivered: 1, availableAt: null });
    },

    "a duplicate is a duplicate even when the inbox is full": async (t) => {
      const { run } = await t.start();
      await t.deliver(t.ref(run.runId), { messageId: "m" }, 1);
      expect(await t.deliver(t.ref(run.runId), { messageId: "m" }, 1)).toMatchObject({ outcome: "duplicate" });
      expect(await t.deliver(t.ref(run.runId), { messageId: "n" }, 1)).toMatchObject({ outcome: "full" });
    },

    "a closed run is closed even when its inbox is full": async (t) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId));
      await holder.commit(end());
      expect(await t.deliver(t.ref(holder.runId), {}, 1)).toMatchObject({ outcome: "closed" });
    },

    "a full inbox takes nothing but cancels, until messages are consumed": async (t) => {
      const holder = await t.held();
      const to = t.ref(holder.runId);
      expect(await t.deliver(to, {}, 2)).toMatchObject({ outcome: "delivered" });
      expect(await t.deliver(to, {}, 2)).toMatchObject({ outcome: "delivered" });
      expect(await t.deliver(to, { messageId: "late" }, 2)).toEqual({
        outcome: "full",
        runId: holder.runId,
        status: "running",
      });
      expect(await t.deliver(to, { kind: "cancel", name: "" }, 2)).toMatchObject({ outcome: "delivered" });
      expect(await t.run(holder.runId)).toMatchObject({ delivered: 3 });
      await holder.commit(HOLD, { consumed: 2 });
      expect(await t.deliver(to, { messageId: "late" }, 2)).toMatchObject({ outcome: "delivered" });
    },

    "a full inbox leaves the run as it was": async (t) => {
      const holder = await t.held();
      await holder.commit(suspend(null));
      const before = await t.run(holder.runId);
      expect(await t.deliver(t.ref(holder.runId), {}, 0)).toMatchObject({ outcome: "full" });
      expect(await t.run(holder.runId)).toEqual(before);
      expect(await t.inbox(holder.runId)).toEqual([]);
    },

    "many messages in one call are decided one by one, and answered in order": async (t) => {
      const holder = await t.held();
      const open = await t.start({ id: "open" });
      const closed = await t.held();
      await closed.commit(end());
      const messages = [
        t.newMessage(t.ref(t.newId())),
        t.newMessage(t.ref(closed.runId)),
        t.newMessage({ namespace: "default", id: "open" }),
        t.newMessage(t.ref(holder.runId)),
      ];
      const { outcomes } = await t.store.inbox.deliver({ messages, inboxMax: 10 });
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(["not_found", "closed", "delivered", "delivered"]);
      expect(outcomes.map(({ runId }) => runId)).toEqual([null, closed.runId, open.run.runId, holder.runId]);
    },

    "several messages for one run in one call are numbered in their order": async (t) => {
      const { run } = await t.start({ id: "a" });
      const messages = ["c", "a", "b", "d"].map((name, i) =>
        t.newMessage(i % 2 === 0 ? t.ref(run.runId) : { namespace: "default", id: "a" }, { name }),
      );
      const { outcomes } = await t.store.inbox.deliver({ messages, inboxMax: 3 });
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(["delivered", "delivered", "delivered", "full"]);
      expect((await t.inbox(run.runId)).map(({ number, name }) => [number, name])).toEqual([
        [1, "c"],
        [2, "a"],
        [3, "b"],
      ]);
    },

    "a message id that occurs twice in one call is one message": async (t) => {
      const { run } = await t.start();
      const message = t.newMessage(t.ref(run.runId));
      const { outcomes } = await t.store.inbox.deliver({ messages: [message, message], inboxMax: 10 });
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(["delivered", "duplicate"]);
      expect(await t.run(run.runId)).toMatchObject({ delivered: 1 });
    },

    "a message past the deadline makes the run due now": async (t) => {
      const holder = await t.held({ timeoutMs: 100 });
      await holder.commit(suspend(null));
      await t.advance(500);
      await t.deliver(t.ref(holder.runId));
      expect(await t.run(holder.runId)).toMatchObject({ availableAt: t.now });
    },

    "inbox.read gives the messages behind a number, of each run asked for": async (t) => {
      const [a, b] = [await t.start(), await t.start()];
      for (let i = 0; i < 3; i++) {
        await t.deliver(t.ref(a.run.runId));
        await t.deliver(t.ref(b.run.runId));
      }
      const messages = await t.store.inbox.read({
        runs: [
          { namespace: "default", runId: a.run.runId, after: 1 },
          { namespace: "default", runId: b.run.runId, after: 0 },
          { namespace: "default", runId: t.newId(), after: 0 },
        ],
      });
      const numbersOf = (runId: string) => messages.filter((m) => m.runId === runId).map((m) => m.number);
      expect(numbersOf(a.run.runId)).toEqual([2, 3]);
      expect(numbersOf(b.run.runId)).toEqual([1, 2, 3]);
      expect(messages).toHaveLength(5);
      expect(await t.inbox(a.run.runId, 3)).toEqual([]);
    },

    "a hundred messages in one inbox are read in order": async (t) => {
      const { run } = await t.start();
      const messages = Array.from({ length: 100 }, (_, i) => t.newMessage(t.ref(run.runId), { name: `m${i}` }));
      await t.store.inbox.deliver({ messages, inboxMax: 1_000 });
      const inbox = await t.inbox(run.runId);
      expect(inbox.map(({ number }) => number)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
      expect(inbox.map(({ name }) => name)).toEqual(messages.map(({ name }) => name));
    },

    "an empty call is answered": async (t) => {
      expect(await t.store.inbox.deliver({ messages: [], inboxMax: 10 })).toEqual({ outcomes: [] });
      expect(await t.store.inbox.read({ runs: [] })).toEqual([]);
    },
  },
};
