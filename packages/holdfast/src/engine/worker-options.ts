import { hostname } from "node:os";
import { type AnyWorkflow, DEFAULT_QUEUE, requireName, requireWorkflow } from "../define/definitions.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import type { CheckedDuration } from "../model/checked-duration.ts";
import { formatDuration } from "../model/duration.ts";
import { requireDuration } from "../replay/step-options.ts";

export interface WorkerOptions<S extends string = string> {
  readonly workflows?: readonly AnyWorkflow[];
  /** Default: the queues of its workflows. */
  readonly queues?: readonly string[];
  /** How many runs may be under way at once; suspended ones do not count. */
  readonly concurrency?: number;
  /** How long the worker may be silent before its runs are given to others. */
  readonly lease?: CheckedDuration<S>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly name?: string;
  /** Drain on SIGTERM and SIGINT. */
  readonly handleSignals?: boolean;
  /** What to do when the code of a version has changed since it was last registered. Default: say so. */
  readonly onChangedCode?: "warn" | "refuse";
  /** How many suspended runs stay in memory. */
  readonly cacheSize?: number;
  /** How long `drain()` waits for steps that are running. */
  readonly drainTimeout?: CheckedDuration<S>;
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

export function resolveWorkerOptions(options: WorkerOptions, name: string): ResolvedWorkerOptions {
  const workflows = options.workflows ?? [];
  for (const [i, definition] of workflows.entries()) requireWorkflow(definition, `worker: workflows[${i}]`);
  const queues = options.queues ?? [...new Set(workflows.map((definition) => definition.queue))];
  for (const queue of queues) requireName(queue, "queue name");
  const leaseMs = requireDuration(options.lease ?? "30s", "worker", "lease");
  if (leaseMs < LEASE_MS_MIN)
    throw new HoldfastError(
      "invalid_option",
      `worker: lease is ${formatDuration(leaseMs)}; the least is ${formatDuration(LEASE_MS_MIN)}.`,
    );
  return {
    workflows,
    queues: queues.length > 0 ? queues : [DEFAULT_QUEUE],
    concurrency: wholeNumber(options.concurrency ?? 100, 1, "concurrency"),
    leaseMs,
    labels: { host: hostname(), pid: String(process.pid), ...options.labels },
    name: options.name ?? name,
    handleSignals: options.handleSignals ?? false,
    cacheSize: wholeNumber(options.cacheSize ?? 1_000, 0, "cacheSize"),
    onChangedCode: options.onChangedCode ?? "warn",
    drainTimeoutMs: requireDuration(options.drainTimeout ?? "30s", "worker", "drainTimeout"),
    tuning: { ...DEFAULT_TUNING, ...options.tuning },
  };
}

function wholeNumber(value: number, least: number, option: string): number {
  if (Number.isInteger(value) && value >= least) return value;
  throw new HoldfastError(
    "invalid_option",
    `worker: ${option} is ${value}; it must be a whole number from ${least} up.`,
    { data: { option } },
  );
}
