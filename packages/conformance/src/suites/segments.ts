import type { RunSegments, Segment } from "holdfast/adapter";
import { expect } from "vitest";
import type { Fixture } from "../fixture.ts";
import type { Holder } from "../holder.ts";
import { bytes, end, HOLD } from "../sample-data.ts";
import type { Suite } from "../suite.ts";

/** Packed copies of long histories. To the store they are bytes. */
export const segments: Suite = {
  noun: "segments",
  cases: {
    "a run keeps segments that follow each other, and returns them in order, behind a seq, up to the limit": async (
      t,
    ) => {
      const { runId } = await long(t, 30);
      expect(await add(t, runId, [segment(1, 10), segment(11, 15)])).toBe(true);
      expect(await add(t, runId, [segment(16, 30, 2 ** 32 - 1)])).toBe(true);
      const all = [segment(1, 10), segment(11, 15), segment(16, 30, 2 ** 32 - 1)];
      expect(await read(t, runId)).toEqual({ edition: 0, segments: all });
      expect((await read(t, runId, 0, 2)).segments).toEqual(all.slice(0, 2));
      expect((await read(t, runId, 10)).segments).toEqual(all.slice(1));
      expect((await read(t, runId, 12)).segments).toEqual(all.slice(1));
      expect((await read(t, runId, 30)).segments).toEqual([]);
    },

    "the bytes come back as they were, also none at all": async (t) => {
      const { runId } = await long(t, 2);
      const every = Uint8Array.from({ length: 256 }, (_, i) => i);
      const kept = [
        { ...segment(1, 1), bytes: every },
        { ...segment(2, 2), bytes: new Uint8Array(0) },
      ];
      expect(await add(t, runId, kept)).toBe(true);
      const found = (await read(t, runId)).segments.map((one) => [...one.bytes]);
      expect(found).toEqual([[...every], []]);
    },

    "events stay when they are packed": async (t) => {
      const { runId } = await long(t, 5);
      const before = await t.history(runId);
      await add(t, runId, [segment(1, 5)]);
      expect(await t.history(runId)).toEqual(before);
    },

    "a segment beyond the durable end of the history is not kept": async (t) => {
      const { runId } = await long(t, 9);
      expect(await add(t, runId, [segment(1, 5), segment(6, 10)])).toBe(false);
      expect(await read(t, runId)).toEqual({ edition: 0, segments: [] });
      expect(await add(t, runId, [segment(1, 9)])).toBe(true);
    },

    "segments that leave a gap, overlap, are empty or are none are not kept": async (t) => {
      const { runId } = await long(t, 20);
      expect(await add(t, runId, [segment(2, 5)])).toBe(false);
      expect(await add(t, runId, [segment(1, 5), segment(7, 9)])).toBe(false);
      expect(await add(t, runId, [segment(1, 5), segment(5, 9)])).toBe(false);
      expect(await add(t, runId, [segment(1, 0)])).toBe(false);
      expect(await add(t, runId, [])).toBe(false);
      expect((await read(t, runId)).segments).toEqual([]);
    },

    "a repeated call adds nothing": async (t) => {
      const { runId } = await long(t, 20);
      expect(await add(t, runId, [segment(1, 5)])).toBe(true);
      expect(await add(t, runId, [segment(1, 5)])).toBe(false);
      expect((await read(t, runId)).segments).toEqual([segment(1, 5)]);
    },

    "dropping deletes the segments of a run, and refuses those of events that were read before": async (t) => {
      const { runId } = await long(t, 20);
      const other = await long(t, 20);
      await add(t, runId, [segment(1, 5)]);
      await add(t, other.runId, [segment(1, 5)]);
      expect(await drop(t, [runId])).toEqual([1]);
      expect(await read(t, runId)).toEqual({ edition: 1, segments: [] });
      expect(await add(t, runId, [segment(1, 5)], 0)).toBe(false);
      expect(await add(t, runId, [segment(1, 7)], 1)).toBe(true);
      expect(await read(t, runId)).toEqual({ edition: 1, segments: [segment(1, 7)] });
      expect((await read(t, other.runId)).segments).toEqual([segment(1, 5)]);
      expect(await drop(t, [runId, t.newId(), other.runId])).toEqual([2, null, 1]);
      expect(await read(t, runId)).toEqual({ edition: 2, segments: [] });
    },

    "purge deletes the segments of a run, and what was dropped of it": async (t) => {
      const holder = await long(t, 5);
      await drop(t, [holder.runId]);
      await add(t, holder.runId, [segment(1, 5)], 1);
      await holder.commit(end());
      await t.advance(10);
      await t.store.runs.purge({ namespace: "default", endedBefore: t.now, limit: 10 });
      expect(await read(t, holder.runId)).toEqual({ edition: 0, segments: [] });
      // The same run id, and perhaps the same place in the store.
      await t.start({ runId: holder.runId });
      expect(await read(t, holder.runId)).toEqual({ edition: 0, segments: [] });
      expect(await drop(t, [holder.runId])).toEqual([1]);
    },

    "a run that is reopened keeps its segments, and gets more": async (t) => {
      const holder = await long(t, 5);
      await add(t, holder.runId, [segment(1, 5)]);
      await holder.commit(end({ status: "failed", output: null }));
      const event = { type: "run_retried", op: null } as const;
      await t.store.runs.reopenIfFailed({ run: t.ref(holder.runId), eventCount: 5, event });
      expect((await read(t, holder.runId)).segments).toEqual([segment(1, 5)]);
      expect(await add(t, holder.runId, [segment(6, 6)])).toBe(true);
    },

    "a run of another namespace has no segments, and gets none": async (t) => {
      const { runId } = await long(t, 5);
      await add(t, runId, [segment(1, 3)]);
      const other = { namespace: "other", runId };
      const [found] = await t.store.segments.read({ runs: [{ ...other, afterSeq: 0 }], limitPerRun: 10 });
      expect(found).toEqual({ edition: 0, segments: [] });
      const offered = { ...other, edition: 0, segments: [segment(4, 5)] };
      expect(await t.store.segments.addIfCurrent(offered)).toEqual({ added: false });
      expect(await t.store.segments.drop({ runs: [other] })).toEqual([null]);
      expect((await read(t, runId)).segments).toEqual([segment(1, 3)]);
    },

    "several runs are read in one call, in the order of the call": async (t) => {
      const first = await long(t, 5);
      const second = await long(t, 5);
      await add(t, first.runId, [segment(1, 2), segment(3, 5)]);
      await drop(t, [second.runId]);
      await add(t, second.runId, [segment(1, 4)], 1);
      const runs = [second.runId, t.newId(), first.runId].map((runId) => ({ ...t.ref(runId), runId, afterSeq: 2 }));
      expect(await t.store.segments.read({ runs, limitPerRun: 5 })).toEqual([
        { edition: 1, segments: [segment(1, 4)] },
        { edition: 0, segments: [] },
        { edition: 0, segments: [segment(3, 5)] },
      ]);
    },
  },
};

