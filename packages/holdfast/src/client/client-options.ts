import type { Duration } from "../model/duration.ts";
import type { Attributes, AttributeValue } from "../model/event.ts";
import type { Limits } from "../model/limits.ts";
import type { ClosedStatus, RunStatus } from "../model/run.ts";
import type { Codec } from "../ports/codec.ts";
import type { Logger } from "../ports/logger.ts";
import type { StoreAdapter, StoreOptions } from "../ports/open-store.ts";
import type { Telemetry } from "../ports/telemetry.ts";

export interface ConnectOptions extends StoreOptions {
  /** Tenant: runs, ids and workers of different namespaces never see each other. Default `"default"`. */
  readonly namespace?: string;
  readonly codec?: Codec;
  readonly logger?: Logger;
  readonly telemetry?: Telemetry;
  /** Applied to every text of an error before it is stored, after credentials have been masked. */
  readonly redact?: (text: string) => string;
  /** Payload sizes, ops per run, waiting messages. */
  readonly limits?: Partial<Limits>;
  /** What opens which URLs: `[sqlite()]`. They come first; the package of any other scheme is loaded by its name. */
  readonly adapters?: readonly StoreAdapter[];
}

export interface StartOptions {
  /** Starting the same id again gives the same run. Default: a new id. */
  readonly id?: string;
  readonly version?: string;
  readonly queue?: string;
  readonly priority?: number;
  readonly startAt?: Date;
  readonly delay?: Duration;
  readonly timeout?: Duration;
  readonly attributes?: Attributes;
  /** When an open run has this id. Default `"return"`. */
  readonly ifRunning?: "return" | "fail" | "replace";
  /** When the newest run of this id is closed. Default `"return"`. */
  readonly ifClosed?: "return" | "start" | "fail";
}

export interface ListFilter {
  readonly workflow?: string;
  readonly version?: string;
  readonly id?: string;
  readonly status?: RunStatus | readonly RunStatus[];
  readonly queue?: string;
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  readonly createdAfter?: Date;
  readonly createdBefore?: Date;
}

export interface ListOptions extends ListFilter {
  readonly limit?: number;
  /** From the page before. */
  readonly cursor?: string;
}

export interface PurgeOptions {
  /** How long ago a run must have ended. */
  readonly olderThan: Duration;
  /** Only runs that ended like this. Default: however they ended. */
  readonly statuses?: readonly ClosedStatus[];
  /** Called after each batch with the number of runs purged so far. The next batch waits for it. */
  readonly onBatch?: (purged: number) => void | Promise<void>;
}
