import { isDue } from "../../model/decisions/due-time.ts";
import type { Message } from "../../model/message.ts";
import { mayTakeUp } from "../../model/parked-by.ts";
import type { ClaimRunsParams, ClaimRunsResult, TakeUpParams, TakeUpResult } from "../../ports/store.ts";
import { unconsumed } from "../inbox.ts";
import { hold, isLive, type MemoryState, type RunRecord } from "../state.ts";
import { appendNote } from "./parking.ts";

export function claimRuns(state: MemoryState, params: ClaimRunsParams, now: number): ClaimRunsResult {
  if (!isLive(state, params)) {
    return { live: false, runs: [], messages: [], now, moreDue: false, nextDueAt: null, suspectDue: false };
  }
  const already = params.again ? takenUnder(state, params) : [];
  if (already.length > 0) return answer(state, already, now, { moreDue: false, nextDueAt: null, suspectDue: false });

  const handlers = new Set(params.handlers.map((h) => `${h.workflow}\n${h.version}`));
  const queues = new Set(params.queues);
  const due: RunRecord[] = [];
  let nextDueAt: number | null = null;
  let suspectDue = false;
  for (const runId of state.queued) {
    const row = state.runs.get(runId) as RunRecord;
    if (row.namespace !== params.namespace || !queues.has(row.queue)) continue;
    if (!handlers.has(`${row.workflow}\n${row.version}`)) continue;
    const availableAt = row.availableAt as number;
    const { suspect } = row;
    if (!isDue(availableAt, now)) nextDueAt = Math.min(nextDueAt ?? availableAt, availableAt);
    else if (suspect !== params.solo) suspectDue ||= suspect;
    else due.push(row);
  }
  due.sort((a, b) => b.priority - a.priority || (a.availableAt as number) - (b.availableAt as number));
  const taken = due.slice(0, params.solo ? Math.min(1, params.limit) : params.limit);
  for (const row of taken) {
    hold(state, row, params.workerId, params.claimId, now);
    row.alone = params.solo;
  }
  return answer(state, taken, now, { moreDue: due.length > taken.length, nextDueAt, suspectDue });
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
