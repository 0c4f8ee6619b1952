import type { RunName } from "../model/child.ts";
import {
  type EventCategory,
  type EventType,
  eventCategory,
  type HistoryEvent,
  opOf,
  shownStatus,
} from "../model/event.ts";
import { afterPrefix, RECEIVE_PREFIX, RESULT_PREFIX, receiveId, UNTIL_PREFIX } from "../model/ids.ts";
import type { LiveRun } from "../model/live-run.ts";
import type { Payload } from "../model/payload.ts";
import { isClosed, type Run, type RunRow, WAITING_FOR_MAX } from "../model/run.ts";
import { waitingOps } from "../model/waiting.ts";
import type { Codec } from "../ports/codec.ts";
import type { ErrorView } from "./error-view.ts";
import { type OpOrigin, Origins } from "./op-times.ts";
import { readable } from "./readable-value.ts";

/** One op of a run, folded from its events. */
export interface StepView extends OpOrigin {
  /** The op id: its name, with `#2`, `#3`… from the second op of that name; `receive:<signal>`, `update:<update>`, `lock:<lock>`, `until:condition`. */
  readonly op: string;
  readonly kind:
    | "step"
    | "task"
    | "timer"
    | "signal"
    | "side_effect"
    | "child"
    | "message"
    | "update"
    | "condition"
    | "lock";
  /** The run that a child op has started, or that a message was for. */
  readonly run?: Partial<RunName>;
  /** The runs that a step has started with `s.start`; the first 20 of an attempt. */
  readonly runs?: readonly RunName[];
  /**
   * `canceled`: the code no longer waits for it, because the run has ended or its branch was canceled. A step of a parked
   * run that was running is `waiting`: it is executed again when the run goes on.
   */
  readonly status: "running" | "retrying" | "waiting" | "completed" | "failed" | "canceled";
  readonly attempts: number;
  /** It was not executed: whoever forked the run has said how it ended. */
  readonly edited?: true;
  readonly output?: unknown;
  /** Why there is no output, although it has ended with one: this client cannot decode it. */
  readonly unreadable?: string;
  readonly error?: ErrorView;
  /** From the start of its first attempt to the end of its last. */
  readonly startedAt?: Date;
  readonly endedAt?: Date;
  readonly dueAt?: Date;
}

/** The kind of an op, by the category of its events. */
const KINDS: Readonly<Partial<Record<EventCategory, StepView["kind"]>>> = {
  task: "task",
  timer: "timer",
  signal: "signal",
  side_effect: "side_effect",
  child: "child",
  message: "message",
  update: "update",
  lock: "lock",
};

export interface FoldParams {
  readonly run: Run;
  readonly events: readonly HistoryEvent[];
  /** Null if outputs are not needed. */
  readonly codec: Codec | null;
  /** Read after the events. */
  readonly live: LiveRun | undefined;
}

/**
 * Everything known about the ops of a run: its history, the ops that a suspended run waits for, and what a worker of
 * this process sees.
 */
