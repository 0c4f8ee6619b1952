import type { EventView } from "../client/run-view.ts";
import { jsonCodec } from "../codec/json-codec.ts";
import { type AnyWorkflow, type OutputOf, requireWorkflow } from "../define/definitions.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { checkOptions, isId } from "../errors/option-checks.ts";
import { shownValue } from "../errors/shown-value.ts";
import { type EventDraft, eventRole, type HistoryEvent, type RunIdentity } from "../model/event.ts";
import type { Run } from "../model/run.ts";
import { scheduleAttributes } from "../model/schedule.ts";
import { silentLogger } from "../ports/logger.ts";
import { cancellationError } from "../replay/context/cancellation.ts";
import { describeDivergence } from "../replay/history/divergence.ts";
import { replayHistory } from "../replay/replayer.ts";
import type { WorkflowBody } from "../replay/run-code.ts";
import { RunMachine } from "../replay/run-machine.ts";
import { systemClock } from "../system/clock.ts";

/** The result of `handle.history()`, also after a round trip through JSON. */
export type RecordedHistory = readonly (Omit<EventView, "at" | "fireAt" | "retryAt" | "begunAt"> & {
  readonly at: Date | string;
  readonly fireAt?: Date | string;
  readonly retryAt?: Date | string;
  readonly begunAt?: Date | string;
})[];

/** The result of a replay: the output, the ops that the run waits for, or the error that it failed with. */
export type ReplayOutcome<O> =
  | { readonly output: O }
  | { readonly pending: readonly string[] }
  | { readonly error: unknown };

const IDENTITY = { runId: isId("run id") };

/**
 * Runs the code against a recorded history; nothing is executed. Returns the output, or what the run waits for. If the
 * code does not match, throws the divergence with both sides.
 */
export async function replay<D extends AnyWorkflow>(
  workflow: D,
  history: RecordedHistory,
  identity: { readonly runId?: string } = {},
): Promise<ReplayOutcome<OutputOf<D>>> {
  requireWorkflow(workflow, "replay: the first argument");
  checkOptions(identity, IDENTITY, "replay");
  const start = Array.isArray(history) ? (history[0] as RecordedHistory[number] | undefined) : undefined;
  if (start?.type !== "run_started")
    throw new HoldfastError("invalid_option", "replay: the history does not begin with run_started.");
  history.forEach(requireEvent);
  const events = history
    .slice(1)
    .filter((event) => eventRole(event.type) !== "row")
    .map(recordedEvent);
  const run = runOf(start, identityOf(workflow, start, identity.runId), events.length);
  const end = endOfUncalled(history, events);
  if (end) return { error: cancellationError(run, end) };
  // A failed run was not parked for its error.
  const onBug = history.some(({ type }) => type === "run_failed") ? "fail" : workflow.onBug;
  const params = {
    run,
    codec: jsonCodec,
    log: silentLogger,
    history: events,
    begun: start.begun ?? false,
    opsMax: Number.POSITIVE_INFINITY,
    locate: true,
  };
  const machine = await replayHistory(
    new RunMachine(params, { body: workflow.fn as WorkflowBody, onBug, offering: workflow }),
    (callback) => systemClock.immediate(callback),
  );
  if (machine.divergence)
    throw new HoldfastError("replay_divergence", describeDivergence(machine.divergence), {
      data: { ...machine.divergence },
    });
  if (machine.violation) throw machine.violation;
  const { outcome } = machine;
  if (!outcome) return { pending: machine.ops.pending().flatMap((op) => (op.module.wakes ? [op.id] : [])) };
  if (outcome.type === "completed")
    return { output: jsonCodec.decode(jsonCodec.encode(outcome.value, "output")) as OutputOf<D> };
  return outcome.type === "failed" ? { error: outcome.error } : { pending: [] };
}

/** The end of a run whose code was never called: calling it now would say nothing about that history. */
function endOfUncalled(history: RecordedHistory, events: readonly HistoryEvent[]): EventDraft | undefined {
  const marked = events.find(({ meta }) => meta?.neverCalled);
  // A run that no worker claimed in time is ended by the store, which writes no event. Code that has begun receives its
  // deadline.
  const swept = history.at(-1)?.type === "run_timed_out" && !events.some(({ type }) => type === "deadline_reached");
  return marked ?? (swept ? { type: "deadline_reached", op: null } : undefined);
}

/** A history that was cut out of, or edited, would be replayed as something that never happened. */
function requireEvent(event: RecordedHistory[number], index: number): void {
  const fault = (what: string): HoldfastError =>
    new HoldfastError("invalid_option", `replay: ${what}. Pass a history as handle.history() returned it.`);
  if (event?.seq !== index) throw fault(`event ${index} is missing; in its place stands ${shownValue(event?.seq)}`);
  for (const time of ["at", "fireAt", "retryAt", "begunAt"] as const) {
    const value = event[time];
    if ((time === "at" || value !== undefined) && Number.isNaN(ms(value as Date | string)))
      throw fault(`${time} of event ${index} is ${shownValue(value)}, not a time`);
  }
}

function recordedEvent(event: RecordedHistory[number]): HistoryEvent {
  const {
    seq,
    type,
    op,
    at,
    value,
    category: _category,
    data: _data,
    fireAt,
    retryAt,
    begunAt: _begunAt,
    ...meta
  } = event;
  const times = {
    ...(fireAt === undefined ? {} : { fireAt: ms(fireAt) }),
    ...(retryAt === undefined ? {} : { retryAt: ms(retryAt) }),
  };
  return {
    seq,
    type,
    op,
    at: ms(at),
    ...("value" in event ? { payload: jsonCodec.encode(value, `value of event ${seq}`) } : {}),
    meta: { ...meta, ...times },
  };
}

/** From the history; one saved by an earlier version has only the seed, which was the run id. */
function identityOf(
  { name, version, queue }: AnyWorkflow,
  { run, seed }: RecordedHistory[number],
  told: string | undefined,
): RunIdentity {
  if (run) return { ...run, runId: told ?? run.runId };
  const runId = told ?? seed ?? "00000000-0000-7000-8000-000000000000";
  return { namespace: "default", runId, id: runId, workflow: name, version, queue };
}

function runOf(
  start: RecordedHistory[number],
  { schedule, scheduledAt, ...identity }: RunIdentity,
  eventCount: number,
): Run {
  const at = ms(start.begunAt ?? start.at);
  return {
    ...identity,
    firstRunId: identity.runId,
    priority: 0,
    seed: start.seed ?? identity.runId,
    status: "running",
    epoch: 1,
    commit: 0,
    heldBy: null,
    claimId: null,
    availableAt: null,
    eventCount,
    delivered: 0,
    consumed: 0,
    deaths: 0,
    aloneDeaths: 0,
    alone: false,
    suspect: false,
    createdAt: at,
    startedAt: at,
    endedAt: null,
    deadlineAt: null,
    timeoutMs: null,
    attributes: scheduleAttributes(schedule, scheduledAt),
    waitingFor: [],
    compensation: null,
    continuedFrom: null,
    continuedAs: null,
    input: jsonCodec.encode(start.value, "input"),
    output: null,
    error: null,
  };
}

function ms(time: Date | string): number {
  return new Date(time).getTime();
}
