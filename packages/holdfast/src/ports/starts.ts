/** Starts of runs: what they say, and how they are answered. The calls are in runs.ts. */
import type { ClosePolicy, Lineage } from "../model/child.ts";
import type { ErrorRecord } from "../model/error-record.ts";
import type { MessageKind } from "../model/message.ts";
import type { Payload } from "../model/payload.ts";
import type { NewRun, RunRow } from "../model/run.ts";
import type { DeliverOutcome } from "./inbox.ts";

export interface StartRun {
  readonly run: NewRun;
  readonly ifRunning: "return" | "fail" | "replace";
  readonly ifClosed: "return" | "start" | "fail";
  /** Claim it at once for `holdBy`. */
  readonly hold: boolean;
  /**
   * Null: exactly `run.version`. A number in [0, 1): the version whose share is above it, otherwise the workflow's default
   * version, otherwise `run.version`.
   */
  readonly pick: number | null;
  /** The run that starts it; absent if that is none. */
  readonly parent?: StartParent;
  /** What the run gets with its start, in order. */
  readonly messages?: readonly CarriedMessage[];
}

/** The parent of a run to be started, and what its end means for the child. */
export interface StartParent extends Lineage {
  readonly policy: ClosePolicy;
}

export interface StartRunsParams {
  readonly starts: readonly StartRun[];
  readonly holdBy: { readonly workerId: string; readonly claimId: string } | null;
  /** The error that a replaced run is terminated with. */
  readonly replaceError: ErrorRecord;
  /** The maximum number of unconsumed messages of a run. Required if a start has messages. */
  readonly inboxMax?: number;
  /** A run that would be created in a queue whose `backlog` is full is refused. */
  readonly bounded?: boolean;
}

export interface DebounceParams {
  /** Started if there is none to change. It has no parent and no messages. */
  readonly start: StartRun;
  readonly key: string;
  readonly forMs: number;
  /** Null: it may be put off forever. */
  readonly maxMs: number | null;
}

export interface StartOutcome {
  /** `created` also when a repeated call finds its own runId; `exists` when the policy says fail. */
  readonly outcome: "created" | "returned" | "exists" | "busy";
  readonly run: RunRow;
  /** The run that it has replaced owes something. */
  readonly owes?: { readonly runId: string };
  /** What became of each message of the start; absent if it has none, or if the outcome is `exists` or `busy`. */
  readonly messages?: readonly DeliverOutcome["outcome"][];
}

/**
 * A start that was refused: of a child because of its parent (`busy`: another transaction has locked that, so nobody knows yet), of any
 * other run because of the backlog of its queue.
 */
export interface RefusedStart {
  readonly outcome: "parent_closed" | "not_allowed" | "busy" | "queue_full";
  readonly run: null;
}

export interface StartRunsResult {
  /** Only starts with a parent, or in a call that is `bounded`, are refused. */
  readonly outcomes: readonly (StartOutcome | RefusedStart)[];
  readonly now: number;
}

/** A message that starts the inbox of a run: it was moved into history and never received, or it comes with the start. */
export interface CarriedMessage {
  readonly kind: MessageKind;
  readonly name: string;
  readonly messageId: string;
  readonly payload: Payload;
}
