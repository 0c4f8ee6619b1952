import type { RunName } from "../model/child.ts";
import { type ErrorRecord, shownError } from "../model/error-record.ts";
import { type Attributes, type EventMeta, type EventType, eventCategory, type HistoryEvent } from "../model/event.ts";
import { givenMessageId } from "../model/ids.ts";
import { type Who, whoOf } from "../model/operator-notes.ts";
import { type CompensationOutcome, endEvent, type Run, type RunRow, type RunStatus, startEvent } from "../model/run.ts";
import type { Codec } from "../ports/codec.ts";

/** A run as seen from outside. */
export interface RunDescription extends RunSummary {
  readonly input: unknown;
  readonly output: unknown;
  /** Why it failed, was terminated, or is parked. */
  readonly error: ErrorRecord | null;
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
  readonly status: RunStatus;
  /** How its compensations ended; null if there were none, or if the run was terminated in the middle of them. */
  readonly compensation: CompensationOutcome | null;
  readonly attributes: Attributes;
  /** The ops that a suspended run waits for. */
  readonly waitingFor: readonly string[];
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
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
}

/** The run that started another one. */
export interface ParentName extends RunName {
  /** Its op that waits for this run; null if the run was started inside a step, and nothing waits for it. */
  readonly op: string | null;
}

/** An event as seen from outside; complete enough to replay it elsewhere. */
export interface EventView extends Omit<EventMeta, "fireAt" | "retryAt"> {
  readonly seq: number;
  readonly type: EventType;
  readonly category: string;
  readonly op: string | null;
  readonly at: Date;
  readonly value?: unknown;
  /** Who did it, and why: for what people do to a run from outside. */
  readonly data?: Who;
  readonly fireAt?: Date;
  readonly retryAt?: Date;
}

export function describeRun(run: Run, codec: Codec): RunDescription {
  const output = run.output === null ? undefined : codec.decode(run.output);
  return { ...summarizeRun(run), input: codec.decode(run.input), output, error: shownError(run.error) };
}

export function summarizeRun(run: RunRow): RunSummary {
  const { lineage } = run;
  return {
    runId: run.runId,
    id: run.id,
    namespace: run.namespace,
    workflow: run.workflow,
    version: run.version,
    queue: run.queue,
    priority: run.priority,
    status: run.status,
    compensation: run.compensation,
    attributes: run.attributes,
    waitingFor: run.waitingFor,
    createdAt: new Date(run.createdAt),
    startedAt: date(run.startedAt),
    endedAt: date(run.endedAt),
    availableAt: date(run.availableAt),
    deadlineAt: date(run.deadlineAt),
    workerId: run.heldBy,
    historyLength: run.eventCount + (run.endedAt === null ? 1 : 2),
    continuedFrom: run.continuedFrom,
    continuedAs: run.continuedAs,
    parent: lineage ? { id: lineage.parent.id, runId: lineage.parent.runId, op: lineage.op } : null,
    root: lineage?.root ?? { id: run.id, runId: run.runId },
    depth: lineage?.depth ?? 0,
  };
}

/** The complete history: the start and the end come from the run row, every other event has its own row. */
export function wholeHistory(run: Run, events: readonly HistoryEvent[]): HistoryEvent[] {
  const end = endEvent({ ...run, error: shownError(run.error) });
  return [startEvent(run), ...events, ...(end ? [end] : [])];
}

export function viewEvent(event: HistoryEvent, codec: Codec): EventView {
  const { meta } = event;
  const { fireAt: _fireAt, retryAt: _retryAt, messageId, ...rest } = meta ?? {};
  return {
    seq: event.seq,
    type: event.type,
    category: meta?.namespace === undefined ? eventCategory(event.type) : "nexus",
    op: event.op,
    at: new Date(event.at),
    ...(event.payload === undefined ? {} : { value: codec.decode(event.payload) }),
    ...rest,
    ...(event.op !== null || (rest.by === undefined && rest.reason === undefined) ? {} : { data: whoOf(rest) }),
    ...(messageId === undefined ? {} : { messageId: givenMessageId(messageId) }),
    ...(meta?.fireAt === undefined ? {} : { fireAt: new Date(meta.fireAt) }),
    ...(meta?.retryAt === undefined ? {} : { retryAt: new Date(meta.retryAt) }),
  };
}

function date(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
