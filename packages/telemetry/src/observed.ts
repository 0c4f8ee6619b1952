/**
 * What only the store knows: health, queues, schedules, parked runs. Nobody reports it; it is asked for when metrics are read. What it
 * costs is bounded: each question reads rows by an index, and counts no further than COUNTED_MAX; while one is being answered, other readers
 * wait for the same answer.
 */
import type { Client, MetricAbout, Telemetry, TelemetryLabels } from "holdfast";
import { checkOptions, isText, objectWith } from "holdfast/adapter";

/** How far parked runs and dead tasks are counted. */
const COUNTED_MAX = 1_000;

/** Which of several stores a client is of. */
export interface ObserveOptions {
  /**
   * The value of the label `store`, in a process that observes several stores with a namespace of the same name.
   * @defaultValue no such label
   */
  readonly store?: string;
}

/** A telemetry that can also ask the store. */
export interface ObservingTelemetry extends Telemetry {
  /**
   * From now on, whoever reads the metrics gets those of the client's namespace that only the store knows, too. One or two processes of
   * a fleet are enough: all of them would say the same. A client that is closed says nothing more. Clients of
   * several stores with a namespace of the same name need a `store` each: without, the last one hides the others.
   */
  observe(hf: Client, options?: ObserveOptions): void;
}

/** The gauges of a namespace that are asked for. Ages are given as the time when they began: `time() - …` is the age. */
export const OBSERVED_METRICS = {
  store_up: { about: "1 if the store answers, 0 if it does not", labels: ["namespace", "store"] },
  store_latency_seconds: {
    about: "The median and the 99th percentile of the last calls of this client and its workers",
    labels: ["namespace", "store", "quantile"],
  },
  health: {
    about: "1 for the status that hf.health() returns, 0 for the others",
    labels: ["namespace", "store", "status"],
  },
  workers: { about: "Workers, by what hf.health() thinks of them", labels: ["namespace", "store", "health"] },
  leader: { about: "1 if a worker leads: it fires schedules, and deletes old runs", labels: ["namespace", "store"] },
  schedule_failures: {
    about: "How many runs in a row have failed, of each schedule whose last run has failed",
    labels: ["namespace", "store", "schedule"],
  },
  timers_late: { about: "Timers that are due and have not fired", labels: ["namespace", "store"] },
  timers_worst_seconds: { about: "How late the latest of them is", labels: ["namespace", "store"] },
  queue_waiting: {
    about: "Runs or tasks that are due and that nobody has",
    labels: ["namespace", "store", "queue", "what"],
  },
  queue_running: {
    about: "Runs or tasks that have a place in a queue with limits, or that a worker holds",
    labels: ["namespace", "store", "queue", "what"],
  },
  queue_oldest_timestamp_seconds: {
    about: "Since when the oldest of those that wait has been due",
    labels: ["namespace", "store", "queue", "what"],
  },
  queue_limit: { about: "How many may run at once, of each", labels: ["namespace", "store", "queue"] },
  queue_backlog_limit: { about: "How many runs may wait", labels: ["namespace", "store", "queue"] },
  parked_runs: { about: "Runs that wait for a person, counted up to 1,000", labels: ["namespace", "store"] },
  dead_tasks: { about: "Tasks that have used up their attempts, counted up to 1,000", labels: ["namespace", "store"] },
} as const satisfies Readonly<Record<string, MetricAbout>>;

/** The name of a gauge that is asked for; `OBSERVED_METRICS` says what each one shows. */
export type ObservedMetric = keyof typeof OBSERVED_METRICS;

export interface Observation {
  readonly metric: ObservedMetric;
  readonly value: number;
  readonly labels: TelemetryLabels;
}

/** What `hf.health()` may say besides what this version is sure of. */
interface Timers {
  readonly timers?: { readonly late: number; readonly worstMs: number };
}

