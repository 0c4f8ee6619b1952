import type { ErrorRecord } from "../model/error-record.ts";
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

export interface RunEndListener {
  ended(end: RunEnd): void;
  parked(parking: RunParking): void;
}

/** Passes durable ends of runs from the workers of this process to its callers, without a round trip. */
export class RunEnds {
  readonly #listeners = new Set<RunEndListener>();

  publish(end: RunEnd): void {
    for (const listener of this.#listeners) listener.ended(end);
  }

  publishParked(parking: RunParking): void {
    for (const listener of this.#listeners) listener.parked(parking);
  }

  subscribe(listener: RunEndListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
