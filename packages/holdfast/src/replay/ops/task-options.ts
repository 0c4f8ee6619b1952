import type { StandardSchemaV1 } from "@standard-schema/spec";
import {
  checkedLater,
  checkOptions,
  invalidOption,
  isFunction,
  isName,
  listOf,
  type OptionCheck,
  type OptionChecks,
  oneOf,
  requireDuration,
  wholeNumber,
} from "../../errors/option-checks.ts";
import { isRetryIf, type RetryIf } from "../../errors/retry-rule.ts";
import { shownValue } from "../../errors/shown-value.ts";
import type { CheckedDuration } from "../../model/checked-duration.ts";
import { PRIORITY_MAX, PRIORITY_MIN } from "../../model/run.ts";
import type { TaskSpec } from "../../model/task.ts";
import type { TraceHeaders } from "../../model/trace-context.ts";
import type { RunLogger } from "../../ports/logger.ts";
import { type Compensation, type RetryOption, resolveRetry } from "./step-options.ts";

/** What a task's function receives, besides its input. */
export interface TaskInfo {
  /** Counted from 1; survives crashes. The death of a worker is not an attempt. */
  readonly attempt: number;
  /** Aborted on timeout, when the run no longer wants the result, and when the worker loses the task. */
  readonly signal: AbortSignal;
  /** The same as `signal`. */
  readonly abortSignal: AbortSignal;
  /** The same for every attempt of this task: pass it on to the systems the task calls. */
  readonly idempotencyKey: string;
  /** Every line says which run, task and attempt it comes from. */
  readonly log: RunLogger;
  /**
   * The W3C headers of the trace that this attempt is part of: pass them on to the systems the task calls. Empty if the run was
   * started without a trace.
   */
  readonly traceHeaders: TraceHeaders;
  /** What the last heartbeat of an earlier attempt reported; undefined if there was none. */
  readonly lastDetails: unknown;
  /** A secret with which others can report on this attempt: `hf.tasks.complete(token, result)`. */
  readonly token: string;
  /** The run that scheduled the task. */
  readonly runId: string;
  /**
   * Reports that the attempt is alive, and how far it is. Reports are sent in batches. Never rejects: a cancellation shows in
   * `signal`.
   */
  heartbeat(details?: unknown): Promise<void>;
  /** `return t.completeLater()`: the attempt stays open until someone with the token completes or fails it. */
  completeLater(): never;
}

/** The work of a task: executed at least once, and never again once its result is recorded. */
export type TaskFunction<I, O> = (input: I, task: TaskInfo) => O | PromiseLike<O>;

/** What the definition of a task and a call of `ctx.task` may both say; the call has precedence. */
export interface TaskSettings<S extends string = string> {
  /**
   * The queue: only workers that serve it take the task.
   * @defaultValue `"default"`
   */
  readonly queue?: string;
  /**
   * How often and how soon the task is retried when its function throws.
   * @defaultValue 3 attempts, after 1 s and 2 s, ±25 %
   */
  readonly retry?: RetryOption<S>;
  /**
   * Which errors are worth another attempt.
   * @defaultValue `"default"`: all but the kinds NotFound, Unauthorized, BadRequest and ValidationError
   */
  readonly retryIf?: RetryIf;
  /**
   * The longest that one attempt may take; then it fails with `task_timeout`.
   * @defaultValue no limit
   */
  readonly timeout?: CheckedDuration<S>;
  /**
   * The longest that the task may wait for a worker, each time it is due; then it fails for good with `task_start_timeout`.
   * @defaultValue no limit
   */
  readonly startTimeout?: CheckedDuration<S>;
  /**
   * The longest that all of it may take; then it fails for good with `task_total_timeout`.
   * @defaultValue no limit
   */
  readonly totalTimeout?: CheckedDuration<S>;
  /**
   * The longest silence between two calls of `t.heartbeat`; then the attempt fails with `task_heartbeat_timeout`.
   * @defaultValue no limit
   */
  readonly heartbeat?: CheckedDuration<S>;
  /**
   * Labels that a worker must have to take the task, such as `"smtp"` or `"gpu=a100"`. Those of the definition and of the call
   * are added.
   * @defaultValue none
   */
  readonly requires?: readonly string[];
  /**
   * What the death of its worker does: the task is executed again, or it fails with `task_crashed` (at most once).
   * @defaultValue `"retry"`
   */
  readonly onCrash?: "retry" | "fail";
}

/** Options of `ctx.task`. */
export interface TaskCallOptions<T = unknown, S extends string = string> extends TaskSettings<S> {
  /**
   * Which due tasks workers take first: a whole number from -9 to 9, larger is sooner.
   * @defaultValue the priority of the run
   */
  readonly priority?: number;
  /**
   * What the limits and the fairness of its queue go by.
   * @defaultValue the key of the run
   */
  readonly key?: string;
  /**
   * How to undo the task if the run fails, is canceled or times out. As for a step, except that a task which a worker has
   * taken counts as begun.
   * @defaultValue nothing is undone
   */
  readonly compensate?: Compensation<T>;
}