export function foldSteps({ run, events, codec, live }: FoldParams): StepView[] {
  const steps = new Map<string, StepView>();
  const origins = new Origins(run.startedAt ?? run.createdAt);
  const signals = new HandedOn(steps);
  for (const event of events) {
    const origin = origins.of(event);
    if (event.type === "run_forked") for (const [op, step] of steps) steps.set(op, afterFork(step));
    if (event.op === null || shownStatus(event.type) === undefined) continue;
    const op = opOf(event) as string;
    const step = foldStep(steps.get(op), op, event, origin, codec);
    steps.set(op, event.type === "signal_handed_on" ? signals.to(step, event) : step);
  }
  if (run.status === "parked") return [...steps.values()].map((step) => atRest(step, run));
  const pending = pendingOps(run, events, live);
  const wanted = new Set(pending?.ops);
  for (const { op, attempt, startedAt } of live?.running ?? []) {
    const { dueAt: _dueAt, ...before } = steps.get(op) ?? {};
    steps.set(op, {
      startedAt: new Date(startedAt),
      ...before,
      op,
      kind: "step",
      status: "running",
      attempts: attempt,
    });
    wanted.add(op);
  }
  for (const op of pending?.ops ?? [])
    if (op.startsWith(RESULT_PREFIX) && !steps.has(op))
      steps.set(op, {
        op,
        kind: "message",
        status: "waiting",
        attempts: 1,
        run: { id: afterPrefix(op, RESULT_PREFIX) },
      });
  for (const id of pending?.ops ?? []) {
    const known = steps.get(id);
    if (id.startsWith(UNTIL_PREFIX) && !known)
      steps.set(id, { op: id, kind: "condition", status: "waiting", attempts: 1 });
    if (!id.startsWith(RECEIVE_PREFIX) || (known && isOpen(known))) continue;
    steps.set(id, { op: id, kind: "signal", status: "waiting", attempts: 1 });
  }
  const rows = [...steps.values()];
  const closed = isClosed(run.status);
  if (!closed && !pending?.complete) return rows;
  return rows.map((step) => (isOpen(step) && (closed || !wanted.has(step.op)) ? noLongerAwaited(step, closed) : step));
}

/** Signals that were handed on: the receive that had one has lost, and another one has it now. */
class HandedOn {
  readonly #steps: Map<string, StepView>;
  /** Who has it, by the receive that it came for. */
  readonly #holders = new Map<string, string>();

  constructor(steps: Map<string, StepView>) {
    this.#steps = steps;
  }

  to(step: StepView, { meta }: HistoryEvent): StepView {
    const cameFor = receiveId(afterPrefix(step.op, RECEIVE_PREFIX), meta?.receive);
    const loser = this.#holders.get(cameFor) ?? cameFor;
    this.#holders.set(cameFor, step.op);
    const lost = this.#steps.get(loser);
    if (!lost) return step;
    const { output, unreadable, ...rest } = lost;
    this.#steps.set(loser, { ...rest, status: "canceled" });
    if (unreadable !== undefined) return { ...step, unreadable };
    return output === undefined ? step : { ...step, output };
  }
}

/** What was in flight at the cut is done again: what was known of it happened to another run. */
function afterFork(step: StepView): StepView {
  if (!isOpen(step) || (step.kind !== "step" && step.kind !== "child")) return step;
  const { op, kind } = step;
  return { op, kind, status: "waiting", attempts: 0 };
}

/** The op that each event is about, as `steps()` names it; null if it is about none. */
export function shownOps(events: readonly HistoryEvent[]): readonly (string | null)[] {
  return events.map((event) => (shownStatus(event.type) === undefined ? null : opOf(event)));
}

/**
 * The code no longer waits for it. That a condition has come true leaves no event. Nobody waits for the handler of an update but
 * its caller: it goes on until the run ends.
 */
function noLongerAwaited(step: StepView, closed: boolean): StepView {
  const { kind, status } = step;
  if (kind === "condition") return { ...step, status: "completed" };
  // The code waits for what it does inside of a lock.
  if (kind === "lock" && status === "running") return closed ? { ...step, status: "completed" } : step;
  return kind === "update" && !closed ? step : { ...step, status: "canceled" };
}

/** Of a parked run nothing runs: a step that was cut off by that is executed again once the run goes on, unless it was canceled. */
function atRest(step: StepView, { error }: Run): StepView {
  if (isOpen(step) && error?.code === "cancel_ignored") return { ...step, status: "canceled" };
  return step.status === "running" ? { ...step, status: "waiting" } : step;
}

/** The ops that the code waits for, if known; unknown for a run that another process holds. */
function pendingOps(
  run: RunRow,
  events: readonly HistoryEvent[],
  live: LiveRun | undefined,
): { readonly ops: ReadonlySet<string>; readonly complete: boolean } | undefined {
  if (run.heldBy !== null)
    return live?.pending && live.durableSeq === events.length ? { ops: live.pending, complete: true } : undefined;
  // A run that waits for its next run attempt lists the ops that failed.
  if (run.waitingFor.length === 0 || events.at(-1)?.type === "run_retried") return undefined;
  return { ops: new Set(waitingOps(run.waitingFor)), complete: run.waitingFor.length < WAITING_FOR_MAX };
}

