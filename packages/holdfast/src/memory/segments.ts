import { mayAddSegments } from "../model/decisions/segments.ts";
import type { AddSegmentsParams, DropSegmentsParams, ReadSegmentsParams, RunSegments } from "../ports/store.ts";
import { type MemoryState, runIn } from "./state.ts";

const NONE: RunSegments = { edition: 0, segments: [] };

export function readSegments(state: MemoryState, params: ReadSegmentsParams): RunSegments[] {
  return params.runs.map(({ namespace, runId, afterSeq }) => {
    const { edition, segments } = (runIn(state, namespace, runId) && state.segments.get(runId)) ?? NONE;
    const wanted = segments.filter(({ lastSeq }) => lastSeq > afterSeq);
    return { edition, segments: wanted.slice(0, params.limitPerRun) };
  });
}

export function addSegmentsIfCurrent(state: MemoryState, params: AddSegmentsParams): { added: boolean } {
  const row = runIn(state, params.namespace, params.runId);
  if (!row) return { added: false };
  const { edition, segments } = state.segments.get(params.runId) ?? NONE;
  const packedSeq = segments.at(-1)?.lastSeq ?? 0;
  if (!mayAddSegments({ eventCount: row.eventCount, edition, packedSeq }, params)) return { added: false };
  state.segments.set(params.runId, { edition, segments: [...segments, ...params.segments] });
  return { added: true };
}

export function dropSegments(state: MemoryState, { runs }: DropSegmentsParams): (number | null)[] {
  return runs.map(({ namespace, runId }) => {
    if (!runIn(state, namespace, runId)) return null;
    const edition = (state.segments.get(runId) ?? NONE).edition + 1;
    state.segments.set(runId, { edition, segments: [] });
    return edition;
  });
}
