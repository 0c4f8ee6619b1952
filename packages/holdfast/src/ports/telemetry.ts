/**
 * What the engine reports while it works. Replay reports nothing, so that everything is counted once. Absent by default, and
 * then nothing is computed for it. Implementations must be quick. What they throw has no effect and is logged once.
 */
export interface Telemetry {
  /** It happened this many times. */
  count(metric: CountMetric, times: number, labels: TelemetryLabels): void;
  /** It took this long. */
  duration(metric: DurationMetric, ms: number, labels: TelemetryLabels): void;
  /** A step's attempt begins; the returned function ends the span. */
  stepSpan?(step: StepSpan): (error: unknown) => void;
}

/** What a count or a duration is about, by name: `{ workflow: "order", status: "failed" }`. */
export type TelemetryLabels = Readonly<Record<string, string>>;

/** The execution of a step that a span is about. */
export interface StepSpan {
  readonly runId: string;
  readonly workflow: string;
  readonly op: string;
  readonly attempt: number;
}

/** Counters, and their labels. */
export const COUNT_METRICS = {
  runs_started: "Starts that were made durable (workflow)",
  runs_ended: "Runs that ended here (workflow, status)",
  runs_parked: "Runs that were parked here (workflow, code)",
  runs_lost: "Runs that this worker held and no longer holds (workflow)",
  runs_replayed: "Runs that were rebuilt from their history (workflow)",
  events_replayed: "Events read for that (workflow)",
  replays_verified: "Ended runs that were replayed once more by `verifyReplay` (workflow, outcome)",
  runs_claimed: "Runs taken from the store",
  tasks_claimed: "Tasks taken from the store",
  step_attempts: "Executions of steps (workflow, step, outcome)",
  task_attempts: "Executions of tasks (task, outcome)",
  pool_restarts: "Processes of task pools that were replaced or have died (worker, reason)",
  flushes: "Calls that write what runs have done",
  flushed_events: "Events in those calls",
  store_failures: "Calls of the store that failed and are repeated (call)",
} as const;

/** Durations in milliseconds, and their labels. */
export const DURATION_METRICS = {
  step_attempt: "One execution of a step (workflow, step, outcome)",
  task_attempt: "One execution of a task (task, outcome)",
  flush: "From sending a flush to its answer",
  claim: "From sending a claim to its answer",
} as const;

/** The name of a counter; `COUNT_METRICS` says what each one counts. */
export type CountMetric = keyof typeof COUNT_METRICS;
/** The name of a duration; `DURATION_METRICS` says what each one measures. */
export type DurationMetric = keyof typeof DURATION_METRICS;
