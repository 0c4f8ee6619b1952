import type { AddSegmentsParams, DropSegmentsParams, PurgeRunsParams, ReadSegmentsParams } from "holdfast/adapter";
import type { Sabotage } from "./saboteur.ts";

export const PACKED_RUNS: readonly Sabotage[] = [
  {
    it: "keeps segments beyond the durable end",
    noun: "segments",
    breaks: (it) => ({
      "segments.addIfCurrent": async (params: AddSegmentsParams) => {
        const row = it.state.runs.get(params.runId);
        if (!row) return { added: false };
        const { eventCount } = row;
        row.eventCount = Number.POSITIVE_INFINITY;
        const result = await it.segments.addIfCurrent(params);
        row.eventCount = eventCount;
        return result;
      },
    }),
  },
  {
    it: "keeps segments of events that were rewritten",
    noun: "segments",
    breaks: (it) => ({
      "segments.addIfCurrent": (params: AddSegmentsParams) => {
        const edition = it.state.segments.get(params.runId)?.edition ?? 0;
        return it.segments.addIfCurrent({ ...params, edition });
      },
    }),
  },
  {
    it: "leaves the segments of purged runs",
    noun: "segments",
    breaks: (it) => ({
      "runs.purge": async (params: PurgeRunsParams) => {
        const before = [...it.state.segments];
        const result = await it.runs.purge(params);
        for (const [runId, kept] of before) it.state.segments.set(runId, kept);
        return result;
      },
    }),
  },
  {
    it: "drops segments without a new edition",
    noun: "segments",
    breaks: (it) => ({
      "segments.drop": async (params: DropSegmentsParams) => {
        for (const { runId } of params.runs) it.state.segments.delete(runId);
        return params.runs.map(() => 1);
      },
    }),
  },
  {
    it: "returns segments that end at the seq",
    noun: "segments",
    breaks: (it) => ({
      "segments.read": ({ runs, ...params }: ReadSegmentsParams) =>
        it.segments.read({ ...params, runs: runs.map((run) => ({ ...run, afterSeq: run.afterSeq - 1 })) }),
    }),
  },
];
