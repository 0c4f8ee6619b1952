import type { CheckedDuration } from "../model/checked-duration.ts";
import type { Attributes, AttributeValue } from "../model/event.ts";
import type { Limits } from "../model/limits.ts";
import type { ClosedStatus, RunStatus } from "../model/run.ts";
import type { TraceHeaders } from "../model/trace-context.ts";
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
   * Where log lines go. A pino logger fits as it is; `silentLogger` writes nothing.
   * @defaultValue standard error, one line each, from level info up
   */
  readonly logger?: Logger;
  /**
   * Receives what happens, for metrics and traces: one, or several. `@holdfast/telemetry` has them for Prometheus and
   * OpenTelemetry.
   * @defaultValue none
   */
  readonly telemetry?: Telemetry | readonly Telemetry[];
  /**
   * Applied to every text of an error before it is stored, after credentials have been masked. If it throws or returns
   * anything but a string (a promise, for example), the whole text becomes `[redacted]`.
   * @defaultValue nothing more is masked
   */
  readonly redact?: (text: string) => string;
  /**
   * Payload sizes, ops per run, waiting messages.
   * @defaultValue `DEFAULT_LIMITS`
   */
  readonly limits?: Partial<Limits>;
  /**
   * The adapters that open URLs: `[sqlite()]`. They come first; for any other scheme the package is loaded by its name.
   * @defaultValue none: every package is loaded by its name
   */
  readonly adapters?: readonly StoreAdapter[];
}

/** When a start that is repeated for the same key leads to one run. */
export interface DebounceOptions<S extends string = string> {
  /** The run begins when no start for its key has come for this long. */
  readonly for: CheckedDuration<S>;
  /**
   * It begins this long after the first start at the latest.
   * @defaultValue no limit: it is put off as long as starts come
   */
  readonly max?: CheckedDuration<S>;
}

/** Options of `hf.start`, `hf.run` and `hf.startMany`. */
export interface StartOptions<S extends string = string> {
  /**
   * Your own id. Starting the same id again returns the same run, so a repeated request starts nothing twice.
   * @defaultValue a new id
   */
  readonly id?: string;
  /**
   * The version of the workflow to run.
   * @defaultValue the default version set with `hf.versions`, else that of the definition, else `"1"`
   */
  readonly version?: string;
  /**
   * The queue of the run: only workers that serve this queue claim it.
   * @defaultValue the queue of the workflow, which is `"default"` unless it says otherwise
   */
  readonly queue?: string;
  /**
   * Which due runs workers claim first: a whole number from -9 to 9, larger is sooner.
   * @defaultValue the priority of the workflow, or `0`
   */
  readonly priority?: number;
  /**
   * What the limits and the fairness of its queue go by, such as a tenant: see `hf.queues.set`.
   * @defaultValue what the `key` of the workflow makes of the input, or none
   */
  readonly key?: string;
  /**
   * One run for many starts: while the last run of this workflow and key has not begun, a start gives it its own input and options
   * instead, as a whole, and puts it off. Needs a key, and takes no id, no time and no policy. A run that has begun is left alone, and a new one started.
   * @defaultValue each start is a run
   */
  readonly debounce?: DebounceOptions<S>;
  /**
   * The run does not begin before this time. The start itself is durable at once. If `delay` is also set, the later of
   * the two counts.
   * @defaultValue at once
   */
  readonly startAt?: Date;
  /**
   * The run does not begin until this much time has passed, by the store's clock, from the start.
   * @defaultValue at once
   */
  readonly delay?: CheckedDuration<S>;
  /**
   * The longest the run may take, counted from the call of `start`, including a delay; then it is wound up and ends as
   * `timed_out`. If it has not begun by then, its code is never called.
   * @defaultValue the timeout of the workflow, or no limit
   */
  readonly timeout?: CheckedDuration<S>;
  /**
   * Search attributes: small values to find the run by. The run may change them with `ctx.set`.
   * @defaultValue none
   */
  readonly attributes?: Attributes;
  /**
   * If an open run has this id: return its handle, refuse with `run_already_exists`, or terminate it and start a new
   * run.
   * @defaultValue `"return"`
   */
  readonly ifRunning?: "return" | "fail" | "replace";
  /**
   * If the newest run of this id is closed: return its handle, start another, or refuse with `run_already_exists`.
   * @defaultValue `"return"`
   */
  readonly ifClosed?: "return" | "start" | "fail";
  /**
   * The trace that the start is part of: the W3C headers of the request that asks for it. As the W3C wants it, a `traceparent` that
   * cannot be read counts as none.
   * @defaultValue the active trace, if there is telemetry that knows of one
   */
  readonly trace?: TraceHeaders;
}

/** Which runs `hf.list` and `hf.count` return: those that match every condition given. */
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
   * All runs of one id, including those it continued from.
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
   * Started after this time.
   * @defaultValue all
   */
  readonly createdAfter?: Date;
  /**
   * Started before this time.
   * @defaultValue all
   */
  readonly createdBefore?: Date;
  /**
   * Ended after this time.
   * @defaultValue all
   */
  readonly endedAfter?: Date;
  /**
   * Ended before this time.
   * @defaultValue all
   */
  readonly endedBefore?: Date;
  /**
   * What a suspended run waits for: the id of an op (`charge#2`), a name for every op that has it (`charge`, `receive:paid`), or
   * a prefix with its colon (`receive:`, `until:`). Known are the first 20 ops that a run waits for.
   * @defaultValue all
   */
  readonly waitingFor?: string;
  /**
   * Only runs that are suspended until the next attempt of a step, or of the whole run.
   * @defaultValue `false`: all
   */
  readonly retrying?: boolean;
  /**
   * Only suspended runs to which nothing has happened since this time.
   * @defaultValue all
   */
  readonly waitingSince?: Date;
  /**
   * The code or the kind of the error that a run failed with, was stopped by, or is parked for: `ECONNRESET`, `Timeout`,
   * `workflow_bug`.
   * @defaultValue all
   */
  readonly error?: string;
  /**
   * The run id of a run: its children, also those that were started inside its steps.
   * @defaultValue all
   */
  readonly parent?: string;
  /**
   * The run id of a run: its forks.
   * @defaultValue all
   */
  readonly forkedFrom?: string;
}

/** Options of `hf.count`. */
export interface CountOptions extends ListFilter {
  /**
   * Count no further than this: an answer of so many means "so many or more". For lists that are looked at often.
   * @defaultValue no limit: the exact number
   */
  readonly atMost?: number;
}

/** Options of `hf.list`. */
export interface ListOptions extends ListFilter {
  /**
   * Runs per page, at most 1,000.
   * @defaultValue `100`
   */
  readonly limit?: number;
  /**
   * The `cursor` of the previous page.
   * @defaultValue the first page
   */
  readonly cursor?: string;
}

/** Options of `hf.purge`. */
export interface PurgeOptions<S extends string = string> {
  /** How long ago a run must have ended. */
  readonly olderThan: CheckedDuration<S>;
  /**
   * Only runs that ended with one of these statuses.
   * @defaultValue all closed statuses
   */
  readonly statuses?: readonly ClosedStatus[];
  /**
   * Called after each batch with the number of runs purged so far. The next batch waits for it.
   * @defaultValue none
   */
  readonly onBatch?: (purged: number) => void | Promise<void>;
}
