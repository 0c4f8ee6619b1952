/** Places in queues with limits, and the lines before them (model/decisions/admission.ts). */
import { type Admission, admit, agedPriority, paceAfter, sortAgainAt } from "../../model/decisions/admission.ts";
import { earlier, isDue } from "../../model/decisions/due-time.ts";
import { NO_KEY, type QueueKind } from "../../model/queue-limits.ts";
import { waitingForPlace, waitsForPlace } from "../../model/waiting.ts";
import type { MemoryState, RunRecord } from "../state.ts";
import type { TaskRecord } from "../tasks/task-record.ts";
import type { InQueue, LimitedQueue } from "./queue-record.ts";

/** What a place is for. */
export interface Placed {
  readonly namespace: string;
  readonly queue: string;
  readonly runId: string;
  /** 0: the run itself. */
  readonly seq: number;
}

export function placedRun({ namespace, queue, runId }: RunRecord): Placed {
  return { namespace, queue, runId, seq: 0 };
}

export function limitedKey(kind: QueueKind, namespace: string, queue: string): string {
  return `${kind}\n${namespace}\n${queue}`;
}

/** The queue of a run or a task, if it has limits. */
export function limitedOf(
  state: MemoryState,
  { namespace, queue, seq }: Omit<Placed, "runId">,
): LimitedQueue | undefined {
  return state.limited.get(limitedKey(seq === 0 ? "runs" : "tasks", namespace, queue));
}

function entryKey({ runId, seq }: Pick<Placed, "runId" | "seq">): string {
  return `${runId}/${seq}`;
}

export function hasPlace(state: MemoryState, placed: Placed): boolean {
  return state.places.has(entryKey(placed));
}

/** Of a task that names none, the key of its run. */
export function keyOf(state: MemoryState, { runId, seq }: Placed): string {
  const own = seq === 0 ? undefined : state.tasks.get(`${runId}/${seq}`)?.key;
  return own ?? state.runs.get(runId)?.key ?? NO_KEY;
}

/** It is due and has no place. One that is in line already keeps its turn. */
export function lineUp(state: MemoryState, limited: LimitedQueue, placed: Placed, at: number): void {
  const { runId, seq } = placed;
  const key = keyOf(state, placed);
  const entry = entryKey(placed);
  if (!state.inLine.has(entry)) {
    const waiting = { limited, key, runId, runNo: runNumber(state, runId), seq, at };
    state.inLine.set(entry, waiting);
    const line = limited.lines.get(key);
    if (line) line.add(waiting);
    else limited.lines.set(key, new Set([waiting]));
  }
  makeReady(limited, key);
}

/** It does not wait in line any more. */
export function leaveLine(state: MemoryState, placed: Pick<Placed, "runId" | "seq">): void {
  const entry = state.inLine.get(entryKey(placed));
  if (!entry) return;
  state.inLine.delete(entryKey(placed));
  const { lines } = entry.limited;
  const line = lines.get(entry.key);
  line?.delete(entry);
  if (line?.size === 0) lines.delete(entry.key);
}

export function givePlace(state: MemoryState, limited: LimitedQueue, key: string, placed: Placed, at: number): void {
  const { runId, seq } = placed;
  leaveLine(state, placed);
  state.places.set(entryKey(placed), { limited, key, runId, runNo: runNumber(state, runId), seq, at });
}

/** The run has ended, or the attempt: whoever is next may be claimed. */
export function giveBackPlace(state: MemoryState, { runId, seq }: Pick<Placed, "runId" | "seq">): void {
  const place = state.places.get(entryKey({ runId, seq }));
  if (!place) return;
  state.places.delete(entryKey({ runId, seq }));
  const { limited, key } = place;
  limited.state = { ...limited.state, running: limited.state.running - 1 };
  const known = limited.keys.get(key);
  if (known) limited.keys.set(key, { ...known, running: known.running - 1 });
  makeReady(limited, key);
  if (limited.lines.size > 0) hintQueue(state, limited);
}

/** A continuation inherits the place. */
export function handPlaceOn(state: MemoryState, from: string, to: string): void {
  const place = state.places.get(entryKey({ runId: from, seq: 0 }));
  if (!place) return;
  state.places.delete(entryKey({ runId: from, seq: 0 }));
  state.places.set(entryKey({ runId: to, seq: 0 }), { ...place, runId: to, runNo: runNumber(state, to) });
}

export function hintQueue(state: MemoryState, { kind, namespace, queue }: LimitedQueue): void {
  state.hints.push({ type: kind === "runs" ? "due" : "task_due", namespace, queue });
}

export function lineOf({ lines }: LimitedQueue, key?: string): InQueue[] {
  return key === undefined ? [...lines.values()].flatMap((line) => [...line]) : [...(lines.get(key) ?? [])];
}

export function placesIn(state: MemoryState, limited: LimitedQueue): InQueue[] {
  return [...state.places.values()].filter((entry) => entry.limited === limited);
}

