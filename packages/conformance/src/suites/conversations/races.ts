import type { AskAnswer, NewAsk, StartRun, Store, TakeAsksResult } from "holdfast/adapter";
import { expect } from "vitest";
import { connections, pick, race, twoConnections } from "../../connections.ts";
import { parentOf, type RunKey } from "../../conversation-calls.ts";
import { aStart, type Fixture, REPLACED } from "../../fixture.ts";
import type { Holder } from "../../holder.ts";
import { untilAnswered } from "../../patience.ts";
import { bytes, end, errorRecord, HOLD, suspend } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";

const ROUNDS = 8;
const STOP = errorRecord("stop");

/** Calls about children, watchers and updates in flight at once: however they interleave, nothing is lost or doubled. */
export const conversationRaces: Suite = {
  noun: "conversation races",
  cases: {
    "a child that is started while its parent is terminated is closed, or never was": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const parent = await t.held();
        const start = t.talks.childStart(parent);
        const [outcome] = await race(
          round % 2 === 0,
          () => startAt(one, start),
          () => untilAnswered(() => other.runs.terminate({ runs: [t.ref(parent.runId)], error: STOP })),
        );
        await expectNoOrphan(t, parent, start, outcome);
      }
    },

    "a child that is started while its parent ends is closed, or never was": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const parent = await t.held();
        const start = t.talks.childStart(parent);
        const commits = [parent.draft(end(), { events: 1 })];
        const [outcome] = await race(
          round % 2 === 0,
          () => startAt(one, start),
          () => untilAnswered(() => other.runs.commit({ commits })),
        );
        await expectNoOrphan(t, parent, start, outcome);
      }
    },

    "a child that is started while its parent gives it up is closed, or never was": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const parent = await t.held();
        const start = t.talks.childStart(parent);
        const commits = [parent.draft(HOLD, { events: 1, closes: [start.run.runId] })];
        const [outcome] = await race(
          round % 2 === 0,
          () => startAt(one, start),
          () => untilAnswered(() => other.runs.commit({ commits })),
        );
        await expectNoOrphan(t, parent, start, outcome);
      }
    },

    "a child that ends while its parent does is told of, and not closed any more": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const parent = await t.held();
        const child = await t.talks.heldChild(parent);
        const [ofParent, ofChild] = [[parent.draft(end())], [child.draft(end())]];
        await race(
          round % 2 === 0,
          () => untilAnswered(() => one.runs.commit({ commits: ofParent })),
          () => untilAnswered(() => other.runs.commit({ commits: ofChild })),
        );
        await t.talks.resultOf(child);
        for (const debt of await t.talks.debts(parent)) expect(debt).toMatchObject({ kind: "close", children: [] });
        await t.talks.payAll();
      }
    },

    "children of one parent that are started and end at once are all told of": async (t) => {
      const stores = await connections(t);
      const parent = await t.held();
      const starts = Array.from({ length: 24 }, (_, i) => t.talks.childStart(parent, { op: `ship#${i}` }));
      const outcomes = await Promise.all(starts.map((start, i) => startAt(pick(stores, i), start)));
      expect(outcomes.filter((outcome) => outcome === "created")).toHaveLength(24);
      await Promise.all(
        starts.map(({ run }, i) =>
          untilAnswered(() => pick(stores, i).runs.terminate({ runs: [t.ref(run.runId)], error: STOP })),
        ),
      );
      const debts = await t.talks.debts();
      expect(new Set(debts.map((debt) => debt.kind === "result" && debt.parent?.op)).size).toBe(24);
      await Promise.all(debts.map((debt, i) => debt.kind === "result" && t.talks.tell(debt, pick(stores, i))));
      const inbox = await t.inbox(parent.runId);
      expect(inbox.map(({ number }) => number)).toEqual(Array.from({ length: 24 }, (_, i) => i + 1));
      expect(new Set(inbox.map(({ name }) => name)).size).toBe(24);
      expect(await t.run(parent.runId)).toMatchObject({ delivered: 24 });
    },

    "two payers of the same debts leave none, and forget no watcher": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const [parent, watcher] = [await t.held(), await t.held()];
        const child = await t.talks.heldChild(parent);
        const grandchild = await t.talks.child(child, { policy: "terminate", depth: 2 });
        await t.talks.watch(t.ref(child.runId), t.talks.op(watcher));
        await child.commit(end());
        await race(
          round % 2 === 0,
          () => t.talks.payAll(one),
          () => t.talks.payAll(other),
        );
        expect(await t.talks.debts()).toEqual([]);
        const copies = await Promise.all([parent, watcher].map(({ runId }) => t.inbox(runId)));
        // Each payer may have told them: the same message, once or more.
        for (const inbox of copies) expect(new Set(inbox.map(({ kind, messageId }) => kind + messageId)).size).toBe(1);
        expect(await t.run(grandchild)).toMatchObject({ status: "terminated" });
      }
    },

    "two payers who pay one debt at once count it once": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const child = await t.talks.heldChild(await t.held());
        await child.commit(end());
        const { debtNo, namespace, runId } = await t.talks.resultOf(child);
        const debts = [{ debtNo, namespace, runId }];
        const paid = await race(
          round % 2 === 0,
          () => untilAnswered(() => one.debts.pay({ debts })),
          () => untilAnswered(() => other.debts.pay({ debts })),
        );
        expect(paid.map((result) => result.paid).sort()).toEqual([0, 1]);
        expect(await t.talks.debts(child)).toEqual([]);
      }
    },

    "the end of a child that races with a suspend of its parent is not lost": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const parent = await t.held();
        const commits = [parent.draft(suspend(null), { events: 1 })];
        const messages = [t.newMessage(t.ref(parent.runId), { kind: "child_completed", name: "ship#1" })];
        const [committed] = await race(
          round % 2 === 0,
          () => untilAnswered(() => one.runs.commit({ commits })),
          () => untilAnswered(() => other.inbox.deliver({ messages, inboxMax: 1 })),
        );
        const run = await t.run(parent.runId);
        expect(run).toMatchObject({ delivered: 1, consumed: 0 });
        if (committed.outcomes[0]?.held) expect(run).toMatchObject({ heldBy: parent.workerId, availableAt: null });
        else expect(run.availableAt).not.toBeNull();
      }
    },

    "a watcher that comes while its run ends learns of the end": async (t) => {
      const [one, other] = await twoConnections(t);
      const watcher = await t.held();
      for (let round = 0; round < ROUNDS; round++) {
        const run = await t.held();
        const commits = [run.draft(end())];
        const [watched, committed] = await race(
          round % 2 === 0,
          () => t.talks.watch(t.ref(run.runId), t.talks.op(watcher), one),
          () => untilAnswered(() => other.runs.commit({ commits })),
        );
        const debts = await t.talks.debts(run);
        if (watched.outcome === "ended") expect(debts).toEqual([]);
        else {
          expect([watched.outcome, committed.outcomes[0]?.owes]).toEqual(["watching", true]);
          expect(debts).toMatchObject([{ kind: "result", watchers: [{ runId: watcher.runId }] }]);
        }
      }
    },

    "a watcher that comes while its run continues watches the successor": async (t) => {
      const [one, other] = await twoConnections(t);
      const watcher = await t.held();
      for (let round = 0; round < ROUNDS; round++) {
        const id = `x ${round}`;
        const run = await t.held({ id });
        const next = t.newRun({ id });
        const commits = [run.draft({ type: "continue", next, carried: [] })];
        const [watched] = await race(
          round % 2 === 0,
          () => t.talks.watch(t.ref(run.runId), t.talks.op(watcher), one),
          () => untilAnswered(() => other.runs.commit({ commits })),
        );
        expect(watched.outcome).toBe("watching");
        await t.store.runs.terminate({ runs: [t.ref(next.runId)], error: STOP });
        const debt = await t.talks.resultOf({ namespace: "default", runId: next.runId });
        expect(debt.watchers).toHaveLength(1);
      }
    },

    "a start with a message that comes twice at once starts one run, with one message": async (t) => {
      const stores = await connections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const id = `x ${round}`;
        const messages = [{ kind: "signal", name: "paid", messageId: "a", payload: bytes("1") }] as const;
        const policies = [{ ifRunning: "return" }, { ifRunning: "replace" }, { ifRunning: "fail" }] as const;
        const starts = stores.map(() => aStart(t.newRun({ id }), { ...policies[round % 3], messages }));
        const outcomes = await Promise.all(starts.map((start, i) => startAt(pick(stores, i), start)));
        expect([...outcomes].sort()).toEqual(["created", "returned", "returned"]);
        expect(await t.store.runs.count({ namespace: "default", id, atMost: null })).toBe(1);
        expect(await t.run({ namespace: "default", id })).toMatchObject({ status: "pending", delivered: 1 });
      }
    },

    "a start with a message that races with the end of the run reaches it, or starts the next": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const id = `x ${round}`;
        const run = await t.held({ id });
        const messages = [{ kind: "signal", name: "paid", messageId: "a", payload: bytes("1") }] as const;
        const start = aStart(t.newRun({ id }), { ifRunning: "return", ifClosed: "start", messages });
        const commits = [run.draft(end({ unlessBehind: true }))];
        const [outcome, committed] = await race(
          round % 2 === 0,
          () => startAt(one, start),
          () => untilAnswered(() => other.runs.commit({ commits })),
        );
        const ended = committed.outcomes[0]?.outcome === "written";
        expect([ended, outcome]).toEqual(ended ? [true, "created"] : [false, "returned"]);
        expect(await t.run({ namespace: "default", id })).toMatchObject({ delivered: 1 });
        expect(await t.run(run.runId)).toMatchObject({ delivered: ended ? 0 : 1 });
      }
    },

    "an update that races with a continuation is answered in one run of the chain": async (t) => {
      const [one, other] = await twoConnections(t);
      for (let round = 0; round < ROUNDS; round++) {
        const id = `x ${round}`;
        const run = await t.held({ id });
        const next = t.newRun({ id });
        const commits = [run.draft({ type: "continue", next, carried: [] })];
        const messages = [t.newMessage(t.ref(run.runId), { kind: "update", name: "add", messageId: "u" })];
        await race(
          round % 2 === 0,
          () => untilAnswered(() => one.runs.commit({ commits })),
          () => untilAnswered(() => other.inbox.deliver({ messages, inboxMax: 10 })),
        );
        expect(await t.talks.reply(t.ref(run.runId), "u")).toMatchObject({ runId: next.runId, stage: "unread" });
        expect(await t.inbox(next.runId)).toMatchObject([{ number: 1, messageId: "u" }]);
      }
    },

    "two workers never take the same question, and two answers are one": async (t) => {
      const [one, other] = await twoConnections(t);
      const asks: NewAsk[] = Array.from({ length: 20 }, () => {
        const about = { namespace: "default", runId: t.newId(), workflow: "order", version: "1", name: "total" };
        return { askId: t.newId(), ...about, payload: bytes("[]"), ttlMs: 10_000 };
      });
      await t.store.asks.ask({ asks });
      const taken: string[] = [];
      for (let round = 0; round < 50 && taken.length < asks.length; round++) {
        const results = await Promise.all([one, other, one, other].map((store) => takeAt(store)));
        taken.push(...results.flatMap((result) => result.asks.map(({ askId }) => askId)));
      }
      expect([...taken].sort()).toEqual(asks.map(({ askId }) => askId).sort());
      for (const { askId } of asks.slice(0, ROUNDS)) {
        const answers: readonly AskAnswer[] = [1, 2].map((n) => ({ type: "answered", payload: bytes(String(n)) }));
        const key = { namespace: "default", askId };
        await Promise.all(
          answers.map((answer, i) =>
            untilAnswered(() => pick([one, other], i).asks.answer({ answers: [{ ...key, answer }] })),
          ),
        );
        const [first] = await one.asks.read({ asks: [key] });
        expect(answers).toContainEqual(first);
        await other.asks.answer({ answers: answers.map((answer) => ({ ...key, answer })) });
        expect(await other.asks.read({ asks: [key] })).toEqual([first]);
      }
    },

    "a permission that is taken back while a child is started there counts or does not": async (t) => {
      const [one, other] = await twoConnections(t);
      const pair = { namespace: "other", other: "default" };
      const parent = await t.held();
      for (let round = 0; round < ROUNDS; round++) {
        await t.store.namespaces.allow(pair);
        const start = aStart(t.newRun({ namespace: "other" }), { parent: parentOf(parent) });
        const [outcome] = await race(
          round % 2 === 0,
          () => startAt(one, start),
          () => untilAnswered(() => other.namespaces.disallow(pair)),
        );
        const [run] = await t.store.runs.read({ runs: [{ namespace: "other", runId: start.run.runId }] });
        expect([run !== null, outcome]).toEqual(run ? [true, "created"] : [false, "not_allowed"]);
      }
    },
  },
};

async function startAt(store: Store, start: StartRun): Promise<string | undefined> {
  const params = { starts: [start], holdBy: null, replaceError: REPLACED, inboxMax: 1_000 };
  return (await untilAnswered(() => store.runs.start(params))).outcomes[0]?.outcome;
}

function takeAt(store: Store): Promise<TakeAsksResult> {
  const handlers = [{ workflow: "order", version: "1" }];
  return untilAnswered(() => store.asks.take({ namespace: "default", handlers, limit: 3 }));
}

/** The parent has ended, or has given the child up: either the child does not exist, or it will be closed. */
async function expectNoOrphan(t: Fixture, parent: Holder, { run }: StartRun, outcome: string | undefined) {
  const [child] = await t.store.runs.read({ runs: [t.ref(run.runId)] });
  if (outcome === "created") {
    expect(child).not.toBeNull();
    expect(await t.talks.toClose(parent)).toEqual([run.runId]);
    await t.talks.payAll();
    expect(await t.run(run.runId)).toMatchObject({ delivered: 1 });
  } else {
    expect([outcome, child]).toEqual(["parent_closed", null]);
    expect(await t.talks.debts(parent as RunKey)).toEqual([]);
  }
}
