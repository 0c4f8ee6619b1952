import { limitedFirst, sortedAtEachEnd, sortedInFirst } from "../../model/decisions/admission.ts";
import { earlier, isDue } from "../../model/decisions/due-time.ts";
import type { Message } from "../../model/message.ts";
import { mayTakeUp } from "../../model/parked-by.ts";
import type { ClaimRunsParams, ClaimRunsResult, TakeUpParams, TakeUpResult } from "../../ports/store.ts";
import { unconsumed } from "../inbox.ts";
import {
  admitFrom,
  hasPlace,
  isInLine,
  isOver,
  leaveLine,
  limitedOf,
  noteDue,
  placedRun,
  queueRun,
  runNumber,
} from "../queues/place-state.ts";
import type { InQueue, LimitedQueue } from "../queues/queue-record.ts";
import { hold, isLive, type MemoryState, type RunRecord } from "../state.ts";
import { appendNote } from "./parking.ts";

export function claimRuns(state: MemoryState, params: ClaimRunsParams, now: number): ClaimRunsResult {
  if (!isLive(state, params)) {
    return { live: false, runs: [], messages: [], now, moreDue: false, nextDueAt: null, suspectDue: false };
  }
  const already = params.again ? takenUnder(state, params) : [];
  if (already.length > 0) return answer(state, already, now, { moreDue: false, nextDueAt: null, suspectDue: false });

  const found = findDue(state, params, now);
  const limit = params.solo ? Math.min(1, params.limit) : params.limit;
  let moreDue = false;
  let { nextDueAt } = found;
  const taken: RunRecord[] = [];
  const take = (rows: RunRecord[]): void => {
    rows.sort((a, b) => b.priority - a.priority || byDue(a, b));
    const room = limit - taken.length;
    moreDue ||= rows.length > room;
    for (const row of rows.slice(0, room)) {
      leaveLine(state, placedRun(row));
      hold(state, row, params.workerId, params.claimId, now);
      row.alone = params.solo;
      taken.push(row);
    }
  };
  const noteNext = (at: number | null): void => {
    nextDueAt = earlier(nextDueAt, at);
  };
  const takeLimited = (limited: LimitedQueue): void => {
    const due = found.limited.get(limited) ?? [];
    const { free, left, nextAt: deadlineAt } = sortIn(state, limited, due, now);
    noteNext(deadlineAt);
    take(free);
    const serve = ({ runId }: InQueue): RunRecord | undefined => {
      const row = state.runs.get(runId) as RunRecord;
      return isInLine(row, now) && found.serves(row) ? row : undefined;
    };
    const { admitted, nextAt, sortsOn } = admitFrom(state, limited, limit - taken.length, serve, left, now);
    moreDue ||= sortsOn;
    for (const row of admitted) {
      hold(state, row, params.workerId, params.claimId, now);
      taken.push(row);
    }
    noteNext(nextAt);
  };
  const limited = params.solo ? [] : limitedQueues(state, params);
  const first = limitedFirst(params.claimId);
  if (first) for (const queue of limited) takeLimited(queue);
  take(found.due);
  if (!first) for (const queue of limited) takeLimited(queue);
  return answer(state, taken, now, { moreDue, nextDueAt, suspectDue: found.suspectDue });
}

interface Found {
  /** In queues without limits, or suspects that are claimed alone. */
  readonly due: RunRecord[];
  readonly limited: ReadonlyMap<LimitedQueue, RunRecord[]>;
  readonly nextDueAt: number | null;
  readonly suspectDue: boolean;
  serves(row: RunRecord): boolean;
}

