/** The inboxes of runs: what others send them. The promises of every call are in store.ts. */
import type { Message, MessageKind } from "../model/message.ts";
import type { Payload } from "../model/payload.ts";
import type { RunStatus } from "../model/run.ts";
import type { RunRef } from "./runs.ts";

export interface InboxStore {
  /**
   * Puts messages into inboxes, and makes runs due that are neither held nor parked. A run that has never been claimed keeps
   * its start time when a signal comes; a cancel makes it due at once.
   * Atomic per message: counter, row and due time together. Follows a run that continued as new. Precedence of outcomes:
   * not_found, duplicate, closed, full, delivered. A cancel is never `full`.
   * Idempotence key: (chain of the run, messageId), remembered as long as a run of the chain exists.
   * Results (`isResult`) go to exactly the run that is named, which must be named by its run id: a run that has ended, or continued as new, is
   * `closed`. Their ids are not remembered, they are never `full`, and a run that continues does not hand them on.
   * A message `from` another namespace, which that of the run has not let in, is `not_allowed`, before anything else.
   */
  deliver(params: DeliverMessagesParams): Promise<DeliverMessagesResult>;

  /**
   * Messages with number > after, in order. The payload of a consumed one may be gone, unless it is a result message. Read
   * only.
   */
  read(params: ReadInboxParams): Promise<readonly Message[]>;
}

export interface DeliverMessage {
  readonly to: RunRef;
  readonly kind: MessageKind;
  readonly name: string;
  readonly messageId: string;
  readonly payload: Payload;
  /** The namespace of the run that sends it; absent if no run does. */
  readonly from?: string;
}

export interface DeliverMessagesParams {
  readonly messages: readonly DeliverMessage[];
  /** The maximum number of unconsumed messages of a run. */
  readonly inboxMax: number;
}

export interface DeliverOutcome {
  readonly outcome: "delivered" | "duplicate" | "not_found" | "closed" | "full" | "busy" | "not_allowed";
  readonly runId: string | null;
  readonly status: RunStatus | null;
}

export interface DeliverMessagesResult {
  readonly outcomes: readonly DeliverOutcome[];
}

export interface ReadInboxParams {
  readonly runs: readonly { readonly namespace: string; readonly runId: string; readonly after: number }[];
}
