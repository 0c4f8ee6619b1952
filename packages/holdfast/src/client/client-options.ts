import type { CheckedDuration } from "../model/checked-duration.ts";
import type { Attributes, AttributeValue } from "../model/event.ts";
import type { Limits } from "../model/limits.ts";
import type { ClosedStatus, RunStatus } from "../model/run.ts";
import type { Codec } from "../ports/codec.ts";
import type { Logger } from "../ports/logger.ts";
import type { StoreAdapter, StoreOptions } from "../ports/open-store.ts";
import type { Telemetry } from "../ports/telemetry.ts";

/** Options of `connect`. */
export interface ConnectOptions extends StoreOptions {
  /**
   * Tenant: runs, ids and workers of different namespaces never see each other.
   * @defaultValue `"default"`
   */
  readonly namespace?: string;
  /**
   * Turns values into bytes and back.
   * @defaultValue `jsonCodec`: JSON that keeps Date, Map, Set, BigInt, binary data and more
   */
  readonly codec?: Codec;
  /**
   * Where log lines go. pino fits as it is; `silentLogger` says nothing.
   * @defaultValue from info up, a line each, to standard error
   */
  readonly logger?: Logger;
  /**
   * Told what happens, for metrics and traces.
   * @defaultValue none
   */
  readonly telemetry?: Telemetry;
  /**
   * Applied to every text of an error before it is stored, after credentials have been masked. Where it throws or
   * gives no string (a promise is none), the whole text becomes `[redacted]`.
   * @defaultValue nothing more is masked
   */
  readonly redact?: (text: string) => string;
  /**
   * Payload sizes, ops per run, waiting messages.
   * @defaultValue `DEFAULT_LIMITS`
   */
  readonly limits?: Partial<Limits>;
  /**
   * What opens which URLs: `[sqlite()]`. They come first; the package of any other scheme is loaded by its name.
   * @defaultValue none: every package is loaded by its name
   */
  readonly adapters?: readonly StoreAdapter[];
}

/** Options of `hf.start`, `hf.run` and `hf.startMany`. */
export interface StartOptions<S extends string = string> {
  /**
   * An id of your own: starting the same id again gives the same run, so that a repeated request starts nothing twice.
   * @defaultValue a new id
   */
  readonly id?: string;
  /**
   * The version of the workflow that is to run.
   * @defaultValue the default version that was set with `hf.versions`, else that of the definition, else `"1"`
   */
  readonly version?: string;
  /**
   * The queue that the run waits in: only workers that serve it take the run.
   * @defaultValue that of the workflow, which is `"default"` unless it says otherwise
   */
  readonly queue?: string;
  /**
   * Which due runs workers take first: a whole number from -9 to 9, larger is sooner.
   * @defaultValue that of the workflow, or `0`
   */
  readonly priority?: number;
  /**
   * Not before this moment. The start itself is durable at once. With `delay` beside it, the later of the two counts.
   * @defaultValue at once
   */
  readonly startAt?: Date;
  /**
   * Not before so much time has passed, counted by the store's clock from the moment of the start.
   * @defaultValue at once
   */
  readonly delay?: CheckedDuration<S>;
  /**
   * The longest that the run may take, counted from the call of `start`, a delay included; then it is wound up and ends as
   * `timed_out`. If it has not begun by then, its code is not called at all.
   * @defaultValue that of the workflow, or no limit
   */
  readonly timeout?: CheckedDuration<S>;
  /**
   * Search attributes: small values to find the run by. The run may change them with `ctx.set`.
   * @defaultValue none
   */
  readonly attributes?: Attributes;
  /**
   * When an open run has this id: return its handle, refuse with `run_already_exists`, or terminate it and start anew.
   * @defaultValue `"return"`
   */
  readonly ifRunning?: "return" | "fail" | "replace";
  /**
   * When the newest run of this id is closed: return its handle, start another, or refuse with `run_already_exists`.
   * @defaultValue `"return"`
   */
  readonly ifClosed?: "return" | "start" | "fail";
}

/** Which runs `hf.list` and `hf.count` look at: those that fit everything that is given. */
export interface ListFilter {
  /**
   * The name of a workflow.
   * @defaultValue all
   */
  readonly workflow?: string;
  /**
   * The version that the run was started with.
   * @defaultValue all
   */
  readonly version?: string;
  /**
   * All runs of one id, with those that it continued from.
   * @defaultValue all
   */
  readonly id?: string;
  /**
   * One status or several.
   * @defaultValue all
   */
  readonly status?: RunStatus | readonly RunStatus[];
  /**
   * The queue that the run is in.
   * @defaultValue all
   */
  readonly queue?: string;
  /**
   * Search attributes that the run must have, each with exactly this value; at most 100.
   * @defaultValue all
   */
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  /**
   * Started after this moment.
   * @defaultValue all
   */
  readonly createdAfter?: Date;
  /**
   * Started before this moment.
   * @defaultValue all
   */
  readonly createdBefore?: Date;
}

/** Options of `hf.list`. */
export interface ListOptions extends ListFilter {
  /**
   * Runs per page, at most 1,000.
   * @defaultValue `100`
   */
  readonly limit?: number;
  /**
   * The `cursor` of the page before.
   * @defaultValue the first page
   */
  readonly cursor?: string;
}

/** Options of `hf.purge`. */
export interface PurgeOptions<S extends string = string> {
  /** How long ago a run must have ended. */
  readonly olderThan: CheckedDuration<S>;
  /**
   * Only runs that ended like this.
   * @defaultValue however they ended
   */
  readonly statuses?: readonly ClosedStatus[];
  /**
   * Called after each batch with the number of runs purged so far. The next batch waits for it.
   * @defaultValue nobody is told
   */
  readonly onBatch?: (purged: number) => void | Promise<void>;
}
