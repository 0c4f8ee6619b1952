import { CLOSED_STATUSES, EVENT_TYPES, type HistoryEvent } from "holdfast/adapter";
import { expect } from "vitest";
import type { Fixture } from "../fixture.ts";
import { bytes, end, errorRecord, HOLD, someEvents } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

/** Runs and histories, one by one. listing.ts has lists and counts. */
export const reading: Suite = {
  noun: "reading",
  cases: {
    "runs.read answers in the order asked for, null where there is none": async (t) => {
      const [a, b] = [await t.start({ id: "a" }), await t.start({ id: "b" })];
      const runs = await t.store.runs.read({
        runs: [
          { namespace: "default", id: "b" },
          t.ref(t.newId()),
          t.ref(a.run.runId),
          { namespace: "elsewhere", id: "a" },
          t.ref(b.run.runId),
        ],
      });
      expect(runs.map((run) => run?.id ?? null)).toEqual(["b", null, "a", null, "b"]);
      expect(await t.store.runs.read({ runs: [] })).toEqual([]);
    },

    "runs.read by id gives the newest run, open or closed": async (t) => {
      const first = await t.held({ id: "a" });
      await first.commit(end());
      const byId = { namespace: "default", id: "a" };
      expect((await t.run(byId)).runId).toBe(first.runId);
      const { run } = await t.start({ id: "a" }, { ifClosed: "start" });
      expect((await t.run(byId)).runId).toBe(run.runId);
      await t.store.runs.terminate({ runs: [byId], error: errorRecord("x") });
      expect((await t.run(byId)).runId).toBe(run.runId);
      expect((await t.run(first.runId)).status).toBe("completed");
    },

    "histories.read gives each run's events behind a number, in order, up to the limit": async (t) => {
      const [a, b, empty] = [await t.held(), await t.held(), await t.held()];
      await a.commit(HOLD, { events: 5 });
      await b.commit(HOLD, { events: 2 });
      const read = (limitPerRun: number, afterSeq: number) =>
        t.store.histories.read({
          runs: [b, { runId: t.newId() }, empty, a].map(({ runId }) => ({ namespace: "default", runId, afterSeq })),
          limitPerRun,
        });
      expect(seqs(await read(100, 0))).toEqual([[1, 2], [], [], [1, 2, 3, 4, 5]]);
      expect(seqs(await read(3, 0))).toEqual([[1, 2], [], [], [1, 2, 3]]);
      expect(seqs(await read(3, 1))).toEqual([[2], [], [], [2, 3, 4]]);
      expect(seqs(await read(3, 5))).toEqual([[], [], [], []]);
      expect(await t.store.histories.read({ runs: [], limitPerRun: 3 })).toEqual([]);
    },

    "histories.read pages from where each run was left": async (t) => {
      const [a, b] = [await t.held(), await t.held()];
      await a.commit(HOLD, { events: 3 });
      await b.commit(HOLD, { events: 3 });
      const runs = [
        { namespace: "default", runId: a.runId, afterSeq: 2 },
        { namespace: "default", runId: b.runId, afterSeq: 1 },
      ];
      expect(seqs(await t.store.histories.read({ runs, limitPerRun: 1 }))).toEqual([[3], [2]]);
    },

    "a history has neither the start nor the end of the run": async (t) => {
      const holder = await t.held();
      await holder.commit(end(), { events: 2 });
      expect(await t.history(holder.runId)).toEqual(someEvents(0, 2));
    },

    "an event keeps every field, and the absence of each": async (t) => {
      const holder = await t.held();
      const events: HistoryEvent[] = [
        { seq: 1, type: "deadline_reached", op: null, at: t.now },
        { seq: 2, type: "step_completed", op: "charge#2", at: t.now + 1, payload: new Uint8Array(0) },
        { seq: 3, type: "signal_received", op: "go", at: t.now + 1, meta: { messageId: "m" } },
        { seq: 4, type: "step_failed", op: "x", at: t.now + 2, payload: bytes("{}"), meta: { attempt: 7 } },
        { seq: 5, type: "timer_created", op: "sleep", at: 8_640_000_000_000_000, meta: { fireAt: 8.64e15 } },
      ];
      await holder.commit(HOLD, { events });
      expect(await t.history(holder.runId)).toEqual(events);
    },

    "every type of event is kept": async (t) => {
      const holder = await t.held();
      const events = ROW_TYPES.map((type, i): HistoryEvent => ({ seq: i + 1, type, op: "op", at: t.now }));
      await holder.commit(HOLD, { events });
      expect((await t.history(holder.runId)).map(({ type }) => type)).toEqual(ROW_TYPES);
    },

    "what is read does not change when the run does, and changing it changes nothing": async (t) => {
      const holder = await t.held({ attributes: { a: 1 } });
      const before = await t.run(holder.runId);
      const copy = structuredClone(before);
      await holder.commit(HOLD, { events: 1, attributes: { a: 2 } });
      expect(before).toEqual(copy);
      Object.assign(await t.run(holder.runId), { status: "failed", epoch: 99 });
      expect(await t.run(holder.runId)).toMatchObject({ status: "running", epoch: 1 });
    },

    "what another connection has written is read": async (t) => {
      const second = await t.second();
      const { run } = await t.start({ id: "a" });
      const [seen] = await second.runs.read({ runs: [t.ref(run.runId)] });
      expect(seen).toEqual(await t.run(run.runId));
      await second.runs.terminate({ runs: [t.ref(run.runId)], error: errorRecord("x") });
      expect(await t.run(run.runId)).toMatchObject({ status: "terminated" });
    },
  },
};

/** Every type that has its own row: the start and the end are in the run row. */
const ROW_TYPES = EVENT_TYPES.filter(
  (type) => type !== "run_started" && !CLOSED_STATUSES.some((status) => type === `run_${status}`),
);

function seqs(histories: Awaited<ReturnType<Fixture["store"]["histories"]["read"]>>): number[][] {
  return histories.map((events) => events.map(({ seq }) => seq));
}
