/** What a fork of a run copies, and why it may be refused. */
import { HoldfastError } from "../errors/holdfast-error.ts";
import { type Attributes, eventRole, type HistoryEvent, isFailure } from "../model/event.ts";
import { COMPENSATE_PREFIX, LOCK_PREFIX, RECEIVE_PREFIX, UNTIL_PREFIX, UPDATE_PREFIX } from "../model/ids.ts";
import { nearestName } from "../model/nearest-name.ts";
import type { Run } from "../model/run.ts";
import { shownOps } from "./step-view.ts";

/** A run and its whole history. */
export interface Origin {
  readonly run: Run;
  readonly events: readonly HistoryEvent[];
}

/** What a fork copies. */
export interface ForkPlan {
  readonly prefix: readonly HistoryEvent[];
  readonly attributes: Attributes;
  /** The copied events may name messages of the origin up to this number. */
  readonly numberedFrom: number;
  /** Undefined: no limit, or it has been reached. */
  readonly timeoutMs: number | undefined;
}

export function planFork(origin: Origin, copied: number): ForkPlan {
  const { run, events } = origin;
  const prefix = events.slice(0, copied);
  requireNothingUndone(origin, prefix.length);
  const numberedFrom = prefix.reduce((most, { meta }) => Math.max(most, meta?.number ?? 0), 0);
  const timedOut = prefix.some(({ type }) => type === "deadline_reached");
  const timeoutMs = timedOut ? undefined : (run.timeoutMs ?? undefined);
  return { prefix, numberedFrom, timeoutMs, attributes: attributesAt(origin, prefix) };
}

/** The first event that is not copied. */
export function cutAt({ run, events }: Origin, before: string | number): number {
  if (typeof before === "number") {
    if (before <= events.length + 1) return before;
    throw refused(run, `before is ${before}, and may be 1 to ${events.length + 1}`, { before });
  }
  const ops = shownOps(events);
  const index = ops.indexOf(before);
  if (index >= 0) return index + 1;
  const nearest = nearestName(
    before,
    [...new Set(ops)].filter((op) => op !== null),
  );
  const hint =
    nearest === undefined
      ? `steps() shows its ops; to fork where its history ends, pass before: ${events.length + 1}`
      : `did you mean "${nearest}"?`;
  throw refused(run, `its history has nothing of op "${before}": ${hint}`, { before });
}

/**
 * What a compensation has undone must not count as done in the fork. Which op that was, its name tells; of several with the
 * name it may be any. One that no op has, `ctx.compensate` has registered: nobody knows where.
 */
function requireNothingUndone({ run, events }: Origin, copied: number): void {
  if (run.status === "compensating")
    throw refused(run, "it is undoing what it has done. Fork it when it has ended", { status: run.status });
  const undone = new Set(events.flatMap(({ op }) => (op?.startsWith(COMPENSATE_PREFIX) ? [undoneName(op)] : [])));
  if (undone.size === 0) return;
  const firsts = [...undone].map((name) => ({ name, seq: firstOf(events, name) }));
  const { name, seq } = firsts.reduce((first, one) => (one.seq < first.seq ? one : first));
  if (seq > copied) return;
  const advice = `before: ${seq} is the last place where it can be forked`;
  throw refused(run, `"${name}" comes before that, and was undone by a compensation; ${advice}`, { undone: name });
}

/** The first event of an op of that name. */
function firstOf(events: readonly HistoryEvent[], name: string): number {
  return events.find(({ op }) => op !== null && withoutNumber(op) === name)?.seq ?? 1;
}

function undoneName(op: string): string {
  return withoutNumber(op.slice(COMPENSATE_PREFIX.length));
}

function withoutNumber(op: string): string {
  return op.replace(/#\d+$/, "");
}

/** Those that the run was started with, as far as it has not set them itself, and those that it set before the cut. */
function attributesAt({ run, events }: Origin, prefix: readonly HistoryEvent[]): Attributes {
  const set = (some: readonly HistoryEvent[]): Attributes =>
    Object.assign({}, ...some.map(({ type, meta }) => (type === "attributes_set" ? meta?.attributes : undefined)));
  const setLater = set(events);
  const given = Object.entries(run.attributes).filter(([name]) => !Object.hasOwn(setLater, name));
  return { ...Object.fromEntries(given), ...set(prefix) };
}

/** Ops that leave it to the code how they end. */
const NOT_EDITABLE = [UNTIL_PREFIX, UPDATE_PREFIX, COMPENSATE_PREFIX, LOCK_PREFIX];

/** Whether the outcome of the op can be replaced in that fork. */
export function requireEditable({ run, events }: Origin, copied: number, op: string, fails: boolean): void {
  if (NOT_EDITABLE.some((prefix) => op.startsWith(prefix)))
    throw refused(run, `op "${op}" is none whose outcome can be replaced`, { op });
  const ops = shownOps(events);
  const own = events.filter((_, i) => ops[i] === op);
  const isTimer = op.startsWith(RECEIVE_PREFIX) || own.some(({ type }) => type === "timer_created");
  if (isTimer && fails) throw refused(run, `op "${op}" cannot fail: it may only be given a result`, { op });
  const prefix = events.slice(0, copied);
  const end = own.map((event) => turnOf(event, events)).findLast((event) => event.seq <= copied && isEnd(event));
  if (!end || (isFailure(end) && prefix.some(({ seq, meta }) => seq > end.seq && meta?.forgets?.includes(op)))) return;
  throw refused(run, `op "${op}" has ended before that (event ${end.seq}). Fork before it to replace its outcome`, {
    op,
  });
}

/** A signal is handed on in the turn of another event: whoever copies that event has the signal handed on again. */
function turnOf(event: HistoryEvent, events: readonly HistoryEvent[]): HistoryEvent {
  if (event.type !== "signal_handed_on") return event;
  const turn = events.findLast(({ seq, type }) => seq < event.seq && eventRole(type) === "delivered");
  return { ...event, seq: turn?.seq ?? 0 };
}

function isEnd({ type }: HistoryEvent): boolean {
  if (type === "side_effect" || type === "signal_handed_on") return true;
  return eventRole(type) === "delivered" && type !== "child_started";
}

export function refused({ id, runId }: Run, why: string, data: Readonly<Record<string, unknown>>): HoldfastError {
  const message = `Run "${id}" cannot be forked in that way: ${why}${why.endsWith("?") ? "" : "."}`;
  return new HoldfastError("fork_refused", message, { data: { id, runId, ...data } });
}
