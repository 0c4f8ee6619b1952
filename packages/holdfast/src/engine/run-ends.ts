import type { ErrorRecord } from "../model/error-record.ts";
import type { Payload } from "../model/payload.ts";
import type { ClosedStatus } from "../model/run.ts";

export interface RunEnd {
  readonly runId: string;
  readonly status: ClosedStatus;
  readonly output: Payload | null;
  readonly error: ErrorRecord | null;
  readonly continuedAs: string | null;
}

/** Ends of runs that are durable, from the workers of this process to the callers of this process: no round trip. */
export class RunEnds {
  readonly #listeners = new Set<(end: RunEnd) => void>();

  publish(end: RunEnd): void {
    for (const listener of this.#listeners) listener(end);
  }

  subscribe(listener: (end: RunEnd) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
