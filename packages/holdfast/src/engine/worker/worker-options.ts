import { hostname } from "node:os";
import { type AnyWorkflow, DEFAULT_QUEUE, requireWorkflow } from "../../define/definitions.ts";
import { requireTask } from "../../define/task.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import {
  invalidOption,
  isBoolean,
  isDuration,
  isName,
  isPlainObject,
  listOf,
  type OptionCheck,
  type OptionChecks,
  oneOf,
  optionsOf,
  requireDuration,
  requireName,
  requireOptions,
  wholeNumber,
  withDefaults,
} from "../../errors/option-checks.ts";
import { shownValue } from "../../errors/shown-value.ts";
import type { CheckedDuration } from "../../model/checked-duration.ts";
import { formatDuration } from "../../model/duration.ts";
import { valueFault } from "../../model/names.ts";
import type { AnyTask } from "../../replay/ops/task-options.ts";
import { isPool, type ResolvedPoolOptions, resolvePool, type TaskPoolOptions } from "../pool/pool-options.ts";
import {
  isWatchdog,
  type ResolvedWatchdog,
  resolveWatchdog,
  type WatchdogOptions,
} from "../watchdog/watchdog-options.ts";
import { isVerifyReplay, type VerifyReplayOptions } from "./verify-replay.ts";

/** Options of `hf.worker`. */
export interface WorkerOptions<S extends string = string> {
  /**
   * What this worker can run. It claims runs of these workflows and versions only.
   * @defaultValue none
   */
  readonly workflows?: readonly AnyWorkflow[];
  /**
   * The tasks that it executes.
   * @defaultValue none
   */
  readonly tasks?: readonly AnyTask[];
  /**
   * The queues that it claims runs and tasks from.
   * @defaultValue the queues of its workflows and tasks
   */
  readonly queues?: readonly string[];
  /**
   * How many runs may be in progress at once. Runs that sleep or wait do not count.
   * @defaultValue `100`
   */
  readonly concurrency?: number;
  /**
   * How many tasks may be in progress at once.
   * @defaultValue `100`; with a pool, as many as its processes execute at once, which is also the most
   */
  readonly taskConcurrency?: number;
  /**
   * Executes the functions of tasks in child processes: what a task does to its process, it does to no other. Workflows and
   * their steps stay in this process.
   * @defaultValue tasks are executed in this process
   */
  readonly pool?: TaskPoolOptions<S>;
  /**
   * How long the worker may be silent before its lease expires and its runs are reclaimed. At least 1 s.
   * @defaultValue `"30s"`
   */
  readonly lease?: CheckedDuration<S>;
  /**
   * What it can do, for tasks that require it: a list (`["smtp"]`) or a record (`{ gpu: "a100" }`, which offers `gpu` and
   * `gpu=a100`). `host` and `pid` are always there.
   * @defaultValue `host` and `pid`
   */
  readonly labels?: readonly string[] | Readonly<Record<string, string>>;
  /**
   * The worker's name in `health()`, `why()` and the log. Of several in one process the second one is called `orders~2`, and so on.
   * @defaultValue the name of the program and a number: `server-1` for `server.ts`
   */
  readonly name?: string;
  /**
   * Whether SIGTERM and SIGINT drain the worker; a second one ends the process.
   * @defaultValue `false`
   */
  readonly handleSignals?: boolean;
  /**
   * What to do when the code of a version has changed since it was last registered: log a warning, or refuse to start.
   * @defaultValue `"warn"`
   */
  readonly onChangedCode?: "warn" | "refuse";
  /**
   * How many suspended runs stay in memory, so that they continue without replay.
   * @defaultValue `1000`
   */
  readonly cacheSize?: number;
  /**
   * How long `drain()` waits for running steps before it aborts them.
   * @defaultValue `"30s"`
   */
  readonly drainTimeout?: CheckedDuration<S>;
  /**
   * Replays runs that have ended here against their own history, and reports code that is not deterministic: `{ sample: 0.01 }`
   * checks one in a hundred. It costs what a replay costs, and never changes a run.
   * @defaultValue nothing is replayed after its end
   */
  readonly verifyReplay?: VerifyReplayOptions;
  /**
   * Whether this worker may become the leader of the store: the one that fires schedules and applies retention, of all namespaces. One of them leads, and
   * when it is gone another takes its place. If all workers say `false`, no schedule is fired.
   * @defaultValue `true`
   */
  readonly coordinate?: boolean;
  /**
   * Looks for what is wrong in the namespace, and does what its rules say about it. One of the workers with rules keeps watch. `false`: this
   * worker does not, whatever happens.
   * @defaultValue while no worker of the namespace has rules, the leader reports sick workers, a slow store, backlogs, crash loops and versions without
   * workers in its log, once a minute
   */
  readonly watchdog?: false | WatchdogOptions<S>;
  /**
   * Limits that rarely need to change.
   * @defaultValue see `WorkerTuning`
   */
  readonly tuning?: Partial<WorkerTuning>;
}

