/** The inboxes of runs: what others send them. The promises of every call are in store.ts. */
import type { UpdateStage } from "../model/decisions/delivery.ts";
import type { ErrorRecord } from "../model/error-record.ts";
import type { HistoryEvent } from "../model/event.ts";
import type { Message, MessageKind, ReplyAddress } from "../model/message.ts";
import type { Payload } from "../model/payload.ts";
import type { RunStatus } from "../model/run.ts";
import type { RunRef } from "./run-ref.ts";

export interface InboxStore {
  /**
   * Puts messages into inboxes, and makes runs due that are neither held nor parked. A run that has never been claimed keeps
   * its start time when a signal or an update comes; a cancel makes it due at once.
   * Atomic per message: counter, row and due time together. Follows a run that continued as new. Precedence of outcomes:
   * not_found, duplicate, closed, parked, moved, full, delivered. Only signals and updates are ever `full`. A pause or a resume of a parked run
   * is `parked`, and not delivered. One that names an epoch is for exactly that run in that epoch, and otherwise `moved`, and not delivered: a copy
   * that arrives late must not undo what others have done since. A cancel makes a run due that a person has paused, in the same step: as `resumeIfParked`, with
   * `resumeNote` of its sender. (One that comes with a start does not.)
   * Idempotence key: (chain of the run, messageId), remembered as long as a run of the chain exists.
   * Results (`isResult`) go to exactly the run that is named, which must be named by its run id: a run that has ended, or continued as new, is
   * `closed`. Their ids are not remembered, they are never `full`, and a run that continues does not hand them on.
   * A message `from` another namespace, which that of the run has not let in, is `not_allowed`, before anything else.
   * A delivered message with `hold` takes its run for `holdBy` in the same step, as a claim would (epoch + 1, held under that claim
   * id, not due): if the run is that one and has that epoch, nobody holds it, it is neither parked nor a suspect, and the worker is of
   * its namespace and not offline (`mayTake`). Otherwise the message is delivered as any other. All delivered messages of such a
   * run say `held`. A repetition takes nothing: `claim` with `again` and the claim id returns what the first call has taken.
   */
  deliver(params: DeliverMessagesParams): Promise<DeliverMessagesResult>;

  /**
   * Messages with number > after, in order. The payload of a consumed one may be gone, unless it is a result message. Read
   * only.
   */
  read(params: ReadInboxParams): Promise<readonly Message[]>;

  /**
   * Where updates stand, and their answers. An update is looked for by its message id in the whole chain of the run: a run
   * that continues as new hands on what it has not read, so there may be several; the newest run that got it counts, also if it
   * was purged: then nothing is known. An answer that was given stays, after the end of the run too, until the run is purged,
   * whatever becomes of the runs that continue it.
   * Each item is a consistent snapshot: an update that is neither unread nor answered in a closed run will never be
   * answered. Read only.
   */
  replies(params: ReadRepliesParams): Promise<readonly ReplyState[]>;
}

export interface DeliverMessage {
  readonly to: RunRef;
  readonly kind: MessageKind;
  readonly name: string;
  readonly messageId: string;
  readonly payload: Payload;
  /** The message is for the run under this epoch alone, which must be named by its run id: otherwise `moved`. */
  readonly epoch?: number;
  /** The namespace of the run that sends it; absent if no run does. */
  readonly from?: string;
  /** For an update from another run: kept with the message, also when it is handed on to a successor. */
  readonly replyTo?: ReplyAddress;
  /** The run as `holdBy` has suspended it: only that run, and only if nothing has happened to it since, is taken. */
  readonly hold?: { readonly runId: string; readonly epoch: number };
}

export interface DeliverMessagesParams {
  readonly messages: readonly DeliverMessage[];
  /** The maximum number of unconsumed messages of a run. */
  readonly inboxMax: number;
  /** The worker that takes the runs of messages with `hold`. */
  readonly holdBy?: { readonly workerId: string; readonly claimId: string };
}

export interface DeliverOutcome {
  readonly outcome:
    | "delivered"
    | "duplicate"
    | "not_found"
    | "closed"
    | "parked"
    | "moved"
    | "full"
    | "busy"
    | "not_allowed";
  readonly runId: string | null;
  /** Before this call. */
  readonly status: RunStatus | null;
  /** This call has taken the run for `holdBy`: where the message stands in its inbox, and since when. */
  readonly held?: { readonly number: number; readonly at: number };
}

export interface DeliverMessagesResult {
  readonly outcomes: readonly DeliverOutcome[];
}

export interface ReadInboxParams {
  readonly runs: readonly { readonly namespace: string; readonly runId: string; readonly after: number }[];
}

/** An answer to an update, in the commit that decides it. It never changes. */
export interface NewReply {
  /** The number of the message in the inbox of this run. */
  readonly number: number;
  /** The event of this run that has the answer, of this commit or an earlier one. */
  readonly seq?: number;
  /**
   * The answer to an update that left no event with an answer. With neither, the update is accepted with this commit, and its
   * answer will come later: nothing is stored for it, callers are hinted.
   */
  readonly error?: ErrorRecord;
}

export interface ReadRepliesParams {
  readonly updates: readonly { readonly run: RunRef; readonly messageId: string }[];
}

export interface ReplyState {
  /** The run that has the update; null if there is no such run, or no message of kind `update` with this id in its chain. */
  readonly runId: string | null;
  readonly status: RunStatus | null;
  /** Of the update; null if `runId` is. */
  readonly name: string | null;
  /** Null if `runId` is. */
  readonly stage: UpdateStage | null;
  /** The event with the answer. */
  readonly event: HistoryEvent | null;
  /** The answer that is not in an event. */
  readonly error: ErrorRecord | null;
}