/** It takes its turn from now on: not before those that are ready already. */
export function makeReady({ keys, state }: LimitedQueue, key: string): void {
  const known = keys.get(key) ?? { key, running: 0, bucket: null, virtualTime: 0, ready: false, wakeAt: null };
  const virtualTime = known.ready ? known.virtualTime : Math.max(known.virtualTime, state.virtualTime);
  keys.set(key, { ...known, virtualTime, ready: true, wakeAt: null });
}

/**
 * Gives up to so many places to what this claim can serve. Returns those that got one, in order, and when to ask again. `left`: something is
 * still to be sorted in; `sortsOn`: at once.
 */
export function admitFrom<T extends { readonly priority: number }>(
  state: MemoryState,
  limited: LimitedQueue,
  limit: number,
  serve: (entry: InQueue) => T | undefined,
  left: boolean,
  now: number,
): { readonly admitted: readonly T[]; readonly nextAt: number | null; readonly sortsOn: boolean } {
  const { keys, limits } = limited;
  for (const key of [...keys.values()]) if (key.wakeAt !== null && key.wakeAt <= now) makeReady(limited, key.key);
  const admission: Admission<{ readonly one: T; readonly entry: InQueue }> = admit(
    limits,
    limited.state,
    {
      ready: (count, except) =>
        [...keys.values()]
          .filter(({ key, ready }) => ready && !except.has(key))
          .sort((a, b) => a.virtualTime - b.virtualTime || (a.key < b.key ? -1 : 1))
          .slice(0, count),
      take(key, count) {
        const found = lineOf(limited, key).flatMap((entry) => {
          const one = serve(entry);
          return one ? [{ one, entry }] : [];
        });
        const rank = ({ one, entry }: (typeof found)[number]) =>
          agedPriority(one.priority, now - entry.at, limits.agingMs);
        found.sort((a, b) => rank(b) - rank(a) || byTurn(a.entry, b.entry));
        const taken = found.slice(0, count);
        for (const { entry } of taken) leaveLine(state, entry);
        return taken;
      },
      isEmpty: (key) => !limited.lines.has(key),
      save: (key, { ready, wakeAt, idle }) => {
        if (idle) keys.delete(key.key);
        else keys.set(key.key, { ...key, ready, wakeAt });
      },
    },
    limit,
    now,
  );
  limited.state = admission.queue;
  limited.pace = paceAfter(limited.pace, admission.taken.length, now);
  for (const { key, entry } of admission.taken)
    givePlace(state, limited, key, { ...entry.entry, namespace: limited.namespace, queue: limited.queue }, now);
  const admitted = admission.taken.map(({ entry }) => entry.one);
  const again = left ? sortAgainAt(limits, limited.state, now) : null;
  return { admitted, nextAt: earlier(nextAfter(limited, admission.nextAt), again), sortsOn: again === now };
}

/** Tokens make a key ready by themselves; the places of the queue do not. */
function nextAfter({ keys, limits, state }: LimitedQueue, nextAt: number | null): number | null {
  if (limits.concurrency !== undefined && state.running >= limits.concurrency) return nextAt;
  const times = [...keys.values()].flatMap(({ wakeAt }) => (wakeAt === null ? [] : [wakeAt]));
  return times.reduce(earlier, nextAt);
}

/** Whether a run only winds up, because it was canceled or its deadline has passed: that takes no place. */
export function isOver(state: MemoryState, { runId, consumed, deadlineAt }: RunRecord, now: number): boolean {
  if (isDue(deadlineAt, now)) return true;
  return (state.inbox.get(runId) ?? []).some(({ number, kind }) => number > consumed && kind === "cancel");
}

/** The run waits in line. It is due again only at its deadline. */
export function queueRun(state: MemoryState, limited: LimitedQueue, row: RunRecord): void {
  lineUp(state, limited, placedRun(row), row.availableAt as number);
  row.availableAt = row.deadlineAt;
  row.waitingFor = [waitingForPlace(row.queue)];
  if (row.deadlineAt === null) state.queued.delete(row.runId);
}

/** Whether an entry in line is still that of a run that waits for nothing else. */
export function isInLine({ availableAt, heldBy, waitingFor }: RunRecord, now: number): boolean {
  return heldBy === null && waitsForPlace(waitingFor) && !isDue(availableAt, now);
}

export function isTaskInLine({ availableAt, status, inLine }: TaskRecord): boolean {
  return availableAt === null && status === "due" && inLine;
}

/** Of those that are due since the same time, the run that was started first comes first. */
function byTurn(a: InQueue, b: InQueue): number {
  return a.at - b.at || a.runNo - b.runNo || a.seq - b.seq;
}

export function runNumber({ runNumbers }: MemoryState, runId: string): number {
  return runNumbers.get(runId) as number;
}

export function byTime(a: InQueue, b: InQueue): number {
  return a.at - b.at || (a.runId === b.runId ? a.seq - b.seq : a.runId < b.runId ? -1 : 1);
}

export function noteDue<T>(due: Map<LimitedQueue, T[]>, limited: LimitedQueue, one: T): void {
  const known = due.get(limited);
  if (known) known.push(one);
  else due.set(limited, [one]);
}
