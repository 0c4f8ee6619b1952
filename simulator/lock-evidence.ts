/** What checkers judge about locks, and what a history says of them. */
import type { LockRecord } from "../packages/holdfast/src/memory/locks/lock-record.ts";
import type { HistoryEvent } from "../packages/holdfast/src/model/event.ts";
import { voidEvents } from "./void-events.ts";
import type { InLock } from "./workload/program.ts";

/** A lock that an effect began inside of, as the store had it at that moment. */
export interface LockUse {
  readonly name: string;
  /** As the code was told. */
  readonly fence: number;
  /** The run held it under that fence. */
  readonly held: boolean;
  /** The grant was in its history. */
  readonly durable: boolean;
}

/** A request that the store has granted. */
export interface LockGrant {
  readonly at: number;
  readonly runId: string;
  readonly seq: number;
  readonly op: string;
  readonly name: string;
  readonly fence: number;
  /** How many might hold it then. */
  readonly limit: number;
}

export function locksInUse(
  runId: string,
  locks: readonly InLock[],
  records: Iterable<LockRecord>,
  events: readonly HistoryEvent[],
): readonly LockUse[] {
  if (locks.length === 0) return [];
  const own = [...records].filter((record) => record.runId === runId && !record.givenBack);
  return locks.map(({ name, held: { fence } }) => ({
    name,
    fence,
    held: own.some((record) => record.name === name && record.fence === fence),
    durable: events.some(({ type, meta }) => type === "lock_granted" && meta?.fence === fence),
  }));
}

/** The requests of an open run, according to its history. */
export interface LockView {
  /** By the event that has made it: the op, and what else is known of it. */
  readonly open: ReadonlyMap<number, OpenRequest>;
  /** Those that the code is inside of, and that the run has lost; and since when. */
  readonly lost: readonly string[];
  readonly since: number;
}

interface OpenRequest {
  readonly op: string;
  timedOut: boolean;
  /** A try has made it that was taken back: whether the next try wants it is not recorded. */
  readonly loose: boolean;
}

/**
 * What a try has recorded between a failure and the retry that takes it back may be repeated by the next try or not, and history does
 * not say: about such a lock nothing is claimed before it is requested again.
 */
export function lockView(events: readonly HistoryEvent[]): LockView {
  const isVoid = voidEvents(events);
  const open = new Map<number, OpenRequest>();
  const entered = new Set<string>();
  const inside = new Map<string, boolean>();
  let since = 0;
  for (const event of events) {
    const { type, seq, meta } = event;
    const op = event.op as string;
    const loose = isVoid.has(event);
    const forget = (): void => {
      for (const [other, request] of open) if (request.op === op) open.delete(other);
    };
    if (type === "run_forked" || type === "run_retried") since = seq;
    if (type === "run_forked" || (type === "run_retried" && meta?.attempt === undefined)) {
      open.clear();
      for (const lock of inside.keys()) inside.set(lock, false);
    }
    if (type === "lock_requested" || (type === "op_rescheduled" && meta?.limit !== undefined)) {
      if (!loose) forget();
      open.set(seq, { op, timedOut: false, loose });
      if (type === "op_rescheduled" && entered.has(op)) inside.set(op, false);
    }
    if (type === "timer_fired" && !loose)
      for (const request of open.values()) if (request.op === op) request.timedOut = true;
    if (type === "lock_granted" && (!loose || inside.has(op))) {
      entered.add(op);
      inside.set(op, true);
    }
    if (type === "lock_released") {
      open.delete(meta?.request ?? 0);
      inside.delete(op);
      if (!loose) entered.delete(op);
    }
  }
  const lost = [...inside].flatMap(([op, held]) => (held ? [] : [op]));
  return { open, lost, since };
}