/** A named piece of work, made by `task`. `I` is what workflows pass, `O` is what they get back. */
export interface TaskDefinition<I = unknown, O = unknown> {
  readonly kind: "task";
  readonly name: string;
  /** As history keeps it, without what a call adds. */
  readonly spec: TaskSpec;
  readonly queue: string;
  readonly external: boolean;
  readonly retryIf: RetryIf;
  /** Checks and converts an input; throws if it is not valid. Undefined without a schema. */
  readonly checkInput: ((input: unknown) => unknown) | undefined;
  readonly outputSchema: StandardSchemaV1 | undefined;
  /** Undefined for an external task. */
  readonly fn: TaskFunction<never, unknown> | undefined;
  /** File and line, for messages about its code. */
  readonly definedAt: string | undefined;
  /** Only carries the type; never set. */
  readonly inputType?: I;
  readonly outputType?: O;
}

/** Any task, whatever its input and output. */
// biome-ignore lint/suspicious/noExplicitAny: the bound for "whatever definition"; user code never sees the any
export type AnyTask = TaskDefinition<any, any>;

/** Larger is sooner. */
const isPriority = wholeNumber(PRIORITY_MIN, PRIORITY_MAX, ", larger is sooner");

const areLabels = listOf(isName("label"));

export const TASK_SETTINGS: OptionChecks<TaskSettings> = {
  queue: isName("queue of task"),
  retry: checkedLater,
  retryIf: isRetryIf,
  timeout: checkedLater,
  startTimeout: checkedLater,
  totalTimeout: checkedLater,
  heartbeat: checkedLater,
  requires: areLabels,
  onCrash: oneOf("retry", "fail"),
};

/** The worker that executes the task may be in another process, where this function does not exist. */
const canBeWritten: OptionCheck = (value, where, option) => {
  isRetryIf(value, where, option);
  if (typeof value === "function")
    throw invalidOption(
      where,
      option,
      "is a function, which cannot be sent to the task's worker. Put it into the definition of the task, or name kinds of errors",
    );
};

const TASK_CALL_OPTIONS: OptionChecks<TaskCallOptions> = {
  ...TASK_SETTINGS,
  retryIf: canBeWritten,
  priority: isPriority,
  key: isName("key"),
  compensate: isFunction,
};

/** What the settings add to a spec. */
export function readSettings(settings: TaskSettings, where: string): Omit<TaskSpec, "name"> {
  const ms = (option: "timeout" | "startTimeout" | "totalTimeout" | "heartbeat"): number | undefined => {
    const value = settings[option];
    if (value === undefined) return undefined;
    const time = requireDuration(value, where, option);
    if (time > 0) return time;
    throw invalidOption(where, option, `is ${shownValue(value)}, which leaves no time`);
  };
  const { queue, retry, retryIf, requires, onCrash } = settings;
  return given({
    queue,
    requires: requires === undefined || requires.length === 0 ? undefined : labelList(requires),
    retry: retry === undefined ? undefined : resolveRetry(retry, where),
    retryIf: typeof retryIf === "function" ? undefined : retryIf,
    timeoutMs: ms("timeout"),
    startTimeoutMs: ms("startTimeout"),
    totalTimeoutMs: ms("totalTimeout"),
    heartbeatMs: ms("heartbeat"),
    onCrash: onCrash === "fail" ? "fail" : undefined,
  });
}

/** Whether `task` has made it, in this copy of the package or in another: a copy of parts of it would fail much later. */
export function isTask(value: unknown): value is TaskDefinition {
  const found = value as Partial<TaskDefinition> | null | undefined;
  try {
    if (found?.kind !== "task" || typeof found.name !== "string") return false;
    return found.spec?.name === found.name && (found.external === true || typeof found.fn === "function");
  } catch {
    return false; // a getter or a proxy that throws
  }
}

/** What one call schedules. */
export function resolveTaskSpec(
  { spec }: Pick<TaskDefinition, "spec">,
  options: TaskCallOptions | undefined,
  where: string,
): TaskSpec {
  if (options === undefined) return spec;
  checkOptions(options, TASK_CALL_OPTIONS, where);
  const { requires, ...settings } = readSettings(options, where);
  const { priority, key } = options;
  const labels = requires === undefined ? undefined : labelList([...(spec.requires ?? []), ...requires]);
  const { onCrash: _onCrash, ...rest } = spec;
  // "retry" in a call takes back the "fail" of the definition.
  const base = options.onCrash === undefined ? spec : rest;
  return { ...base, ...settings, ...given({ requires: labels, priority, key }) };
}

function labelList(labels: readonly string[]): string[] {
  return [...new Set(labels)].sort();
}

type Given<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

/** Without what is undefined. */
function given<T extends object>(values: T): Given<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Given<T>;
}