function segment(firstSeq: number, lastSeq: number, sum = firstSeq * 1_000): Segment {
  return { firstSeq, lastSeq, bytes: bytes(`events ${firstSeq} to ${lastSeq}`), sum };
}

/** A held run with that many events. */
async function long(t: Fixture, events: number): Promise<Holder> {
  const holder = await t.held();
  await holder.commit(HOLD, { events });
  return holder;
}

async function add(t: Fixture, runId: string, segments: readonly Segment[], edition = 0): Promise<boolean> {
  return (await t.store.segments.addIfCurrent({ namespace: "default", runId, edition, segments })).added;
}

/** Bytes as plain arrays of one kind, whatever the driver makes of them. */
async function read(t: Fixture, runId: string, afterSeq = 0, limitPerRun = 100): Promise<RunSegments> {
  const runs = [{ namespace: "default", runId, afterSeq }];
  const [found] = await t.store.segments.read({ runs, limitPerRun });
  const { edition, segments } = found as RunSegments;
  return { edition, segments: segments.map((one) => ({ ...one, bytes: new Uint8Array(one.bytes) })) };
}

function drop(t: Fixture, runIds: readonly string[]): Promise<readonly (number | null)[]> {
  return t.store.segments.drop({ runs: runIds.map((runId) => ({ namespace: "default", runId })) });
}
