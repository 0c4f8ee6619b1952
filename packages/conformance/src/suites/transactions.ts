import { outcomeMessageId } from "holdfast/adapter";
import { expect } from "vitest";
import { untilAnswered } from "../patience.ts";
import { bytes, end, HOLD, suspend } from "../sample-data.ts";
import type { Suite } from "../suite.ts";
import { continueAs } from "./continuations.ts";

export const transactions: Suite = {
  noun: "transactions",
  cases: {
    "what was written and its result message are there together": async (t) => {
      const holder = await t.held();
      await t.advance(3);
      const { runId } = holder;
      const message = {
        ...{ runId, number: 1, kind: "outcome", name: "move", messageId: outcomeMessageId(runId, "move") },
        ...{ payload: bytes("true"), at: t.now },
      };
      expect(await t.transact(holder)).toEqual({ outcome: "recorded", message });
      expect(await t.written()).toEqual(["move"]);
      expect(await t.inbox(runId)).toEqual([message]);
      expect(await t.run(runId)).toMatchObject({ delivered: 1, consumed: 0, epoch: holder.epoch, commit: 0 });
    },

    "work that throws leaves nothing behind, and its error is thrown as it is": async (t) => {
      const holder = await t.held();
      const before = await t.run(holder.runId);
      const no = new Error("no");
      const { application } = t.underTest;
      const work = (tx: unknown): never | Promise<never> => {
        const writing = application.write(tx, "never");
        if (writing instanceof Promise) return writing.then(() => Promise.reject(no));
        throw no;
      };
      expect(await t.transact(holder, { work }).catch((error: unknown) => error)).toBe(no);
      expect(await t.written()).toEqual([]);
      expect(await t.inbox(holder.runId)).toEqual([]);
      expect(await t.run(holder.runId)).toEqual(before);
      expect(await t.transact(holder)).toMatchObject({ outcome: "recorded", message: { number: 1 } });
    },

    "nothing happens for a worker that has lost the run": async (t) => {
      const holder = await t.held();
      await t.store.runs.releaseIfHeld({ namespace: "default", workerId: holder.workerId, runs: [holder] });
      expect(await t.transact(holder)).toEqual({ outcome: "lost" });
      const next = await t.claimOne(await t.worker());
      for (const fence of [holder, { ...next, workerId: holder.workerId }, { ...next, epoch: holder.epoch }]) {
        const { workerId, epoch } = fence;
        expect(await t.transact(holder, { workerId, epoch })).toEqual({ outcome: "lost" });
      }
      expect(await t.written()).toEqual([]);
      expect(await t.run(holder.runId)).toMatchObject({ delivered: 0 });
      expect(await t.transact(next)).toMatchObject({ outcome: "recorded" });
      expect(await t.written()).toEqual(["move"]);
    },

    "nothing happens for a run that has ended, that was terminated, or that is not there": async (t) => {
      const [ended, terminated] = [await t.held(), await t.held()];
      await ended.commit(end());
      const error = { name: "Error", message: "enough", kind: "Unknown" } as const;
      await t.store.runs.terminate({ runs: [t.ref(terminated.runId)], error });
      for (const holder of [ended, terminated]) expect(await t.transact(holder)).toEqual({ outcome: "lost" });
      const runId = t.newId();
      expect(await t.transact(ended, { runId, messageId: outcomeMessageId(runId, "move") })).toEqual({
        outcome: "lost",
      });
      expect(await t.written()).toEqual([]);
    },

    "there is one result, whatever is repeated: the second call gets the first result": async (t) => {
      const holder = await t.held();
      const first = await t.transact(holder, { text: "first", payload: bytes("1") });
      for (const again of [false, true]) {
        expect(await t.transact(holder, { again, text: "second", payload: bytes("2") })).toEqual(first);
      }
      expect(await t.written()).toEqual(["first"]);
      expect(await t.run(holder.runId)).toMatchObject({ delivered: 1 });
    },

    "a result is returned again after it was consumed, and to later holders of the run": async (t) => {
      const holder = await t.held();
      const first = await t.transact(holder, { text: "first" });
      await holder.commit(HOLD, { consumed: 1, events: 1 });
      expect(await t.transact(holder, { text: "second" })).toEqual(first);
      await t.store.runs.releaseIfHeld({ namespace: "default", workerId: holder.workerId, runs: [holder] });
      const next = await t.claimOne(await t.worker());
      for (const again of [false, true]) {
        expect(await t.transact(next, { again, text: "third" })).toEqual(first);
        expect(await t.transact(holder, { again, text: "fourth" })).toEqual(first);
      }
      expect(await t.written()).toEqual(["first"]);
    },

    "what is asked again and has not happened happens": async (t) => {
      const holder = await t.held();
      expect(await t.transact(holder, { again: true })).toMatchObject({ outcome: "recorded", message: { number: 1 } });
      expect(await t.written()).toEqual(["move"]);
    },

    "steps of one run have a result each, and runs do not share theirs": async (t) => {
      const [a, b] = [await t.held(), await t.held()];
      for (const holder of [a, b])
        for (const op of ["debit", "credit", "debit#2"])
          expect(await t.transact(holder, { op })).toMatchObject({ outcome: "recorded", message: { name: op } });
      expect(await t.written()).toEqual(["credit", "credit", "debit", "debit", "debit#2", "debit#2"]);
      expect((await t.inbox(b.runId)).map(({ name }) => name)).toEqual(["debit", "credit", "debit#2"]);
    },

    "who has given up before is told the reason, and nothing happens": async (t) => {
      const holder = await t.held();
      const signal = AbortSignal.abort(new Error("enough"));
      for (const again of [false, true]) await expect(t.transact(holder, { signal, again })).rejects.toThrow("enough");
      expect(await t.written()).toEqual([]);
      expect(await t.run(holder.runId)).toMatchObject({ delivered: 0 });
    },

    "who gives up in the middle of the work is told the reason, and nothing happens": async (t) => {
      const holder = await t.held();
      const patience = new AbortController();
      const { application } = t.underTest;
      const work = (tx: unknown) => {
        const writing = application.write(tx, "never");
        if (writing instanceof Promise)
          return writing.then(() => patience.abort(new Error("enough"))).then(() => bytes("1"));
        patience.abort(new Error("enough"));
        return bytes("1");
      };
      await expect(t.transact(holder, { signal: patience.signal, work })).rejects.toThrow("enough");
      expect(await t.written()).toEqual([]);
      expect(await t.transact(holder)).toMatchObject({ outcome: "recorded", message: { number: 1 } });
    },

    "who has given up is still told of what has happened": async (t) => {
      const holder = await t.held();
      const first = await t.transact(holder);
      expect(await t.transact(holder, { again: true, signal: AbortSignal.abort(new Error("enough")) })).toEqual(first);
    },

    "result messages are numbered among the other messages": async (t) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId), { name: "a" });
      expect(await t.transact(holder)).toMatchObject({ message: { number: 2 } });
      await t.deliver(t.ref(holder.runId), { name: "b" });
      const inbox = await t.inbox(holder.runId);
      expect(inbox.map(({ number, kind, name }) => [number, kind, name])).toEqual([
        [1, "signal", "a"],
        [2, "outcome", "move"],
        [3, "signal", "b"],
      ]);
    },

    "a holder that has not consumed a result message keeps the run, and gets the message": async (t) => {
      for (const transition of [suspend(null), suspend(t.now + 1_000), end({ unlessBehind: true })]) {
        const holder = await t.held();
        await t.transact(holder);
        const answer = await holder.answerTo(holder.draft(transition));
        const outcome = transition.type === "end" ? "behind" : "written";
        expect(answer.outcomes).toEqual([{ outcome, held: true, delivered: 1 }]);
        expect(await t.run(holder.runId)).toMatchObject({ heldBy: holder.workerId, status: "running" });
        expect(await holder.commit(transition, { consumed: 1, events: 1 })).toMatchObject({ held: false });
      }
    },

    "a result message that was not consumed comes with the next claim": async (t) => {
      const holder = await t.held();
      const first = await t.transact(holder);
      await t.store.workers.stop({ namespace: "default", workerId: holder.workerId });
      const { runs, messages } = await t.claim(await t.worker());
      expect(runs.map(({ runId }) => runId)).toEqual([holder.runId]);
      expect([{ outcome: "recorded", message: messages[0] }]).toEqual([first]);
    },

    "a result message makes nothing due": async (t) => {
      const holder = await t.held();
      await t.transact(holder);
      expect(await t.run(holder.runId)).toMatchObject({ availableAt: null, status: "running" });
      expect((await t.claim(await t.worker())).runs).toEqual([]);
    },

    "a result message that was not consumed is passed on to the successor, as what it is": async (t) => {
      const holder = await t.held();
      await t.transact(holder);
      const next = t.newRun({ id: (await t.run(holder.runId)).id });
      await holder.commit(continueAs(next));
      const messageId = outcomeMessageId(holder.runId, "move");
      expect(await t.inbox(next.runId)).toMatchObject([{ number: 1, kind: "outcome", name: "move", messageId }]);
      const successor = await t.claimOne(await t.worker());
      expect(await t.transact(successor, { text: "again" })).toMatchObject({
        outcome: "recorded",
        message: { number: 2 },
      });
      expect(await t.written()).toEqual(["again", "move"]);
    },

    "payloads come back byte for byte": async (t) => {
      const holder = await t.held();
      const payloads = [
        new Uint8Array(0),
        Uint8Array.from({ length: 256 }, (_, i) => i),
        new Uint8Array(200_000).fill(7),
      ];
      for (const [i, payload] of payloads.entries()) {
        const op = `step ${i}`;
        const told = await t.transact(holder, { op, payload });
        const again = await t.transact(holder, { op, again: true });
        const [stored] = await t.inbox(holder.runId, i);
        for (const message of [told, again].map((result) => result.outcome === "recorded" && result.message)) {
          expect(message).toMatchObject({ name: op });
          expect(Buffer.compare((message as { payload: Uint8Array }).payload, payload)).toBe(0);
        }
        expect(Buffer.compare(stored?.payload as Uint8Array, payload)).toBe(0);
      }
    },

    "names of steps may be anything": async (t) => {
      const holder = await t.held();
      const names = ["Überweisung", "a 'quoted' \"name\"", "日本 😀", "x".repeat(200), "$1; drop table runs"];
      for (const op of names) await t.transact(holder, { op });
      expect((await t.inbox(holder.runId)).map(({ name }) => name)).toEqual(names);
    },

    "says whose transactions it has, and has a way into them exactly then": async (t) => {
      const { kind, words } = t.store.capabilities.transactions;
      expect(t.store.transact !== undefined).toBe(kind !== null);
      if (kind !== null) expect(kind).toBe(t.underTest.application.kind);
      expect(words).not.toBe("");
    },

    "copies of one step at the same time, on two connections, are one": async (t) => {
      const holder = await t.held();
      const second = await t.second();
      const params = Array.from({ length: 8 }, (_, i) => ({ text: `copy ${i}`, again: i % 3 === 2 }));
      const results = await Promise.all(
        params.map((fields, i) => t.transact(holder, fields, i % 2 ? second : t.store)),
      );
      for (const result of results) expect(result).toEqual(results[0]);
      expect(await t.written()).toHaveLength(1);
      expect(await t.run(holder.runId)).toMatchObject({ delivered: 1 });
    },

    "many steps and messages at the same time are numbered without a gap": async (t) => {
      const holder = await t.held();
      const second = await t.second();
      const steps = Array.from({ length: 12 }, (_, i) => `step ${i}`);
      const results = await Promise.all([
        ...steps.map((op, i) => t.transact(holder, { op }, i % 2 ? second : t.store)),
        ...steps.map((messageId) => untilAnswered(() => t.deliver(t.ref(holder.runId), { messageId }))),
      ]);
      expect(results.slice(0, 12).map(({ outcome }) => outcome)).toEqual(Array(12).fill("recorded"));
      const inbox = await t.inbox(holder.runId);
      expect(inbox.map(({ number }) => number)).toEqual(Array.from({ length: 24 }, (_, i) => i + 1));
      expect(await t.written()).toEqual([...steps].sort());
    },
  },
};
