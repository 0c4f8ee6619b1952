/** Lists of runs: what they are asked for, and what they return. */
import type { NarrowingFilter } from "../model/decisions/run-filter.ts";
import type { ErrorRecord } from "../model/error-record.ts";
import type { AttributeValue } from "../model/event.ts";
import type { RunRow, RunStatus } from "../model/run.ts";

export interface RunFilter extends NarrowingFilter {
  readonly namespace: string;
  readonly workflow?: string;
  readonly version?: string;
  readonly id?: string;
  readonly queue?: string;
  readonly statuses?: readonly RunStatus[];
  /** Suspended runs that wait for this: see `waitsFor`. */
  readonly waitingFor?: string;
  /** Suspended runs that wait for the next attempt of a step, or of the whole run (`isRetrying`). */
  readonly retrying?: true;
  /** Suspended runs that nobody holds and whose last event, or else their start, is not after this time. */
  readonly waitingSince?: number;
  /** The code or the kind of the error that a run failed with, was stopped by, or is parked for. */
  readonly error?: string;
  readonly endedAfter?: number;
  readonly endedBefore?: number;
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  readonly createdAfter?: number;
  readonly createdBefore?: number;
  /**
   * Children of the run with this run id, of whatever namespace it is, with their continuations; also those that were started
   * inside its steps. Known for as long as that run exists.
   */
  readonly parent?: string;
  /** Forks of the run with this run id. */
  readonly forkedFrom?: string;
}

/** A run in a list. */
export interface ListedRun extends RunRow {
  /** The time of its last event, besides its start and its end; null if it has none. */
  readonly lastEventAt: number | null;
  /** What its error is about, without its texts; null if it has none. */
  readonly error: ListedError | null;
}

export type ListedError = Pick<ErrorRecord, "kind" | "code">;

export interface ListRunsParams extends RunFilter {
  readonly limit: number;
  /** Runs strictly older than this one; newest first. */
  readonly before?: { readonly createdAt: number; readonly runId: string };
}
