import type { AttributeValue } from "../model/event.ts";
import type { ClosedStatus, RunStatus } from "../model/run.ts";

export interface RunFilter {
  readonly namespace: string;
  readonly workflow?: string;
  readonly version?: string;
  readonly id?: string;
  readonly queue?: string;
  readonly statuses?: readonly RunStatus[];
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  readonly createdAfter?: number;
  readonly createdBefore?: number;
}

export interface ListRunsParams extends RunFilter {
  readonly limit: number;
  /** Runs strictly older than this one; newest first. */
  readonly before?: { readonly createdAt: number; readonly runId: string };
}

export interface PurgeRunsParams {
  readonly namespace: string;
  /** In store time. */
  readonly endedBefore: number;
  /** Default: all of them. */
  readonly statuses?: readonly ClosedStatus[];
  readonly limit: number;
}

export interface PurgeRunsResult {
  readonly purged: number;
  /** There are more than the limit: purge again. */
  readonly more: boolean;
}
