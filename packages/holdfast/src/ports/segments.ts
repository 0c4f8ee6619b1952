/**
 * Segments: packed copies of closed stretches of long histories, so that a run of many events is read in few rows. They are a
 * cache: the events themselves stay, and a history is complete without its segments. To the store a segment is opaque bytes.
 * The promises of every call are in store.ts.
 */
import type { Segment } from "../model/segment.ts";

export interface SegmentStore {
  /**
   * For each requested run: the edition of its segments, and those that end behind `afterSeq`, in order, at most
   * `limitPerRun`. Read only.
   */
  read(params: ReadSegmentsParams): Promise<readonly RunSegments[]>;

  /**
   * Keeps segments of one run. Precondition: they follow each other, and the last that the run has; none of them is empty or
   * ends behind the durable end of the history; and no `drop` has happened since their events were read (`edition`).
   * Otherwise nothing is kept, and `added` is false. Atomic as a whole. Idempotent: a repeated call adds nothing.
   */
  addIfCurrent(params: AddSegmentsParams): Promise<{ readonly added: boolean }>;

  /**
   * Deletes the segments of runs, and raises their edition: whoever is packing events that it has read before cannot keep
   * them any more. For what rewrites stored payloads, and for segments that turn out to be damaged. Returns the editions,
   * null where there is no such run. Atomic per run. Repeating it raises the edition once more, which does no harm.
   */
  drop(params: DropSegmentsParams): Promise<readonly (number | null)[]>;
}

export interface ReadSegmentsParams {
  readonly runs: readonly { readonly namespace: string; readonly runId: string; readonly afterSeq: number }[];
  readonly limitPerRun: number;
}

export interface RunSegments {
  /** How many times segments of this run were dropped. */
  readonly edition: number;
  readonly segments: readonly Segment[];
}

export interface AddSegmentsParams {
  readonly namespace: string;
  readonly runId: string;
  readonly edition: number;
  readonly segments: readonly Segment[];
}

export interface DropSegmentsParams {
  readonly runs: readonly { readonly namespace: string; readonly runId: string }[];
}
