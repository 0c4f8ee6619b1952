import { isDue } from "../../model/decisions/due-time.ts";
import type { ErrorRecord } from "../../model/error-record.ts";
import type { EventDraft } from "../../model/event.ts";
import { isOrder, type MessageKind } from "../../model/message.ts";
import { parkNote } from "../../model/operator-notes.ts";
import { BY_A_PERSON, withParker } from "../../model/parked-by.ts";
import { isClosed, timeInHistory } from "../../model/run.ts";
import type { PauseOutcome, PauseParams, ResumeOutcome, ResumeParams } from "../../ports/store.ts";
import { leaveLine, placedRun } from "../queues/place-state.ts";
import { addTo, findRun, lastEventAt, letGo, type MemoryState, type RunRecord, setAvailable } from "../state.ts";

/** Why and by whom a run is parked. */
interface Parked {
  readonly error: ErrorRecord;
  readonly code?: string;
  readonly paused?: true;
}

/** Every park, whoever parks. Callers raise the epoch if they are not the holder. */
export function park(state: MemoryState, row: RunRecord, parked: Parked, now: number): void {
  const { error, code, paused } = parked;
  letGo(state, row);
  leaveLine(state, placedRun(row));
  row.status = "parked";
  row.error = error;
  if (paused) state.parkedBy.set(row.runId, BY_A_PERSON);
  else if (code === undefined) state.parkedBy.delete(row.runId);
  else state.parkedBy.set(row.runId, withParker(state.parkedBy.get(row.runId) ?? null, code));
  appendNote(state, row, parkNote(error), now);
  state.hints.push({ type: "ended", namespace: row.namespace, runId: row.runId });
  setAvailable(state, row, null, now);
}

/** Every resume of a parked run that is not taken up by other code. */
export function resume(state: MemoryState, row: RunRecord, event: EventDraft, dueAt: number, now: number): void {
  row.status = row.startedAt === null ? "pending" : "running";
  row.epoch += 1;
  row.error = null;
  row.deaths = 0;
  row.aloneDeaths = 0;
  row.suspect = false;
  state.parkedBy.delete(row.runId);
  appendNote(state, row, event, now);
  setAvailable(state, row, dueAt, now);
  // As for a new run that begins later: no worker knows of it.
  const at = row.availableAt as number;
  if (!isDue(at, now)) state.hints.push({ type: "due", namespace: row.namespace, queue: row.queue, at });
}

/** What the store itself records about a run. */
export function appendNote(state: MemoryState, row: RunRecord, event: EventDraft, now: number): void {
  row.eventCount += 1;
  const at = timeInHistory(row, lastEventAt(state, row.runId), now);
  addTo(state.events, row.runId, { ...event, seq: row.eventCount, at });
}

export function isPaused(state: MemoryState, { status, runId }: RunRecord): boolean {
  return status === "parked" && state.parkedBy.get(runId) === BY_A_PERSON;
}

export function pauseRunIfIdle(state: MemoryState, params: PauseParams, now: number): PauseOutcome {
  const row = findRun(state, params.run);
  if (!row) return { outcome: "not_found" };
  if (isClosed(row.status) || row.epoch !== params.epoch) return { outcome: "moved" };
  if (row.heldBy !== null) return { outcome: "held" };
  if (unreadKinds(state, row).some(isOrder)) return { outcome: "behind" };
  row.epoch += 1;
  row.waitingFor = [];
  park(state, row, { error: params.error, paused: true }, now);
  return { outcome: "parked" };
}

export function resumeRunIfParked(state: MemoryState, params: ResumeParams, now: number): ResumeOutcome {
  const row = findRun(state, params.run);
  if (!row) return { resumed: false, status: null, pauses: false };
  const pauses = unreadKinds(state, row).includes("pause");
  if (row.status !== "parked" || row.epoch !== params.epoch) return { resumed: false, status: row.status, pauses };
  resume(state, row, params.event, Math.max(params.dueAt ?? now, now), now);
  return { resumed: true, status: row.status, pauses };
}

function unreadKinds(state: MemoryState, { runId, consumed }: RunRecord): MessageKind[] {
  return (state.inbox.get(runId) ?? []).filter(({ number }) => number > consumed).map(({ kind }) => kind);
}
