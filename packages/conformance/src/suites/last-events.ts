import type { HistoryEvent, RunRow } from "holdfast/adapter";
import { expect } from "vitest";
import type { Fixture } from "../fixture.ts";
import { Holder } from "../holder.ts";
import { APPEND, bytes, end, errorRecord, HOLD, someEvents } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

const RETRIED = { type: "run_retried", op: null, meta: { by: "ana" } } as const;
const FORKED = { type: "run_forked", op: null, payload: bytes("{}"), meta: { seed: "another", by: "ana" } } as const;
const FAILED = end({ status: "failed", output: null, error: errorRecord("boom") });

/** The events of the commit that ends a run. A store may keep them elsewhere than the others: nobody can tell. */
export const lastEvents: Suite = {
  noun: "last events",
  cases: {
    "an event of the last commit is read like the others, whole and in windows": async (t) => {
      for (const before of [0, 1, 3]) {
        const { runId } = await endedAfter(t, before);
        const all = someEvents(0, before + 1);
        expect(await t.history(runId)).toEqual(all);
        expect(await t.run(runId)).toMatchObject({ eventCount: before + 1, status: "completed" });
        for (const afterSeq of [0, 1, 2, 3, 4])
          for (const limitPerRun of [1, 2, 10])
            expect(await read(t, runId, afterSeq, limitPerRun)).toEqual(all.slice(afterSeq, afterSeq + limitPerRun));
      }
    },

    "events of several runs, of one call, are those of their runs": async (t) => {
      const workerId = await t.worker();
      const holders = [await t.held({}, workerId), await t.held({}, workerId), await t.held({}, workerId)];
      const counts = [1, 0, 2];
      await t.store.runs.commit({
        commits: holders.map((holder, i) => holder.draft(end(), { events: counts[i] as number })),
      });
      for (const [i, { runId }] of holders.entries())
        expect(await t.history(runId)).toEqual(someEvents(0, counts[i] as number));
    },

    "every type, payload, op and meta survives": async (t) => {
      const lengths = [0, 1, 255, 256, 257, 3_000];
      const kinds: Partial<HistoryEvent>[] = [
        { type: "timer_fired", op: "nap" },
        { type: "cancel_requested", op: null },
        { type: "step_failed", op: "pay", meta: { attempt: 3, error: errorRecord("no") } },
        { type: "signal_received", op: "ok", payload: bytes('"é"'), meta: { number: 1 } as HistoryEvent["meta"] },
        ...lengths.map((length) => ({ payload: new Uint8Array(length).fill(7) })),
      ] as Partial<HistoryEvent>[];
      for (const kind of kinds) {
        const [plain] = someEvents(0, 1);
        const { payload: _, ...rest } = plain as HistoryEvent;
        const event = { ...rest, ...kind } as HistoryEvent;
        const holder = await t.held();
        await holder.commit(end(), { events: [event] });
        expect(await t.history(holder.runId)).toEqual([event]);
      }
    },

    "the last commit may be repeated": async (t) => {
      const holder = await t.held();
      const last = holder.draft(end(), { events: 1 });
      expect(await holder.send(last)).toMatchObject({ outcome: "written" });
      expect(await t.store.runs.commit({ commits: [last] })).toMatchObject({ outcomes: [{ outcome: "written" }] });
      expect(await t.history(holder.runId)).toEqual(someEvents(0, 1));
    },

    "one that is refused leaves nothing behind": async (t) => {
      const holder = await t.held();
      await t.deliver(t.ref(holder.runId));
      const behind = holder.draft(end({ unlessBehind: true }), { events: 1 });
      expect(await t.store.runs.commit({ commits: [behind] })).toMatchObject({ outcomes: [{ outcome: "behind" }] });
      const lost = { ...holder.draft(end(), { events: 1 }), epoch: 9 };
      expect(await t.store.runs.commit({ commits: [lost] })).toMatchObject({ outcomes: [{ outcome: "lost" }] });
      expect(await t.history(holder.runId)).toEqual([]);
    },

    "lists say when it was": async (t) => {
      const holder = await t.held();
      await t.advance(50);
      await holder.commit(end(), { events: someEvents(0, 1, t.now) });
      await t.advance(50);
      const listed = await t.store.runs.list({ namespace: "default", limit: 10 });
      expect(listed).toMatchObject([{ runId: holder.runId, lastEventAt: t.now - 50 }]);
    },

    "a run that is reopened has it, and goes on after it, as often as that happens": async (t) => {
      const { runId } = await endedAfter(t, 1, FAILED);
      for (let events = 2; events < 8; events += 2) {
        const before = await t.history(runId);
        expect(before).toHaveLength(events);
        await t.advance(10);
        const reopened = await t.store.runs.reopenIfFailed({ run: t.ref(runId), eventCount: events, event: RETRIED });
        expect(reopened).toMatchObject({ outcome: "reopened" });
        expect(await t.history(runId)).toEqual([...before, { ...RETRIED, seq: events + 1, at: t.now }]);
        const [run] = (await t.claim(await t.worker())).runs;
        const holder = new Holder(t.store, run?.heldBy as string, run as RunRow);
        expect(await holder.commit(FAILED, { events: 1 })).toMatchObject({ outcome: "written" });
      }
      expect((await t.history(runId)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    },

    "a note of a reopened run is not earlier than it": async (t) => {
      const holder = await t.held();
      const at = t.now + 1_000;
      await holder.commit(FAILED, { events: someEvents(0, 1, at) });
      await t.store.runs.reopenIfFailed({ run: t.ref(holder.runId), eventCount: 1, event: RETRIED });
      expect((await t.history(holder.runId)).map((event) => event.at)).toEqual([at, at]);
    },

    "a fork copies it, or leaves it out": async (t) => {
      const { runId } = await endedAfter(t, 2);
      const origin = { namespace: "default", runId };
      for (const copied of [3, 2]) {
        const params = { origin, copied, judged: copied, numberedFrom: 0, event: FORKED, run: t.newRun() };
        const { outcome, run } = await t.store.runs.fork(params);
        expect(outcome).toBe("forked");
        const forked = { ...FORKED, seq: copied + 1, at: t.now };
        expect(await t.history((run as RunRow).runId)).toEqual([...someEvents(0, copied), forked]);
      }
    },

    "a fork before a compensation is refused, if that was the last event": async (t) => {
      const holder = await t.held();
      await holder.commit(HOLD, { events: 1 });
      const [event] = someEvents(1, 1);
      await holder.commit(FAILED, { events: [{ ...(event as HistoryEvent), op: "compensate:charge" }] });
      const origin = { namespace: "default", runId: holder.runId };
      const params = { origin, copied: 1, judged: 1, numberedFrom: 0, event: FORKED, run: t.newRun() };
      expect(await t.store.runs.fork(params)).toMatchObject({ outcome: "compensated" });
      expect(await t.store.runs.fork({ ...params, judged: 2 })).toMatchObject({ outcome: "forked" });
    },

    "its value is read and replaced with the others": async (t) => {
      const { runId } = await endedAfter(t, 1);
      const asked = { namespace: "default", runId };
      const places = async () => {
        const runs = [{ ...asked, after: { part: "output", number: 0 } as const }];
        const [page = []] = await t.store.payloads.read({ runs, limitPerRun: 10, bytesPerRun: 10_000 });
        return page;
      };
      const [first, second] = someEvents(0, 2) as [HistoryEvent, HistoryEvent];
      expect((await places()).map(({ number }) => number)).toEqual([1, 2]);
      const from = second.payload as Uint8Array;
      const change = { ...asked, part: "event", number: 2, from, to: bytes("other") } as const;
      for (const outcome of ["replaced", "replaced"])
        expect(await t.store.payloads.replaceIfUnchanged({ payloads: [change] })).toMatchObject({
          outcomes: [outcome],
        });
      expect(
        await t.store.payloads.replaceIfUnchanged({ payloads: [{ ...change, to: bytes("third") }] }),
      ).toMatchObject({
        outcomes: ["changed"],
      });
      expect(await t.history(runId)).toEqual([first, { ...second, payload: bytes("other") }]);
    },

    "a purge leaves nothing of it": async (t) => {
      const { runId } = await endedAfter(t, 1);
      await t.advance(10);
      await t.store.runs.purge({ namespace: "default", endedBefore: t.now, statuses: ["completed"], limit: 10 });
      expect(await t.history(runId)).toEqual([]);
    },
  },
};

/** A run with so many events, and one more of its last commit. */
async function endedAfter(t: Fixture, before: number, transition = end()): Promise<Holder> {
  const holder = await t.held();
  for (let i = 0; i < before; i++) await holder.commit(i === 0 ? HOLD : APPEND, { events: 1 });
  expect(await holder.commit(transition, { events: 1 })).toMatchObject({ outcome: "written", held: false });
  return holder;
}

async function read(t: Fixture, runId: string, afterSeq: number, limitPerRun: number) {
  const [events] = await t.store.histories.read({ runs: [{ namespace: "default", runId, afterSeq }], limitPerRun });
  return events;
}
