import { CLOSED_STATUSES, DEBT_OVERDUE_MS, type Run, type Transition } from "holdfast/adapter";
import { expect } from "vitest";
import type { RunKey } from "../../conversation-calls.ts";
import { type Fixture, REPLACED, SWEEP } from "../../fixture.ts";
import type { Holder } from "../../holder.ts";
import { bytes, end, errorRecord, HOLD } from "../../sample-data.ts";
import type { Suite } from "../../suite.ts";

const STOP = errorRecord("stop");
const RETRIED = { type: "run_retried", op: null, meta: { forgets: [] } } as const;

/** What the end of a run owes to the op that has started it: exactly one result, until it is paid. */
export const debts: Suite = {
  noun: "debts",
  cases: {
    "a child that ends in a commit owes its result, with all that its parent must know": async (t) => {
      const statuses = CLOSED_STATUSES.filter(
        (status) => status !== "continued" && status !== "terminated" && status !== "moved",
      );
      for (const status of statuses) {
        const { parent, child } = await family(t);
        const error = status === "completed" ? null : errorRecord("no luck");
        const output = status === "completed" ? bytes('"shipped"') : null;
        const compensation = status === "failed" ? "compensated" : null;
        const transition = end({ status, output, error, compensation });
        expect(await child.commit(transition, { events: 2 })).toMatchObject({ outcome: "written", owes: true });
        const { namespace, runId, id, workflow, version } = await t.run(child.runId);
        const about = { namespace, runId, id };
        expect(await t.talks.resultOf(child)).toEqual({
          debtNo: expect.any(Number),
          ...about,
          kind: "result",
          end: {
            ...about,
            firstRunId: runId,
            workflow,
            version,
            status,
            output,
            error,
            compensation,
            eventCount: 2,
          },
          parent: { namespace: "default", runId: parent.runId, op: "ship#1" },
          watchers: [],
        });
      }
    },

    "the end of a child names its debt only if all that is owed is a result for the parent": async (t) => {
      const numbers = async (): Promise<number[]> => (await t.talks.debts()).map(({ debtNo }) => debtNo);
      const plain = await family(t);
      const { debtNo } = await plain.child.commit(end());
      expect([undefined, ...(await numbers())]).toContain(debtNo);
      const watched = await family(t);
      await t.talks.watch(t.ref(watched.child.runId), t.talks.op(await t.held()));
      const parental = await family(t);
      await t.talks.child(parental.child, { op: "load#1" });
      const parentless = await t.held();
      await t.talks.watch(t.ref(parentless.runId), t.talks.op(await t.held()));
      for (const run of [watched.child, parental.child, parentless])
        expect((await run.commit(end())).debtNo).toBeUndefined();
    },

    "each of the children that end in one flush, among others, names its own debt": async (t) => {
      const parent = await t.held();
      const holders = [await t.talks.heldChild(parent, { op: "a" }), await t.held()];
      for (const op of ["b", "c", "d"]) holders.push(await t.talks.heldChild(parent, { op }));
      await t.talks.watch(t.ref(holders[3]?.runId as string), t.talks.op(await t.held()));
      const commits = holders.map((holder, i) => holder.draft(end(), { events: i }));
      for (const copy of [commits, commits]) {
        const { outcomes } = await t.store.runs.commit({ commits: copy });
        expect(outcomes.map(({ owes }) => owes)).toEqual([true, undefined, true, true, true]);
        expect(outcomes[3]?.debtNo).toBeUndefined();
        const debts = await t.talks.debts();
        for (const [i, { debtNo }] of outcomes.entries())
          if (debtNo !== undefined) expect(debts.find((debt) => debt.debtNo === debtNo)?.runId).toBe(holders[i]?.runId);
      }
      expect(await t.talks.debts()).toHaveLength(4);
    },

    "a child that has also requested a lock, and has an update of another run, owes all of that": async (t) => {
      const { child } = await family(t);
      await t.locks.request(child, ["x"]);
      const next = await t.locks.run("x");
      await t.talks.update(t.ref(child.runId), "u", { replyTo: t.talks.op(await t.held(), "ask#1") });
      const { debtNo } = await child.commit(end());
      expect(debtNo).toBeUndefined();
      expect((await t.talks.debts(child)).map(({ kind }) => kind).sort()).toEqual(["lock", "reply", "result"]);
      await t.talks.payAll();
      expect(await t.talks.debts()).toEqual([]);
      expect((await t.locks.line("x")).holders).toEqual([next.holder.runId]);
    },

    "a child that had a place in a queue with limits leaves it to the next one": async (t) => {
      await t.queues.set({ concurrency: 1 }, "narrow");
      const parent = await t.held();
      const runIds = [];
      for (const op of ["a", "b"]) runIds.push(await t.talks.child(parent, { op }, { queue: "narrow" }));
      const worker = await t.worker();
      const [first, ...more] = await t.queues.claim(worker, { queues: ["narrow"] });
      expect([first?.runId, more]).toEqual([runIds[0], []]);
      expect(await first?.commit(end())).toMatchObject({ owes: true });
      expect(await t.queues.claimed(worker, { queues: ["narrow"] })).toEqual([runIds[1]]);
    },

    "a child that is terminated owes its result, held or not": async (t) => {
      const { parent, child } = await family(t);
      const idle = await t.talks.child(parent, { op: "ship#2" });
      for (const runId of [child.runId, idle]) {
        const [outcome] = await t.store.runs.terminate({ runs: [t.ref(runId)], error: STOP });
        expect(outcome).toMatchObject({ outcome: "terminated", owes: true });
        const debt = await t.talks.resultOf({ namespace: "default", runId });
        expect(debt).toMatchObject({ end: { runId, status: "terminated", error: STOP, output: null } });
      }
    },

    "a child that is replaced owes its result, and the start says so": async (t) => {
      const { child } = await family(t, { id: "c" });
      const started = await t.start({ id: "c" }, { ifRunning: "replace" });
      expect(started).toMatchObject({ outcome: "created", owes: { runId: child.runId } });
      expect(await t.talks.resultOf(child)).toMatchObject({ end: { status: "terminated", error: REPLACED } });
      const other = await t.held({ id: "d" });
      expect((await t.start({ id: "d" }, { ifRunning: "replace" })).owes).toBeUndefined();
      expect(await t.talks.debts(other)).toEqual([]);
    },

    "a child that nobody has claimed in time owes its result, and the sweep says so": async (t) => {
      const parent = await t.held({}, await t.worker({ leaseMs: 1_000_000 }));
      const late = await t.talks.child(parent, {}, { timeoutMs: 100 });
      await t.advance(100 + SWEEP.timeoutGraceMs);
      expect(await t.sweep()).toMatchObject({ timedOut: 1, owes: true });
      const debt = await t.talks.resultOf({ namespace: "default", runId: late });
      expect(debt).toMatchObject({ end: { runId: late, status: "timed_out", error: SWEEP.timeoutError } });
    },

    "a run that nobody waits for owes nothing, however it ends": async (t) => {
      const { parent } = await family(t);
      const ends: readonly Transition[] = [end(), end({ status: "failed" }), end({ status: "canceled" })];
      for (const transition of ends) {
        expect((await (await t.held()).commit(transition)).owes).toBeUndefined();
        const ofStep = await t.talks.heldChild(parent, { op: null, policy: "abandon" });
        expect((await ofStep.commit(transition)).owes).toBeUndefined();
      }
      const [outcome] = await t.store.runs.terminate({ runs: [t.ref((await t.held()).runId)], error: STOP });
      expect(outcome?.owes).toBeUndefined();
      await t.start({ timeoutMs: 1 });
      await t.advance(1 + SWEEP.timeoutGraceMs);
      expect((await t.sweep()).owes).toBeUndefined();
      expect(await t.talks.debts()).toEqual([]);
    },

    "a child that goes on, or is parked, owes nothing yet": async (t) => {
      const { child } = await family(t);
      expect((await child.commit(HOLD, { events: 1 })).owes).toBeUndefined();
      expect((await child.commit({ type: "park", error: STOP })).owes).toBeUndefined();
      expect(await t.talks.debts()).toEqual([]);
    },

    "a child that continues owes nothing, and the last run of its chain owes the result": async (t) => {
      const { child, parent } = await family(t, { id: "c" });
      const next = t.newRun({ id: "c" });
      expect((await child.commit({ type: "continue", next, carried: [] })).owes).toBeUndefined();
      const successor = await t.claimOne(await t.worker());
      expect(await successor.commit(end())).toMatchObject({ owes: true });
      expect(await t.talks.debts()).toHaveLength(1);
      expect(await t.talks.resultOf(successor)).toMatchObject({
        end: { runId: next.runId, firstRunId: child.runId },
        parent: { runId: parent.runId, op: "ship#1" },
      });
    },

    "a commit that is repeated says again that there is a debt, and makes no second one": async (t) => {
      const { child } = await family(t);
      const draft = child.draft(end(), { events: 1 });
      expect(await child.send(draft)).toMatchObject({ outcome: "written", owes: true });
      const debt = await t.talks.resultOf(child);
      expect(await child.send(draft)).toMatchObject({ outcome: "written", owes: true });
      expect(await t.talks.resultOf(child)).toEqual(debt);
      await t.talks.pay(debt);
      expect((await child.send(draft)).owes).toBeUndefined();
      expect(await t.talks.debts()).toEqual([]);
    },

    "a terminate of a closed run says whether it still owes something": async (t) => {
      const { child } = await family(t);
      await child.commit(end());
      const terminate = () => t.store.runs.terminate({ runs: [t.ref(child.runId)], error: STOP });
      expect((await terminate())[0]).toMatchObject({ outcome: "closed", status: "completed", owes: true });
      await t.talks.pay(await t.talks.resultOf(child));
      expect((await terminate())[0]?.owes).toBeUndefined();
      expect(await t.talks.debts()).toEqual([]);
    },

    "a commit that is lost or behind makes no debt": async (t) => {
      const { child } = await family(t);
      const draft = child.draft(end());
      expect((await child.send({ ...draft, commit: 3 })).owes).toBeUndefined();
      await t.deliver(t.ref(child.runId));
      const behind = await child.commit(end({ unlessBehind: true }));
      expect([behind.outcome, behind.owes]).toEqual(["behind", undefined]);
      expect(await t.talks.debts()).toEqual([]);
    },

    "debts are read oldest first, of all namespaces, or of some runs": async (t) => {
      const { parent } = await family(t);
      await t.store.namespaces.allow({ namespace: "other", other: "default" });
      const children: RunKey[] = [];
      for (const namespace of ["default", "other", "default"])
        children.push(await t.talks.heldChild(parent, { op: `ship in ${namespace}` }, { namespace }));
      const [a, b, c] = children as [Holder, Holder, Holder];
      for (const child of [b, c, a]) await child.commit(end());
      const all = await t.store.debts.read({ limit: 10 });
      expect(all.map(({ runId }) => runId)).toEqual([b.runId, c.runId, a.runId]);
      expect(all.map(({ debtNo }) => debtNo)).toEqual([...all.map(({ debtNo }) => debtNo)].sort((x, y) => x - y));
      expect(await t.store.debts.read({ limit: 2 })).toEqual(all.slice(0, 2));
      expect(await t.talks.debts(a, b)).toEqual([all[0], all[2]]);
      expect(await t.store.debts.read({ runs: [t.ref(a.runId) as RunKey, b], limit: 1 })).toEqual([all[0]]);
      expect(await t.talks.debts({ namespace: "default", runId: b.runId })).toEqual([]);
      expect(await t.talks.debts({ namespace: "default", runId: parent.runId })).toEqual([]);
      expect(await t.store.debts.read({ runs: [], limit: 10 })).toEqual([]);
    },

    "a debt that was paid is gone, and can be paid again": async (t) => {
      const { child } = await family(t);
      const other = await t.talks.heldChild(await t.held());
      await child.commit(end());
      await other.commit(end());
      const debt = await t.talks.resultOf(child);
      expect(await t.talks.pay(debt)).toBe(1);
      expect(await t.talks.debts(child)).toEqual([]);
      expect(await t.talks.pay(debt)).toBe(0);
      expect(await t.talks.debts()).toHaveLength(1);
    },

    "a debt is paid under its number, its run and its namespace only": async (t) => {
      const { child, parent } = await family(t);
      await child.commit(end());
      const debt = await t.talks.resultOf(child);
      expect(await t.talks.pay({ ...debt, namespace: "other" })).toBe(0);
      expect(await t.talks.pay({ ...debt, runId: parent.runId })).toBe(0);
      expect(await t.talks.pay({ ...debt, debtNo: debt.debtNo + 1 })).toBe(0);
      expect(await t.talks.resultOf(child)).toEqual(debt);
    },

    "a child that is retried forgets the result that it owed, and owes the next one": async (t) => {
      const { child } = await family(t);
      await child.commit(end({ status: "failed", output: null, error: STOP }), { events: 1 });
      const before = await t.talks.resultOf(child);
      const run = t.ref(child.runId);
      expect(await t.store.runs.reopenIfFailed({ run, eventCount: 1, event: RETRIED })).toMatchObject({
        outcome: "reopened",
      });
      expect(await t.talks.debts()).toEqual([]);
      const again = await t.claimOne(await t.worker());
      expect(await again.commit(end())).toMatchObject({ owes: true });
      const debt = await t.talks.resultOf(child);
      expect(debt.end).toMatchObject({ status: "completed", eventCount: 2, error: null });
      expect(debt.debtNo).toBeGreaterThan(before.debtNo);
      expect(await t.talks.pay(before)).toBe(0);
    },

    "a child that is retried after its result was paid owes the next one": async (t) => {
      const { child } = await family(t);
      await child.commit(end({ status: "failed", output: null, error: STOP }));
      await t.talks.pay(await t.talks.resultOf(child));
      await t.store.runs.reopenIfFailed({ run: t.ref(child.runId), eventCount: 0, event: RETRIED });
      expect(await (await t.claimOne(await t.worker())).commit(end())).toMatchObject({ owes: true });
      expect(await t.talks.resultOf(child)).toMatchObject({ end: { status: "completed", eventCount: 1 } });
    },

    "a sweep reports a debt that nobody has paid for a while": async (t) => {
      const parent = await t.held({}, await t.worker({ leaseMs: 1_000_000 }));
      const child = await t.talks.heldChild(parent);
      await child.commit(end());
      expect((await t.sweep()).owes).toBeUndefined();
      await t.advance(DEBT_OVERDUE_MS - 1);
      expect((await t.sweep()).owes).toBeUndefined();
      await t.advance(1);
      expect(await t.sweep()).toMatchObject({ owes: true });
      expect(await t.sweep({ gone: [t.newId()] })).toMatchObject({ owes: true });
      await t.talks.payAll();
      expect((await t.sweep()).owes).toBeUndefined();
    },

    "a sweep that ends a run which owes nothing does not report the new debts of others": async (t) => {
      const parent = await t.held({}, await t.worker({ leaseMs: 1_000_000 }));
      const child = await t.talks.heldChild(parent);
      await t.start({ timeoutMs: 1 });
      await t.advance(1 + SWEEP.timeoutGraceMs);
      await child.commit(end());
      const swept = await t.sweep();
      expect([swept.timedOut, swept.owes]).toEqual([1, undefined]);
    },

    "a purge leaves a run alone that owes something": async (t) => {
      const { child } = await family(t);
      await child.commit(end());
      const other = await t.held();
      await t.advance(1);
      await other.commit(end());
      await t.advance(10);
      const purge = () => t.store.runs.purge({ namespace: "default", endedBefore: t.now, limit: 1 });
      expect(await purge()).toMatchObject({ purged: 1, more: false });
      expect(await purge()).toMatchObject({ purged: 0, more: false });
      expect(await t.run(child.runId)).toMatchObject({ status: "completed" });
      await t.talks.pay(await t.talks.resultOf(child));
      expect(await purge()).toMatchObject({ purged: 1, more: false });
    },

    "a debt brings large results whole": async (t) => {
      const { child } = await family(t);
      const output = new Uint8Array(300_000).map((_, i) => i % 251);
      await child.commit(end({ output }));
      const found = (await t.talks.resultOf(child)).end.output as Uint8Array;
      expect(found.length === output.length && output.every((byte, i) => byte === found[i])).toBe(true);
    },

    "a result reaches the parent once it is paid, and the parent can use it up": async (t) => {
      const { parent, child } = await family(t);
      await child.commit(end({ output: bytes('"shipped"') }));
      await t.talks.payAll();
      const inbox = await t.inbox(parent.runId);
      expect(inbox).toMatchObject([{ kind: "child_completed", name: "ship#1", payload: bytes('"shipped"') }]);
      await parent.commit(HOLD, { events: 1, consumed: 1, results: [1] });
      expect(await t.inbox(parent.runId)).toEqual([]);
      expect((await t.run(parent.runId)) satisfies Run).toMatchObject({ delivered: 1, consumed: 1 });
    },
  },
};

/** A held run and a held child of it. */
async function family(t: Fixture, fields: { readonly id?: string } = {}): Promise<{ parent: Holder; child: Holder }> {
  const parent = await t.held();
  return { parent, child: await t.talks.heldChild(parent, {}, fields) };
}
