import type { Lineage, RunName } from "./child.ts";
import type { ErrorRecord } from "./error-record.ts";
import type { Attributes, HistoryEvent } from "./event.ts";
import { type Who, whoOf } from "./operator-notes.ts";
import type { Payload } from "./payload.ts";
import { type CompensationOutcome, isClosed, type RunStatus } from "./run-status.ts";
import { scheduleOf } from "./schedule.ts";

export {
  CLOSED_STATUSES,
  type ClosedStatus,
  type CompensationOutcome,
  isClosed,
  OPEN_STATUSES,
  type OpenStatus,
  RUN_STATUSES,
  type RunStatus,
} from "./run-status.ts";

/** How many of the ops that a suspended run waits for are named in its row. */
export const WAITING_FOR_MAX = 20;

/** What is fixed when a run is created. */
export interface NewRun {
  readonly namespace: string;
  /** Made by the caller, so that a repeated start is recognized. */
  readonly runId: string;
  /** The id that users know it by; several runs of one id follow each other, at most one is open. */
  readonly id: string;
  readonly workflow: string;
  readonly version: string;
  readonly queue: string;
  /** Larger is sooner. */
  readonly priority: number;
  readonly input: Payload;
  /** Source of `ctx.random` and `ctx.uuid`. */
  readonly seed: string;
  readonly attributes: Attributes;
  /** Delay from creation until the run may first be claimed, by the store's clock; or an absolute time. */
  readonly startDelayMs?: number;
  readonly startAt?: number;
  /** From creation to `timed_out`, by the store's clock. */
  readonly timeoutMs?: number;
  /** What the limits and the fairness of its queue go by. */
  readonly key?: string;
}

/** The lowest and the highest priority; larger is sooner. */
export const PRIORITY_MIN = -9;
export const PRIORITY_MAX = 9;

/** A run's input and results: separate from the row, so that polling and listing move no payloads. */
export interface RunData {
  readonly input: Payload;
  readonly output: Payload | null;
  /** Why it failed, was terminated or parked. */
  readonly error: ErrorRecord | null;
}

export type Run = RunRow & RunData;

/** The run row: the projection of a run's history that is written in the same commit. */
export interface RunRow {
  readonly namespace: string;
  readonly runId: string;
  readonly id: string;
  /** The first run of a chain of continue-as-new; its own runId outside of one. Message ids are unique per chain. */
  readonly firstRunId: string;
  readonly workflow: string;
  readonly version: string;
  readonly queue: string;
  readonly priority: number;
  readonly seed: string;
  readonly status: RunStatus;
  /** +1 at every claim and every operator action: the fence. */
  readonly epoch: number;
  /** +1 at every flush that changes the row, which one that only appends events does not: the other half of the fence. */
  readonly commit: number;
  readonly heldBy: string | null;
  /** Which claim took it; lets a claim whose reply was lost be read again. */
  readonly claimId: string | null;
  /** The one timestamp that makes a run claimable; null while nothing is due or while it is held. */
  readonly availableAt: number | null;
  /** History rows so far; the next seq is this plus one, because seq 0 is the start. */
  readonly eventCount: number;
  /** Messages ever delivered to this run; the newest has this number. */
  readonly delivered: number;
  /** Messages 1…n that the holder has moved into history. */
  readonly consumed: number;
  /** Worker deaths since the last progress, and those of them in which it ran alone. */
  readonly deaths: number;
  readonly aloneDeaths: number;
  readonly alone: boolean;
  /** It has seen too many deaths: it is claimed alone until it makes progress. */
  readonly suspect: boolean;
  /** Strictly increasing per (namespace, id): the newest run of an id is well defined. */
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly deadlineAt: number | null;
  /** From creation, or from when a person last had it retried, to the deadline. */
  readonly timeoutMs: number | null;
  readonly attributes: Attributes;
  /** The ops that a suspended run waits for, for display and for filters: see waiting.ts. */
  readonly waitingFor: readonly string[];
  /** How the compensations ended, if there were any. */
  readonly compensation: CompensationOutcome | null;
  readonly continuedFrom: string | null;
  readonly continuedAs: string | null;
  /** Absent if no run has started it. */
  readonly lineage?: Lineage;
  /** The run that it was forked from; absent if it is no fork. Its continuations are none. */
  readonly forkedFrom?: RunName;
  /** What the limits and the fairness of its queue go by; absent if it has none. */
  readonly key?: string;
}