/** Asks the client; whoever comes while it is being asked gets the same answer. */
export function observer(hf: Client, options: ObserveOptions = {}): () => Promise<readonly Observation[]> {
  objectWith("health", "live", "count")(hf, "observe", "the client");
  checkOptions<ObserveOptions>(options, { store: isText }, "observe");
  const { store } = options;
  let asked: Promise<readonly Observation[]> | undefined;
  return () => {
    asked ??= observe(hf)
      .then((found) => (store === undefined ? found : found.map((one) => ofStore(one, store))))
      .finally(() => {
        asked = undefined;
      });
    return asked;
  };
}

function ofStore(one: Observation, store: string): Observation {
  return { ...one, labels: { ...one.labels, store } };
}

async function observe(hf: Client): Promise<readonly Observation[]> {
  const { namespace } = hf;
  const down: Observation[] = [{ metric: "store_up", value: 0, labels: { namespace } }];
  try {
    if (!(await hf.live())) return down;
  } catch {
    // The client is closed.
    return [];
  }
  try {
    const found = await Promise.all([healthOf(hf), queuesOf(hf), countsOf(hf)]);
    return [{ metric: "store_up", value: 1, labels: { namespace } }, ...found.flat()];
  } catch {
    return down;
  }
}

async function healthOf(hf: Client): Promise<Observation[]> {
  const { namespace } = hf;
  const health = await hf.health();
  const { store, workers, schedules, leader, timers } = health as typeof health & Timers;
  const states = ["healthy", "degraded", "unhealthy"] as const;
  const seconds = (quantile: string, ms: number | null): Observation[] =>
    ms === null ? [] : [{ metric: "store_latency_seconds", value: ms / 1_000, labels: { namespace, quantile } }];
  return [
    ...seconds("0.5", store.p50Ms),
    ...seconds("0.99", store.p99Ms),
    ...states.flatMap((state): Observation[] => [
      { metric: "health", value: health.status === state ? 1 : 0, labels: { namespace, status: state } },
      {
        metric: "workers",
        value: workers.filter((worker) => worker.health === state).length,
        labels: { namespace, health: state },
      },
    ]),
    { metric: "leader", value: leader ? 1 : 0, labels: { namespace } },
    ...schedules.map(({ id, failures }): Observation => {
      return { metric: "schedule_failures", value: failures, labels: { namespace, schedule: id } };
    }),
    ...(timers ? timersOf(namespace, timers) : []),
  ];
}

function timersOf(namespace: string, { late, worstMs }: NonNullable<Timers["timers"]>): Observation[] {
  return [
    { metric: "timers_late", value: late, labels: { namespace } },
    { metric: "timers_worst_seconds", value: worstMs / 1_000, labels: { namespace } },
  ];
}

async function queuesOf(hf: Client): Promise<Observation[]> {
  const { namespace } = hf;
  return (await hf.queues.list()).flatMap(({ name: queue, limits, runs, tasks }) => {
    const found: Observation[] = [];
    for (const [what, { waiting, running, oldestDueAt }] of [["run", runs] as const, ["task", tasks] as const]) {
      const labels = { namespace, queue, what };
      found.push({ metric: "queue_waiting", value: waiting, labels });
      found.push({ metric: "queue_running", value: running, labels });
      if (oldestDueAt)
        found.push({ metric: "queue_oldest_timestamp_seconds", value: oldestDueAt.getTime() / 1_000, labels });
    }
    const labels = { namespace, queue };
    if (limits.concurrency !== undefined) found.push({ metric: "queue_limit", value: limits.concurrency, labels });
    if (limits.backlog !== undefined) found.push({ metric: "queue_backlog_limit", value: limits.backlog, labels });
    return found;
  });
}

async function countsOf(hf: Client): Promise<Observation[]> {
  const labels = { namespace: hf.namespace };
  const [parked, dead] = await Promise.all([
    hf.count({ status: "parked", atMost: COUNTED_MAX }),
    hf.tasks.list({ status: "dead", limit: COUNTED_MAX }),
  ]);
  return [
    { metric: "parked_runs", value: parked, labels },
    { metric: "dead_tasks", value: dead.tasks.length, labels },
  ];
}
