/** What a run takes with it into another store, or into a file (docs/ARCHITECTURE.md, "Export, import, move"). */
import type { ErrorRecord } from "./error-record.ts";
import type { HistoryEvent } from "./event.ts";
import type { Message, MessageKind } from "./message.ts";
import type { Run } from "./run.ts";
import type { TaskLimits, TaskRow } from "./task.ts";
import { waitsForPlace } from "./waiting.ts";

/** A task that nobody holds, with its token. */
export interface TaskImage
  extends TaskLimits,
    Omit<TaskRow, "namespace" | "runId" | "heldBy" | "claimId" | "alone" | "status"> {
  readonly status: Exclude<TaskRow["status"], "held">;
  /** What its definition says; a task that became external by `completeLater` is not. */
  readonly external: boolean;
  readonly beganAt: number | null;
  readonly finishId: string | null;
  readonly key: string | null;
}

/** What has become of an update that the run has answered. */
export interface UpdateImage {
  readonly number: number;
  readonly seq: number | null;
  readonly error: ErrorRecord | null;
}

/** What a run has besides its history and its messages, and what its end in the source overwrites there. */
export interface RunRest extends Pick<Run, "status" | "availableAt" | "waitingFor" | "error"> {
  /** The code that has parked it, as the store notes it. */
  readonly parkedBy: string | null;
  /** Ids of messages that earlier runs of its chain have had: they count as delivered. */
  readonly knownIds: readonly { readonly messageId: string; readonly kind: MessageKind }[];
  readonly updates: readonly UpdateImage[];
  /** None, if the run has ended. */
  readonly tasks: readonly TaskImage[];
}

export interface RunImage {
  readonly run: Run;
  readonly events: readonly HistoryEvent[];
  readonly messages: readonly Message[];
  readonly rest: RunRest;
}

/** Why a run cannot leave its store alone. */
export type RunTie = "children" | "parent" | "watched" | "watches" | "asked" | "asks" | "locks" | "owes";

/** A run that has left, as it was: its row in the source says only where it went. */
export function departedRun(row: Run, { status, availableAt, waitingFor, error }: RunRest): Run {
  return { ...row, status, availableAt, waitingFor, error, endedAt: null, heldBy: null, claimId: null, alone: false };
}

/** A run that waits for a place in its queue does not take that along: it is due in the other store, and lines up there. */
export function outOfLine(rest: RunRest, now: number): RunRest {
  return waitsForPlace(rest.waitingFor) ? { ...rest, waitingFor: [], availableAt: now } : rest;
}