/**
 * A row with its data, field by field: a spread of so many fields makes an object that is slow to create and slow to read.
 */
export function runOf(row: RunRow, { input, output, error }: RunData): Run {
  const run: { -readonly [K in keyof Run]: Run[K] } = {
    namespace: row.namespace,
    runId: row.runId,
    id: row.id,
    firstRunId: row.firstRunId,
    workflow: row.workflow,
    version: row.version,
    queue: row.queue,
    priority: row.priority,
    seed: row.seed,
    status: row.status,
    epoch: row.epoch,
    commit: row.commit,
    heldBy: row.heldBy,
    claimId: row.claimId,
    availableAt: row.availableAt,
    eventCount: row.eventCount,
    delivered: row.delivered,
    consumed: row.consumed,
    deaths: row.deaths,
    aloneDeaths: row.aloneDeaths,
    alone: row.alone,
    suspect: row.suspect,
    createdAt: row.createdAt,
    startedAt: row.startedAt,
    endedAt: row.endedAt,
    deadlineAt: row.deadlineAt,
    timeoutMs: row.timeoutMs,
    attributes: row.attributes,
    waitingFor: row.waitingFor,
    compensation: row.compensation,
    continuedFrom: row.continuedFrom,
    continuedAs: row.continuedAs,
    input,
    output,
    error,
  };
  if (row.lineage) run.lineage = row.lineage;
  if (row.forkedFrom) run.forkedFrom = row.forkedFrom;
  if (row.key !== undefined) run.key = row.key;
  return run;
}

/**
 * When something happens to a run, by a clock that may have been set back: not before it started, nor before its last event.
 * `lastEventAt` is 0 if it has none.
 */
export function timeInHistory(
  { createdAt, startedAt }: Pick<RunRow, "createdAt" | "startedAt">,
  lastEventAt: number,
  now: number,
): number {
  return Math.max(now, startedAt ?? createdAt, lastEventAt);
}

/**
 * seq 0 of every history is the run row itself. A run that was paused before it began has events from before that: `firstAt` is the
 * time of the first one.
 */
export function startEvent(run: Run, firstAt = Number.POSITIVE_INFINITY): HistoryEvent {
  const { namespace, runId, id, workflow, version, queue } = run;
  const begunAt = run.startedAt ?? run.createdAt;
  return {
    seq: 0,
    type: "run_started",
    op: null,
    at: Math.min(begunAt, firstAt),
    payload: run.input,
    meta: {
      seed: run.seed,
      run: { namespace, runId, id, workflow, version, queue, ...scheduleOf(run.attributes) },
      ...(run.commit > 0 ? { begun: true } : {}),
      ...(run.startedAt !== null && firstAt < run.startedAt ? { begunAt } : {}),
    },
  };
}

/** The last event of a closed run is also the run row. */
export function endEvent(run: Run): HistoryEvent | undefined {
  if (!isClosed(run.status)) return undefined;
  return {
    seq: run.eventCount + 1,
    type: `run_${run.status}`,
    op: null,
    at: run.endedAt ?? run.createdAt,
    ...(run.output === null ? {} : { payload: run.output }),
    ...(run.error === null ? {} : { meta: { error: run.error, ...endedBy(run) } }),
  };
}

function endedBy({ status, error }: Run): Who {
  return status === "terminated" || status === "moved" ? whoOf(error?.data ?? {}) : {};
}
