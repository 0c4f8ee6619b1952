/** Deleting runs that ended long ago: parameters and results of `runs.purge`. */
import type { ClosedStatus } from "../model/run.ts";

export interface PurgeRunsParams {
  readonly namespace: string;
  /** In store time. */
  readonly endedBefore: number;
  /** Default: all of them. */
  readonly statuses?: readonly ClosedStatus[];
  /** Only these runs. Default: all of them. */
  readonly runIds?: readonly string[];
  /** Leaves runs that are the last ones of their schedules: what became of them is still asked for. Default: they go, too. */
  readonly sparesLastOfSchedules?: boolean;
  /** Only runs behind this position, by their ends. Default: from the oldest. */
  readonly after?: EndPosition;
  readonly limit: number;
}

/** A position in the order in which runs have ended. */
export interface EndPosition {
  readonly endedAt: number;
  readonly runId: string;
}

export interface PurgeRunsResult {
  readonly purged: number;
  /** There are more than the limit: purge again. */
  readonly more: boolean;
  /** Where this purge has come to, whether or not the run there was deleted; null if there was none. */
  readonly last: EndPosition | null;
}
