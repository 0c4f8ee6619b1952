import type { ErrorRecord } from "../model/error-record.ts";

/**
 * What the engine reports while it works. Replay reports nothing that was done before, so that everything is counted once.
 * Absent by default, and then nothing is computed for it. Implementations must be quick. What they throw has no effect and is
 * logged once.
 */
export interface Telemetry {
  /** It happened this many times. */
  count(metric: CountMetric, times: number, labels: TelemetryLabels): void;
  /** It took this long. */
  duration(metric: DurationMetric, ms: number, labels: TelemetryLabels): void;
  /** It stands at this value now; reported with every heartbeat of a worker. */
  level?(metric: LevelMetric, value: number, labels: TelemetryLabels): void;
  /**
   * A run is about to be started: the trace context that is kept with it, as a W3C `traceparent`, followed by a space and the
   * `tracestate` if there is one. Its spans, and those of its tasks and children, are told of it, on whichever worker.
   */
  trace?(start: StartAbout): string | undefined;
  /** A signal is about to be sent: the trace context that is kept with it. The stretch that receives it is told of it. */
  signal?(signal: SignalAbout): string | undefined;
  /** A run has come to this worker, or an attempt of a step or task begins. */
  span?(about: SpanAbout): Span | undefined;
}

/** What a count or a duration is about, by name: `{ workflow: "order", status: "failed" }`. Never a run. */
export type TelemetryLabels = Readonly<Record<string, string>>;

/** The start that a trace context is for. */
export interface StartAbout {
  /** A call in this process (`hf.start` and its relatives), a schedule, or the end of a run that continues as this one. */
  readonly by: "call" | "schedule" | "continuation";
  /** The trace context that a call was given (`trace` of `hf.start`), or that of the run that is continued. */
  readonly trace?: string;
  readonly namespace: string;
  readonly workflow: string;
  readonly version: string;
  readonly queue: string;
  readonly id: string;
  readonly runId: string;
}

/** The signal that a trace context is for. */
export interface SignalAbout {
  readonly namespace: string;
  readonly signal: string;
  /** The id of the run that it is for, or its run id; absent if it is not known here. */
  readonly to?: string;
  /** The run that sends it, by its run id, and the trace context of that run; absent if it comes from outside. */
  readonly runId?: string;
  readonly trace?: string;
}

/**
 * What a span is about: the stretch of a run on one worker (`run`), from when it is claimed until it is suspended, ends or is
 * lost; or one attempt of a step or a task. What was recorded before is replayed without a span.
 */
export interface SpanAbout {
  readonly kind: "run" | "step" | "task";
  readonly namespace: string;
  readonly runId: string;
  /** The id of the run; unknown to the worker of a task. */
  readonly id?: string;
  /** Unknown to the worker of a task, and so is the version. */
  readonly workflow?: string;
  readonly version?: string;
  readonly queue?: string;
  /** The op of a step or task: `charge#2`. */
  readonly op?: string;
  /** The name of the task. */
  readonly task?: string;
  readonly attempt?: number;
  /** The worker that has the run. */
  readonly worker?: string;
  /** Workers that have died with the run since it last made progress: this stretch takes over what they have left. */
  readonly deaths?: number;
  /** What `trace` returned when the run was started. */
  readonly trace?: string;
}

/** Something that takes time, and is made of parts. */
export interface Span {
  /** Begins a part of it: an attempt of a step, in the stretch of its run. Without it, `Telemetry.span` is called. */
  part?(about: SpanAbout): Span | undefined;
  /** Calls the function of a step or task, so that the spans that it begins become parts of this one. */
  within?<T>(call: () => T): T;
  /** The trace context of the span itself, for what its function calls: `s.traceHeaders`. */
  context?(): string | undefined;
  /** The run has received a signal that was sent in this trace context. */
  received?(signal: string, trace: string): void;
  /**
   * It is over. `outcome` of a run: its status, `suspended` or `lost`; of an attempt: `completed`, `failed`, or `discarded` if
   * nobody wants to know. The error is what the store keeps: without credentials.
   */
  end(outcome: string, error: ErrorRecord | undefined): void;
}

/** A metric: what it says, and its labels. The values of every label are few: names from code, queues, kinds, outcomes. */
export interface MetricAbout {
  readonly about: string;
  readonly labels: readonly string[];
  /** All values of its only label, if they are known: each can begin at zero, and the first event is an increase. */
  readonly values?: readonly string[];
}

