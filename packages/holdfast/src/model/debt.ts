import type { ClosePolicy } from "./child.ts";
import type { UpdateStage } from "./decisions/delivery.ts";
import type { EndedRun } from "./ended-run.ts";
import type { ErrorRecord } from "./error-record.ts";
import type { HistoryEvent } from "./event.ts";
import type { ReplyAddress } from "./message.ts";
import type { RunStatus } from "./run.ts";

/**
 * What a run still owes to others because of something that was committed. `result`: it has ended, and its parent or watchers
 * do not know yet. `close`: it has ended, or has given children up, and their close policy has not reached them yet.
 * `reply`: updates that ops of other runs have sent have their answers, or will never have any, and these ops do not know yet.
 * `lock`: it has given locks back, and whoever is next does not know yet.
 */
export type DebtKind = "result" | "close" | "reply" | "lock";

/** Who gets the result of a run: an op of another run. */
export interface ResultReceiver {
  readonly namespace: string;
  readonly runId: string;
  readonly op: string;
}

/** A child that its parent's close policy has not reached yet. */
export interface ChildToClose {
  readonly namespace: string;
  /** The run that the parent has started: the first of its chain. It may have been purged. */
  readonly runId: string;
  /** The run of that chain that is open: the one to close. */
  readonly openRunId: string;
  readonly policy: Exclude<ClosePolicy, "abandon">;
}

/** An update from an op of another run, which is to be told what has become of it. */
export interface ReplyToTell {
  /** Of the update, in the inbox of the run that owes it. */
  readonly messageId: string;
  /** What the update is called. */
  readonly name: string;
  readonly to: ReplyAddress;
  /** Anything but `answered`: the run has closed without an answer. */
  readonly stage: UpdateStage;
  /** The event with the answer. */
  readonly event: HistoryEvent | null;
  /** The answer that is not in an event. */
  readonly error: ErrorRecord | null;
}

/** What every debt has. */
export interface DebtRow {
  /** Made by the store, in the order of creation. */
  readonly debtNo: number;
  /** The run that owes it. */
  readonly namespace: string;
  readonly runId: string;
  readonly id: string;
}

export type Debt =
  | (DebtRow & {
      readonly kind: "result";
      readonly end: EndedRun;
      /** The op that started it; null if it was started by none. */
      readonly parent: ResultReceiver | null;
      /** Some of the ops that watch it. */
      readonly watchers: readonly ResultReceiver[];
    })
  | (DebtRow & {
      readonly kind: "close";
      /** Some of the children to close; none if all that were to be closed have ended. */
      readonly children: readonly ChildToClose[];
    })
  | (DebtRow & {
      readonly kind: "reply";
      readonly status: RunStatus;
      /** Some of the answers; none if the run was reopened before anybody was told that it had closed. */
      readonly replies: readonly ReplyToTell[];
    })
  | (DebtRow & { readonly kind: "lock" });

/** How many watchers, children or answers of one debt are read at once. */
export const DEBT_PAGE = 500;
/** A debt that is older than this has been left behind by a process that died: a sweep reports it. */
export const DEBT_OVERDUE_MS = 5_000;