/** Limits that rarely need to change. */
export interface WorkerTuning {
  /**
   * Concurrent calls that write.
   * @defaultValue `2`, or `1` on SQLite
   */
  readonly flushesInFlightMax: number;
  /**
   * Runs in one such call.
   * @defaultValue `1000`
   */
  readonly runsPerFlushMax: number;
  /**
   * Events in one such call.
   * @defaultValue `5000`
   */
  readonly eventsPerFlushMax: number;
  /**
   * Events after which a run is released, so that others get their turn.
   * @defaultValue no limit
   */
  readonly eventsPerHoldMax: number;
  /**
   * How long to wait for an aborted step that may have to be compensated, if the step has no timeout.
   * @defaultValue `30000`
   */
  readonly windUpMs: number;
  /**
   * How long a worker with free slots waits, without a hint or a known due time, before it asks the store again.
   * @defaultValue `5000`
   */
  readonly claimFallbackMs: number;
  /**
   * Worker deaths without progress after which a run is claimed alone.
   * @defaultValue `2`
   */
  readonly suspectAfter: number;
  /**
   * Worker deaths while alone after which a run is parked.
   * @defaultValue `3`
   */
  readonly parkAfter: number;
  /**
   * How long a run stays with its worker while its tasks run in the same process, or its children on the same worker; after that it
   * waits in the store.
   * @defaultValue `1000`
   */
  readonly taskHoldMs: number;
}

export interface ResolvedWorkerOptions {
  readonly workflows: readonly AnyWorkflow[];
  readonly tasks: readonly AnyTask[];
  readonly queues: readonly string[];
  readonly concurrency: number;
  readonly taskConcurrency: number;
  readonly pool: ResolvedPoolOptions | undefined;
  readonly leaseMs: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly name: string;
  readonly handleSignals: boolean;
  readonly cacheSize: number;
  readonly onChangedCode: "warn" | "refuse";
  readonly drainTimeoutMs: number;
  readonly verifyReplay: VerifyReplayOptions | undefined;
  readonly coordinate: boolean;
  readonly watchdog: ResolvedWatchdog | undefined;
  readonly tuning: WorkerTuning;
}

const LEASE_MS_MIN = 1_000;
const LEASE_MS_DEFAULT = 30_000;

const DEFAULT_TUNING: WorkerTuning = {
  flushesInFlightMax: 2,
  runsPerFlushMax: 1_000,
  eventsPerFlushMax: 5_000,
  eventsPerHoldMax: Number.POSITIVE_INFINITY,
  windUpMs: 30_000,
  claimFallbackMs: 5_000,
  suspectAfter: 2,
  parkAfter: 3,
  taskHoldMs: 1_000,
};

const isPositive: OptionCheck = (value, where, option) => {
  if (typeof value !== "number" || !(value > 0))
    throw invalidOption(where, option, `is ${shownValue(value)}, not a number above 0`);
};

const areLabelNames = listOf(isName("label"));

const areLabels: OptionCheck = (value, where, option) => {
  if (Array.isArray(value)) return areLabelNames(value, where, option);
  if (!isPlainObject(value))
    throw invalidOption(
      where,
      option,
      `is ${shownValue(value)}, not a list like ["smtp"] or an object like { gpu: "a100" }`,
    );
  for (const [label, text] of Object.entries(value as object)) {
    requireName(label, "label");
    const fault = typeof text === "string" ? valueFault(text) : `is ${shownValue(text)}, not a string`;
    if (fault !== undefined) throw invalidOption(where, `${option}.${label}`, fault);
  }
};

const areQueueNames = listOf(isName("queue name"));

const areQueues: OptionCheck = (value, where, option) => {
  areQueueNames(value, where, option);
  if ((value as readonly string[]).length > 0) return;
  const advice =
    "Name at least one queue, or leave the option out: the worker then serves the queues of its workflows and tasks";
  throw invalidOption(where, option, `is an empty list. ${advice}`);
};