/** What is counted. */
export const COUNT_METRICS = {
  runs_started: { about: "Starts that were made durable", labels: ["workflow", "version", "queue"] },
  runs_ended: { about: "Runs that ended here", labels: ["workflow", "version", "status"] },
  runs_parked: { about: "Runs that were parked here", labels: ["workflow", "code"] },
  runs_lost: { about: "Runs that this worker held and no longer holds", labels: ["workflow"] },
  runs_replayed: { about: "Runs that were rebuilt from their history", labels: ["workflow"] },
  events_replayed: { about: "Events read for that", labels: ["workflow"] },
  replays_verified: {
    about: "Ended runs that were replayed once more by `verifyReplay`",
    labels: ["workflow", "outcome"],
  },
  segments_damaged: { about: "Packed copies of events that could not be used", labels: ["fault"] },
  runs_claimed: { about: "Runs taken from the store", labels: [] },
  tasks_claimed: { about: "Tasks taken from the store", labels: [] },
  step_attempts: { about: "Executions of steps", labels: ["workflow", "step", "outcome"] },
  step_retries: { about: "Those of them that were not the first of their step", labels: ["workflow", "step"] },
  step_failures: { about: "Those of them that failed, by the kind of error", labels: ["workflow", "step", "kind"] },
  task_attempts: { about: "Executions of tasks", labels: ["task", "outcome"] },
  task_retries: { about: "Those of them that were not the first of their task", labels: ["task"] },
  task_failures: { about: "Those of them that failed, by the kind of error", labels: ["task", "kind"] },
  pool_restarts: { about: "Processes of task pools that were replaced or have died", labels: ["worker", "reason"] },
  flushes: { about: "Calls that write what runs have done", labels: [] },
  commits: { about: "Commits of runs in those calls: written, busy, behind or lost", labels: ["outcome"] },
  flushed_events: { about: "Events in those that were written", labels: [] },
  flushed_bytes: { about: "Bytes of payloads in those events", labels: [] },
  messages_received: { about: "Messages that became part of a history in those calls", labels: [] },
  store_failures: { about: "Calls of the store that failed and are repeated", labels: ["call"] },
  leases_lost: {
    about: "Leases of workers that were not renewed in time (expired), or were taken away (dead)",
    labels: ["reason"],
    values: ["expired", "dead"],
  },
  retention_rounds: {
    about: "Looks for runs that are not kept any longer: finished, unfinished if there was more than time, or failed",
    labels: ["outcome"],
    values: ["finished", "unfinished", "failed"],
  },
  runs_purged: { about: "Runs that those have deleted", labels: [] },
  sweeps: { about: "Looks for dead workers and missed deadlines", labels: [] },
  watchdog_findings: { about: "What the watchdog has found to be wrong, once each", labels: ["detector", "action"] },
  watchdog_actions: {
    about:
      "What it has done: done, dry_run, moved (it was not as found any more), given_up (restarted too often), failed (tried again)",
    labels: ["detector", "action", "outcome"],
  },
  alerts: {
    about: "Alerts for the webhook: sent, failed, or dropped because too many waited or the worker stopped",
    labels: ["outcome"],
  },
  swept: {
    about: "What they found: dead workers, and runs that were returned, parked or timed out",
    labels: ["what"],
    values: ["dead", "returned", "parked", "timed_out"],
  },
} as const satisfies Readonly<Record<string, MetricAbout>>;

/** What is measured, in milliseconds. */
export const DURATION_METRICS = {
  run: { about: "From the start of a run to its end", labels: ["workflow", "status"] },
  queue_wait: {
    about: "From the start of a run or the scheduling of a task to its first claim; a delayed start waits on purpose",
    labels: ["queue", "what"],
  },
  timer_lateness: { about: "From when a timer was due until its run was told", labels: ["workflow"] },
  replay: { about: "From reading a history until the run goes on from where it was", labels: ["workflow"] },
  step_attempt: { about: "One execution of a step", labels: ["workflow", "step", "outcome"] },
  task_attempt: { about: "One execution of a task", labels: ["task", "outcome"] },
  flush: { about: "From sending a flush to its answer", labels: [] },
  claim: { about: "From sending a claim to its answer", labels: [] },
  store_call: {
    about: "One call of the store; the outcome is `ok` or the code of the error",
    labels: ["call", "outcome"],
  },
} as const satisfies Readonly<Record<string, MetricAbout>>;

/** What goes up and down. */
export const LEVEL_METRICS = {
  runs_held: { about: "Runs that a worker holds", labels: ["worker"] },
  tasks_held: { about: "Tasks that a worker holds", labels: ["worker"] },
} as const satisfies Readonly<Record<string, MetricAbout>>;

/** The name of a counter; `COUNT_METRICS` says what each one counts. */
export type CountMetric = keyof typeof COUNT_METRICS;
/** The name of a duration; `DURATION_METRICS` says what each one measures. */
export type DurationMetric = keyof typeof DURATION_METRICS;
/** The name of a level; `LEVEL_METRICS` says what each one shows. */
export type LevelMetric = keyof typeof LEVEL_METRICS;
