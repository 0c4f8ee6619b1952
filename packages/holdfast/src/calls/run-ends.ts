import type { ErrorRecord } from "../model/error-record.ts";
import type { HistoryEvent } from "../model/event.ts";
import type { Payload } from "../model/payload.ts";
import type { ClosedStatus, CompensationOutcome } from "../model/run.ts";

export interface RunEnd {
  readonly runId: string;
  readonly status: ClosedStatus;
  readonly output: Payload | null;
  readonly error: ErrorRecord | null;
  readonly compensation: CompensationOutcome | null;
  readonly continuedAs: string | null;
}

/** A run that no code can continue now, and why. */
export interface RunParking {
  readonly runId: string;
  readonly status: "parked";
  readonly error: ErrorRecord | null;
}

/** What has become of an update, by its message id. An answer is in an event, or an error. */
export interface UpdateReply {
  readonly runId: string;
  readonly messageId: string;
  readonly stage: "accepted" | "answered";
  readonly event?: HistoryEvent;
  readonly error?: ErrorRecord;
}

export interface RunEndListener {
  ended(end: RunEnd): void;
  parked?(parking: RunParking): void;
  replied?(reply: UpdateReply): void;
  /** Events of the run became durable. */
  progressed?(runId: string): void;
}

/** Passes durable ends of runs, and answers of runs, from the workers of this process to its callers, without a round trip. */
export class RunEnds {
  readonly #listeners = new Set<RunEndListener>();
  /** How many of them want to know of every event. */
  #watching = 0;

  publish(end: RunEnd): void {
    for (const listener of this.#listeners) listener.ended(end);
  }

  publishParked(parking: RunParking): void {
    for (const listener of this.#listeners) listener.parked?.(parking);
  }

  publishReply(reply: UpdateReply): void {
    for (const listener of this.#listeners) listener.replied?.(reply);
  }

  publishProgress(runId: string): void {
    if (this.#watching > 0) for (const listener of this.#listeners) listener.progressed?.(runId);
  }

  subscribe(listener: RunEndListener): () => void {
    this.#listeners.add(listener);
    const watches = listener.progressed ? 1 : 0;
    this.#watching += watches;
    return () => {
      if (this.#listeners.delete(listener)) this.#watching -= watches;
    };
  }
}