const WORKER_OPTIONS: OptionChecks<WorkerOptions> = {
  workflows: listOf((value, where, option) => requireWorkflow(value, `${where}: ${option}`)),
  tasks: listOf((value, where, option) => requireWorkerTask(value, `${where}: ${option}`)),
  queues: areQueues,
  concurrency: wholeNumber(1),
  taskConcurrency: wholeNumber(1),
  pool: isPool,
  lease: isDuration,
  labels: areLabels,
  name: isName("name of the worker"),
  handleSignals: isBoolean,
  onChangedCode: oneOf("warn", "refuse"),
  cacheSize: wholeNumber(0),
  drainTimeout: isDuration,
  verifyReplay: isVerifyReplay,
  coordinate: isBoolean,
  watchdog: isWatchdog,
  tuning: optionsOf<WorkerTuning>({
    flushesInFlightMax: isPositive,
    runsPerFlushMax: isPositive,
    eventsPerFlushMax: isPositive,
    eventsPerHoldMax: isPositive,
    windUpMs: isPositive,
    claimFallbackMs: isPositive,
    suspectAfter: isPositive,
    parkAfter: isPositive,
    taskHoldMs: isPositive,
  }),
};

/** External tasks have no function: no worker executes them. */
function requireWorkerTask(value: unknown, where: string): void {
  requireTask(value, where);
  const { name, external } = value as AnyTask;
  if (external)
    throw new HoldfastError("invalid_option", `${where} is task "${name}", which is external: no worker executes it.`);
}

function requireDistinct(tasks: readonly AnyTask[]): void {
  const names = tasks.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined)
    throw new HoldfastError("invalid_option", `worker: tasks has two tasks with the name "${twice}".`);
}

function taskSlots(
  wanted: number | undefined,
  pool: ResolvedPoolOptions | undefined,
  tasks: readonly AnyTask[],
): number {
  if (!pool) return wanted ?? 100;
  if (tasks.length === 0) throw invalidOption("worker", "pool", "is given, but the worker has no tasks");
  const slots = pool.processes * pool.perProcess;
  if ((wanted ?? slots) <= slots) return wanted ?? slots;
  const fault = `is ${wanted}, but the pool executes ${slots} at once. Raise pool.processes or pool.perProcess`;
  throw invalidOption("worker", "taskConcurrency", fault);
}

/** A label without a value is kept with an empty one. */
function labelRecord(labels: WorkerOptions["labels"] = {}): Readonly<Record<string, string>> {
  return Array.isArray(labels)
    ? Object.fromEntries((labels as readonly string[]).map((label) => [label, ""]))
    : (labels as Readonly<Record<string, string>>);
}

/** A worker that may not lead keeps no watch either. */
function watchdogOf({ watchdog, coordinate }: WorkerOptions, standard: boolean): ResolvedWatchdog | undefined {
  if (coordinate !== false) return resolveWatchdog(watchdog, standard);
  if (watchdog) throw invalidOption("worker", "watchdog", "is given, but coordinate is false: it would never look");
  return undefined;
}

export function resolveWorkerOptions(
  options: WorkerOptions,
  nameless: () => string,
  leaseMsDefault = LEASE_MS_DEFAULT,
  standardWatchdog = false,
): ResolvedWorkerOptions {
  requireOptions(options, WORKER_OPTIONS, "worker");
  const workflows = options.workflows ?? [];
  const tasks = options.tasks ?? [];
  requireDistinct(tasks);
  const queues = options.queues ?? [...new Set([...workflows, ...tasks].map(({ queue }) => queue))];
  const leaseMs = options.lease === undefined ? leaseMsDefault : requireDuration(options.lease, "worker", "lease");
  if (leaseMs < LEASE_MS_MIN)
    throw new HoldfastError(
      "invalid_option",
      `worker: lease is ${formatDuration(leaseMs)}; the minimum is ${formatDuration(LEASE_MS_MIN)}.`,
    );
  const pool = options.pool && resolvePool(options.pool);
  return {
    workflows,
    tasks,
    queues: queues.length > 0 ? queues : [DEFAULT_QUEUE],
    concurrency: options.concurrency ?? 100,
    pool,
    taskConcurrency: taskSlots(options.taskConcurrency, pool, tasks),
    leaseMs,
    labels: { host: hostname(), pid: String(process.pid), ...labelRecord(options.labels) },
    name: options.name ?? nameless(),
    handleSignals: options.handleSignals ?? false,
    cacheSize: options.cacheSize ?? 1_000,
    onChangedCode: options.onChangedCode ?? "warn",
    drainTimeoutMs: requireDuration(options.drainTimeout ?? "30s", "worker", "drainTimeout"),
    verifyReplay: options.verifyReplay,
    coordinate: options.coordinate ?? true,
    watchdog: watchdogOf(options, standardWatchdog),
    tuning: withDefaults(DEFAULT_TUNING, options.tuning),
  };
}