function findDue(state: MemoryState, params: ClaimRunsParams, now: number): Found {
  const handlers = new Set(params.handlers.map((h) => `${h.workflow}\n${h.version}`));
  const queues = new Set(params.queues);
  const serves = (row: RunRecord): boolean =>
    row.namespace === params.namespace && queues.has(row.queue) && handlers.has(`${row.workflow}\n${row.version}`);
  const due: RunRecord[] = [];
  const limited = new Map<LimitedQueue, RunRecord[]>();
  let nextDueAt: number | null = null;
  let suspectDue = false;
  for (const runId of state.queued) {
    const row = state.runs.get(runId) as RunRecord;
    if (!serves(row)) continue;
    const availableAt = row.availableAt as number;
    const { suspect } = row;
    const queue = params.solo ? undefined : limitedOf(state, placedRun(row));
    if (!isDue(availableAt, now)) nextDueAt = Math.min(nextDueAt ?? availableAt, availableAt);
    else if (suspect !== params.solo) suspectDue ||= suspect;
    else if (queue) noteDue(limited, queue, row);
    else due.push(row);
  }
  return { due, limited, nextDueAt, suspectDue, serves };
}

/** Of equals, the one that comes first in the list. */
function byDue(a: RunRecord, b: RunRecord): number {
  return (a.availableAt as number) - (b.availableAt as number);
}

/** Queues with limits that the worker serves, by name. */
function limitedQueues(state: MemoryState, { namespace, queues }: ClaimRunsParams): LimitedQueue[] {
  return [...queues].sort().flatMap((queue) => limitedOf(state, { namespace, queue, seq: 0 }) ?? []);
}

/** What is due and needs a place goes into line. `free` needs none: it has one, or only winds up. */
function sortIn(
  state: MemoryState,
  limited: LimitedQueue,
  due: readonly RunRecord[],
  now: number,
): { readonly free: RunRecord[]; readonly left: boolean; readonly nextAt: number | null } {
  const free = due.filter((row) => hasPlace(state, placedRun(row)) || isOver(state, row, now));
  const going = new Set(free);
  const waiting = due.filter((row) => !going.has(row));
  waiting.sort((a, b) => byDue(a, b) || runNumber(state, a.runId) - runNumber(state, b.runId));
  free.sort((a, b) => (a.runId < b.runId ? -1 : 1));
  let nextAt: number | null = null;
  const sorted = sortedInFirst(waiting, sortedAtEachEnd(limited.limits, limited.state, now));
  for (const row of sorted) {
    queueRun(state, limited, row);
    nextAt = earlier(nextAt, row.availableAt);
  }
  return { free, left: sorted.length < waiting.length, nextAt };
}

export function holdRunsIfParkedByOtherCode(state: MemoryState, params: TakeUpParams, now: number): TakeUpResult {
  const { namespace, queues, handlers, limit } = params;
  if (!isLive(state, params)) return { live: false, taken: 0, more: false };
  let taken = 0;
  for (const [runId, parkedBy] of state.parkedBy) {
    const row = state.runs.get(runId) as RunRecord;
    const { workflow, version, queue } = row;
    if (row.status !== "parked" || row.suspect || row.namespace !== namespace || !queues.includes(queue)) continue;
    const handler = handlers.find((one) => one.workflow === workflow && one.version === version);
    if (!handler || !mayTakeUp(parkedBy, handler.code)) continue;
    if (taken === limit) return { live: true, taken, more: true };
    hold(state, row, params.workerId, params.claimId, now);
    row.error = null;
    appendNote(state, row, params.event, now);
    taken += 1;
  }
  return { live: true, taken, more: false };
}

function takenUnder(state: MemoryState, params: ClaimRunsParams): RunRecord[] {
  const runIds = [...(state.held.get(params.workerId) ?? [])];
  return runIds.map((runId) => state.runs.get(runId) as RunRecord).filter((row) => row.claimId === params.claimId);
}

function answer(
  state: MemoryState,
  rows: RunRecord[],
  now: number,
  rest: Pick<ClaimRunsResult, "moreDue" | "nextDueAt" | "suspectDue">,
): ClaimRunsResult {
  const messages: Message[] = rows.flatMap((row) => unconsumed(state, row.runId, row.consumed));
  return { live: true, runs: rows.map((row) => ({ ...row })), messages, now, ...rest };
}
