import type { RunName } from "../model/child.ts";
import { listedError, shownError } from "../model/error-record.ts";
import { type Attributes, type EventMeta, type EventType, eventCategory, type HistoryEvent } from "../model/event.ts";
import { givenMessageId } from "../model/ids.ts";
import { type Who, whoOf } from "../model/operator-notes.ts";
import { type CompensationOutcome, endEvent, type Run, type RunStatus, startEvent } from "../model/run.ts";
import { waitingOps } from "../model/waiting.ts";
import type { Clock } from "../ports/clock.ts";
import type { Codec } from "../ports/codec.ts";
import type { ListedRun } from "../ports/store.ts";
import type { ErrorView } from "./error-view.ts";
import { withOrigins } from "./op-times.ts";
import { readable } from "./readable-value.ts";
import { type ShortWhy, shortWhy } from "./short-why.ts";

/** A run as seen from outside. */
export interface RunDescription extends RunSummary {
  readonly input: unknown;
  readonly output: unknown;
  /** Why it failed, was terminated, or is parked, and when that happened. */
  readonly error: ErrorView | null;
}

/** A run in a list: everything but the payloads. */
export interface RunSummary {
  readonly runId: string;
  readonly id: string;
  readonly namespace: string;
  readonly workflow: string;
  readonly version: string;
  readonly queue: string;
  readonly priority: number;
  /** What the limits and the fairness of its queue go by; null if it has none. */
  readonly key: string | null;
  readonly status: RunStatus;
  /** How its compensations ended; null if there were none, or if the run was terminated in the middle of them. */
  readonly compensation: CompensationOutcome | null;
  readonly attributes: Attributes;
  /** The ops that a suspended run waits for. */
  readonly waitingFor: readonly string[];
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  /** When something last happened to it: its last event. */
  readonly updatedAt: Date;
  /** What it waits for, as far as its row says. */
  readonly why: ShortWhy;
  /** When it becomes due on its own. */
  readonly availableAt: Date | null;
  readonly deadlineAt: Date | null;
  /** The worker that holds it. */
  readonly workerId: string | null;
  readonly historyLength: number;
  readonly continuedFrom: string | null;
  readonly continuedAs: string | null;
  /** The run that started it; null if no run did. */
  readonly parent: ParentName | null;
  /** The first of its ancestors; the run itself, if no run has started it. */
  readonly root: RunName;
  /** How many ancestors it has. */
  readonly depth: number;
  /** The run that it is a fork of; null if it is none. */
  readonly forkedFrom: RunName | null;
}

/** The run that started another one. */
export interface ParentName extends RunName {
  /** Its op that waits for this run; null if the run was started inside a step, and nothing waits for it. */
  readonly op: string | null;
}

/** An event as seen from outside; complete enough to replay it elsewhere. */
export interface EventView extends Omit<EventMeta, "fireAt" | "retryAt" | "begunAt" | "error"> {
  readonly seq: number;
  readonly type: EventType;
  readonly category: string;
  readonly op: string | null;
  readonly at: Date;
  readonly value?: unknown;
  /** Why there is no value: this client cannot decode it. */
  readonly unreadable?: string;
  /** Who did it, and why: for what people do to a run from outside. */
  readonly data?: Who;
  readonly fireAt?: Date;
  readonly retryAt?: Date;
  /** When its code was first called, if the run was paused before that (`run_started`). */
  readonly begunAt?: Date;
  readonly error?: ErrorView;
}

export function describeRun(
  run: Run,
  lastEventAt: number | null,
  { codec, clock }: { readonly codec: Codec; readonly clock: Clock },
): RunDescription {
  const output = run.output === null ? undefined : codec.decode(run.output);
  const summary = summarizeRun({ ...run, lastEventAt, error: run.error && listedError(run.error) }, clock.now());
  const shown = shownError(run.error);
  const error = shown && { ...shown, at: summary.updatedAt };
  return { ...summary, input: codec.decode(run.input), output, error };
}

/** `now` is the time by the clock of this machine: it decides only whether the run is called due. */
export function summarizeRun(run: ListedRun, now: number): RunSummary {
  const { lineage } = run;
  const updatedAt = run.endedAt ?? run.lastEventAt ?? run.startedAt ?? run.createdAt;
  return {
    runId: run.runId,
    id: run.id,
    namespace: run.namespace,
    workflow: run.workflow,
    version: run.version,
    queue: run.queue,
    priority: run.priority,
    key: run.key ?? null,
    status: run.status,
    compensation: run.compensation,
    attributes: run.attributes,
    waitingFor: waitingOps(run.waitingFor),
    createdAt: new Date(run.createdAt),
    startedAt: date(run.startedAt),
    endedAt: date(run.endedAt),
    updatedAt: new Date(updatedAt),
    why: shortWhy(run, updatedAt, now),
    availableAt: date(run.availableAt),
    deadlineAt: date(run.deadlineAt),
    workerId: run.heldBy,
    historyLength: run.eventCount + (run.endedAt === null ? 1 : 2),
    continuedFrom: run.continuedFrom,
    continuedAs: run.continuedAs,
    parent: lineage ? { id: lineage.parent.id, runId: lineage.parent.runId, op: lineage.op } : null,
    root: lineage?.root ?? { id: run.id, runId: run.runId },
    depth: lineage?.depth ?? 0,
    forkedFrom: run.forkedFrom ?? null,
  };
}

/** The complete history: the start and the end come from the run row, every other event has its own row. */
export function wholeHistory(run: Run, events: readonly HistoryEvent[]): HistoryEvent[] {
  const { start, end } = rowEvents(run, events[0]);
  return [start, ...events, ...(end ? [end] : [])];
}

/** The events that are the run row. `first`: the one behind its start. */
export function rowEvents(
  run: Run,
  first: HistoryEvent | undefined,
): { readonly start: HistoryEvent; readonly end: HistoryEvent | undefined } {
  return { start: startEvent(run, first?.at), end: endEvent({ ...run, error: shownError(run.error) }) };
}

export function viewEvents(events: readonly HistoryEvent[], codec: Codec): EventView[] {
  return withOrigins(events).map((event) => viewEvent(event, codec));
}

function viewEvent(event: HistoryEvent, codec: Codec): EventView {
  const { meta } = event;
  const { fireAt: _fireAt, retryAt: _retryAt, begunAt: _begunAt, messageId, error, ...rest } = meta ?? {};
  return {
    seq: event.seq,
    type: event.type,
    category: meta?.namespace === undefined ? eventCategory(event.type) : "nexus",
    op: event.op,
    at: new Date(event.at),
    ...(event.payload === undefined ? {} : readable(codec, event.payload)),
    ...rest,
    ...(error === undefined ? {} : { error: { ...error, at: new Date(event.at) } }),
    ...(event.op !== null || !isSaid(rest) ? {} : { data: whoOf(rest) }),
    ...(messageId === undefined ? {} : { messageId: givenMessageId(messageId) }),
    ...(meta?.fireAt === undefined ? {} : { fireAt: new Date(meta.fireAt) }),
    ...(meta?.retryAt === undefined ? {} : { retryAt: new Date(meta.retryAt) }),
    ...(meta?.begunAt === undefined ? {} : { begunAt: new Date(meta.begunAt) }),
  };
}

/** Whether it is known who did it, or why. */
function isSaid({ by, reason, batch }: Who): boolean {
  return by !== undefined || reason !== undefined || batch !== undefined;
}

function date(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
