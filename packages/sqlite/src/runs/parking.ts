import {
  BY_A_PERSON,
  type ErrorRecord,
  type EventDraft,
  isOrder,
  type MessageKind,
  type PauseOutcome,
  type PauseParams,
  parkNote,
  type ResumeOutcome,
  type ResumeParams,
  timeInHistory,
  withParker,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { hasTie, isClosedCode, statusCode, statusName, TIES } from "../database/codes.ts";
import { appendEvent, lastEventAt } from "../histories.ts";
import { leaveLine } from "../queues/place-state.ts";
import {
  announceDue,
  announceEnd,
  type Counts,
  findState,
  forgetDeaths,
  letGo,
  noteError,
  noteParkers,
  raiseEpoch,
  type StateRow,
  stateByKey,
} from "./run-state.ts";

const PARKED_BY = "select parked_by from holdfast_runs where run_key = ?";
const UNREAD_KINDS = "select kind from holdfast_inbox where run_key = ? and number > ?";
const COUNT_EVENT = "update holdfast_runs set event_count = event_count + 1 where run_key = ?";

/** Why and by whom a run is parked. */
interface Parked {
  readonly error: ErrorRecord;
  readonly code?: string;
  readonly paused?: true;
}

/** Every park, whoever parks. Callers raise the epoch if they are not the holder. `counts`: those of the commit that parks it. */
export function park(
  call: Call,
  row: Pick<StateRow, "runKey" | "laneId" | "status" | "deadlineAt"> & { readonly runId: string | Uint8Array },
  { error, code, paused }: Parked,
  counts?: Counts,
): void {
  const { runKey } = row;
  noteError(call, row, error);
  noteParkers(call, runKey, paused ? BY_A_PERSON : parkersAfter(call, runKey, code));
  announceEnd(call, row);
  letGo(call, row, { status: "parked", dueAt: null }, counts);
  appendNote(call, runKey, parkNote(error));
}

function parkersAfter(call: Call, runKey: number, code: string | undefined): string | null {
  return code === undefined ? null : withParker(parkedBy(call, runKey), code);
}

function parkedBy({ sql }: Call, runKey: number): string | null {
  return (sql.columns(PARKED_BY, runKey)?.[0] as string | null | undefined) ?? null;
}

/** Every resume of a parked run that is not taken up by other code. */
export function resume(call: Call, row: StateRow, event: EventDraft, dueAt: number): "pending" | "running" {
  const status = row.startedAt === null ? "pending" : "running";
  raiseEpoch(call, row);
  noteError(call, row, null);
  forgetDeaths(call, row.runKey);
  letGo(call, row, { status, dueAt });
  // As for a new run that begins later: no worker knows of it.
  if (dueAt > call.now) announceDue(call, row.laneId, Math.min(dueAt, row.deadlineAt ?? dueAt));
  appendNote(call, row.runKey, event);
  return status;
}

/** What the store itself records about a run. */
export function appendNote(call: Call, runKey: number, event: EventDraft): void {
  const row = stateByKey(call, runKey);
  const at = timeInHistory(row, lastEventAt(call, runKey), call.now);
  appendEvent(call, runKey, { ...event, seq: row.eventCount + 1, at });
  call.sql.run(COUNT_EVENT, runKey);
}

export function isPaused(call: Call, { status, runKey }: StateRow): boolean {
  return status === statusCode("parked") && parkedBy(call, runKey) === BY_A_PERSON;
}

export function pauseRunIfIdle(call: Call, params: PauseParams): PauseOutcome {
  const row = findState(call, params.run);
  if (!row) return { outcome: "not_found" };
  if (isClosedCode(row.status) || row.epoch !== params.epoch) return { outcome: "moved" };
  if (row.heldBy !== null) return { outcome: "held" };
  if (unreadKinds(call, row).some(isOrder)) return { outcome: "behind" };
  raiseEpoch(call, row);
  if (hasTie(row.ties, TIES.place)) leaveLine(call, { runId: row.runId, seq: 0 });
  park(call, row, { error: params.error, paused: true });
  return { outcome: "parked" };
}

export function resumeRunIfParked(call: Call, params: ResumeParams): ResumeOutcome {
  const row = findState(call, params.run);
  if (!row) return { resumed: false, status: null, pauses: false };
  const pauses = unreadKinds(call, row).includes("pause");
  const parked = row.status === statusCode("parked") && row.epoch === params.epoch;
  if (!parked) return { resumed: false, status: statusName(row.status), pauses };
  const dueAt = Math.max(Math.ceil(params.dueAt ?? call.now), call.now);
  return { resumed: true, status: resume(call, row, params.event, dueAt), pauses };
}

function unreadKinds({ sql }: Call, { runKey, delivered, consumed }: StateRow): MessageKind[] {
  if (delivered === consumed) return [];
  return sql.allColumns(UNREAD_KINDS, runKey, consumed).map(([kind]) => kind as MessageKind);
}