function isOpen({ status }: StepView): boolean {
  return status === "running" || status === "retrying" || status === "waiting";
}

/**
 * The view after the event; the table of events says which status that is. Two things have no event type of their own: a
 * side effect that threw, and a step that was given up while it ran and whose compensation had to learn its outcome.
 */
function foldStep(
  before: StepView | undefined,
  op: string,
  event: HistoryEvent,
  origin: OpOrigin,
  codec: Codec | null,
): StepView {
  const { type, payload, meta } = event;
  const shown = shownStatus(type) ?? "running";
  const kind = kindOf(before, op, type);
  const failed = shown === "completed" && meta?.error ? "failed" : shown;
  const status = meta?.withdrawn ? "canceled" : kind === "lock" ? lockStatus(before, type, shown) : failed;
  const dueAt = meta?.fireAt ?? meta?.retryAt;
  const { dueAt: formerlyDueAt, run: _run, edited: _edited, ...former } = before ?? {};
  return {
    ...former,
    ...(formerlyDueAt === undefined || status === "running" ? {} : { dueAt: formerlyDueAt }),
    ...origin,
    startedAt: firstStart(before, event),
    op,
    kind,
    ...runOf(before, event),
    ...(meta?.runs === undefined ? {} : { runs: meta.runs }),
    attempts: meta?.attempt ?? Math.max(1, before?.attempts ?? 0),
    ...(meta?.edited ? { edited: true as const } : {}),
    status,
    ...(payload === undefined || codec === null || isQuestion(type) ? {} : shownOutput(codec, payload)),
    ...(meta?.error === undefined ? {} : { error: { ...meta.error, at: new Date(event.at) } }),
    ...(dueAt === undefined ? {} : { dueAt: new Date(dueAt) }),
    ...(status === "completed" || status === "failed" || status === "canceled" ? { endedAt: new Date(event.at) } : {}),
  };
}

function shownOutput(codec: Codec, payload: Payload): Pick<StepView, "output" | "unreadable"> {
  const { value, unreadable } = readable(codec, payload);
  return unreadable === undefined ? { output: value } : { unreadable };
}

/** A request that has timed out has failed; one that was given up before it was granted is canceled. */
function lockStatus(before: StepView | undefined, type: EventType, shown: StepView["status"]): StepView["status"] {
  if (type === "timer_fired") return "failed";
  if (type !== "lock_released" || before?.status === "running") return shown;
  return before?.status === "failed" ? "failed" : "canceled";
}

/** Notes about a child or a lock are of the category of tasks. */
function kindOf(before: StepView | undefined, op: string, type: EventType): StepView["kind"] {
  if (op.startsWith(RECEIVE_PREFIX)) return "signal";
  if (op.startsWith(UNTIL_PREFIX)) return "condition";
  if (before?.kind === "child" || before?.kind === "lock") return before.kind;
  return KINDS[eventCategory(type)] ?? "step";
}

function runOf(before: StepView | undefined, { type, meta }: HistoryEvent): Pick<StepView, "run"> {
  const run = meta?.child ? { id: meta.child.id, runId: meta.child.runId } : meta?.to;
  // Another one takes the place of the child.
  if (type === "op_rescheduled" && meta?.attempt !== undefined) return {};
  return run ? { run } : before?.run ? { run: before.run } : {};
}

/** Its payload is what was asked, not what came of it. */
function isQuestion(type: EventType): boolean {
  return type === "task_scheduled" || type === "update_accepted";
}

/** The event may have been written after the attempt had been running for a while, or when it ended. */
function firstStart(before: StepView | undefined, { at, meta }: HistoryEvent): Date {
  const began = at - (meta?.ms ?? 0);
  return before?.startedAt && before.startedAt.getTime() <= began ? before.startedAt : new Date(began);
}
