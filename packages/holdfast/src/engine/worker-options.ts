import { hostname } from "node:os";
import { type AnyWorkflow, DEFAULT_QUEUE, requireWorkflow } from "../define/definitions.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
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
} from "../errors/option-checks.ts";
import { shownValue } from "../errors/shown-value.ts";
import { type Duration, formatDuration } from "../model/duration.ts";
import { valueFault } from "../model/names.ts";

export interface WorkerOptions {
  readonly workflows?: readonly AnyWorkflow[];
  /** Default: the queues of its workflows. */
  readonly queues?: readonly string[];
  /** How many runs may be under way at once; suspended ones do not count. */
  readonly concurrency?: number;
  /** How long the worker may be silent before its runs are given to others. */
  readonly lease?: Duration;
  readonly labels?: Readonly<Record<string, string>>;
  readonly name?: string;
  /** Drain on SIGTERM and SIGINT. */
  readonly handleSignals?: boolean;
  /** What to do when the code of a version has changed since it was last registered. Default: say so. */
  readonly onChangedCode?: "warn" | "refuse";
  /** How many suspended runs stay in memory. */
  readonly cacheSize?: number;
  /** How long `drain()` waits for steps that are running. */
  readonly drainTimeout?: Duration;
  readonly tuning?: Partial<WorkerTuning>;
}

/** Limits that hardly anybody needs to change. */
export interface WorkerTuning {
  readonly flushesInFlightMax: number;
  readonly runsPerFlushMax: number;
  readonly eventsPerFlushMax: number;
  readonly eventsPerHoldMax: number;
  readonly windUpMs: number;
  /** How long a worker with free slots waits, without hint and known due time, before it asks the store again. */
  readonly claimFallbackMs: number;
  /** Worker deaths without progress after which a run is claimed alone, and deaths while alone after which it is parked. */
  readonly suspectAfter: number;
  readonly parkAfter: number;
}

export interface ResolvedWorkerOptions {
  readonly workflows: readonly AnyWorkflow[];
  readonly queues: readonly string[];
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly name: string;
  readonly handleSignals: boolean;
  readonly cacheSize: number;
  readonly onChangedCode: "warn" | "refuse";
  readonly drainTimeoutMs: number;
  readonly tuning: WorkerTuning;
}

const LEASE_MS_MIN = 1_000;

const DEFAULT_TUNING: WorkerTuning = {
  flushesInFlightMax: 2,
  runsPerFlushMax: 1_000,
  eventsPerFlushMax: 5_000,
  eventsPerHoldMax: Number.POSITIVE_INFINITY,
  windUpMs: 30_000,
  claimFallbackMs: 5_000,
  suspectAfter: 2,
  parkAfter: 3,
};

const isPositive: OptionCheck = (value, where, option) => {
  if (typeof value !== "number" || !(value > 0))
    throw invalidOption(where, option, `is ${shownValue(value)}, not a number above 0`);
};

const areLabels: OptionCheck = (value, where, option) => {
  if (!isPlainObject(value))
    throw invalidOption(where, option, `is ${shownValue(value)}, not an object like { gpu: "a100" }`);
  for (const [label, text] of Object.entries(value as object)) {
    requireName(label, "label");
    const fault = typeof text === "string" ? valueFault(text) : `is ${shownValue(text)}, not a string`;
    if (fault !== undefined) throw invalidOption(where, `${option}.${label}`, fault);
  }
};

const WORKER_OPTIONS: OptionChecks<WorkerOptions> = {
  workflows: listOf((value, where, option) => requireWorkflow(value, `${where}: ${option}`)),
  queues: listOf(isName("queue name")),
  concurrency: wholeNumber(1),
  lease: isDuration,
  labels: areLabels,
  name: isName("name of the worker"),
  handleSignals: isBoolean,
  onChangedCode: oneOf("warn", "refuse"),
  cacheSize: wholeNumber(0),
  drainTimeout: isDuration,
  tuning: optionsOf<WorkerTuning>({
    flushesInFlightMax: isPositive,
    runsPerFlushMax: isPositive,
    eventsPerFlushMax: isPositive,
    eventsPerHoldMax: isPositive,
    windUpMs: isPositive,
    claimFallbackMs: isPositive,
    suspectAfter: isPositive,
    parkAfter: isPositive,
  }),
};

export function resolveWorkerOptions(options: WorkerOptions, name: string): ResolvedWorkerOptions {
  requireOptions(options, WORKER_OPTIONS, "worker");
  const workflows = options.workflows ?? [];
  const queues = options.queues ?? [...new Set(workflows.map((definition) => definition.queue))];
  const leaseMs = requireDuration(options.lease ?? "30s", "worker", "lease");
  if (leaseMs < LEASE_MS_MIN)
    throw new HoldfastError(
      "invalid_option",
      `worker: lease is ${formatDuration(leaseMs)}; the least is ${formatDuration(LEASE_MS_MIN)}.`,
    );
  return {
    workflows,
    queues: queues.length > 0 ? queues : [DEFAULT_QUEUE],
    concurrency: options.concurrency ?? 100,
    leaseMs,
    labels: { host: hostname(), pid: String(process.pid), ...options.labels },
    name: options.name ?? name,
    handleSignals: options.handleSignals ?? false,
    cacheSize: options.cacheSize ?? 1_000,
    onChangedCode: options.onChangedCode ?? "warn",
    drainTimeoutMs: requireDuration(options.drainTimeout ?? "30s", "worker", "drainTimeout"),
    tuning: withDefaults(DEFAULT_TUNING, options.tuning),
  };
}
