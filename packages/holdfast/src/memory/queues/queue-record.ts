import type { KeyState, Pace, PlaceState } from "../../model/decisions/admission.ts";
import type { QueueKind, QueueLimits } from "../../model/queue-limits.ts";

/** The places of a queue with limits, for its runs or for its tasks. */
export interface LimitedQueue {
  readonly kind: QueueKind;
  readonly namespace: string;
  readonly queue: string;
  limits: QueueLimits;
  state: PlaceState;
  pace: Pace;
  readonly keys: Map<string, QueueKeyRecord>;
  /** What waits, by key. */
  readonly lines: Map<string, Set<InQueue>>;
}

export interface QueueKeyRecord extends KeyState {
  readonly ready: boolean;
  readonly wakeAt: number | null;
}

/** A run (seq 0) or a task: in line, or with a place. */
export interface InQueue {
  readonly limited: LimitedQueue;
  readonly key: string;
  readonly runId: string;
  readonly runNo: number;
  readonly seq: number;
  /** Since when it has been due, or has had its place. */
  readonly at: number;
}
