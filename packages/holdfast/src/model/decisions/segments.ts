import type { Segment } from "../segment.ts";

/** What a store knows of a run that segments are offered for. */
export interface PackedRun {
  readonly eventCount: number;
  readonly edition: number;
  /** The end of its last segment; 0 if it has none. */
  readonly packedSeq: number;
}

/** Whether a run keeps these segments. They must not go beyond the durable end, and must be of events that still count. */
export function mayAddSegments(
  run: PackedRun,
  offered: { readonly edition: number; readonly segments: readonly Segment[] },
): boolean {
  if (offered.edition !== run.edition || offered.segments.length === 0) return false;
  let last = run.packedSeq;
  for (const { firstSeq, lastSeq } of offered.segments) {
    if (firstSeq !== last + 1 || lastSeq < firstSeq) return false;
    last = lastSeq;
  }
  return last <= run.eventCount;
}
