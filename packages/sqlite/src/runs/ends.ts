import type { CompensationOutcome, ErrorRecord, HistoryEvent, Payload, RunStatus } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { eventTypeCode, hasTie, statusCode, TIES } from "../database/codes.ts";
import { blob } from "../database/driver.ts";
import { newUuidBytes } from "../database/uuid.ts";
import { oweAfterEnd, type TiedRun } from "../debts/debt-state.ts";
import { metaText, payloadBytes, TAIL } from "../histories.ts";
import { giveBackLocks } from "../locks/lock-state.ts";
import { giveBackPlace, handPlaceOn, leaveLine } from "../queues/place-state.ts";
import { announceEnd, COUNT, type Counts, errorText, type StateRow } from "./run-state.ts";

/** `which`: the rest of the condition, about the keys of runs. */
export const setEnd = (which: string): string => `
  status = ?, ended_at = max(?, coalesce(started_at, created_at)), held_by = null, claim_id = null, alone = 0, available_at = null, waiting_for = null
  where run_key ${which}`;
const CLOSE = setEnd("= ?");
const LANE_OF = "select lane_id from holdfast_runs where run_id = ?";
const END = `update holdfast_runs set ${CLOSE}`;
const COUNT_AND_END = `update holdfast_runs set ${COUNT}, ${CLOSE}`;
const INSERT_END = `
  insert into holdfast_run_ends (run_key, continued_as, compensation, error, output) values (?, ?, ?, ?, ?)
  on conflict (run_key) do update set continued_as = excluded.continued_as, compensation = excluded.compensation,
    error = excluded.error, output = excluded.output`;
export const INSERT_END_AND_TAIL = `
  insert into holdfast_run_ends (run_key, continued_as, compensation, error, output, ${TAIL.join(", ")}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  on conflict (run_key) do update set continued_as = excluded.continued_as, compensation = excluded.compensation,
    error = excluded.error, output = excluded.output, ${TAIL.map((column) => `${column} = excluded.${column}`).join(", ")}`;

export interface RunEnding {
  readonly status: RunStatus;
  readonly output: Payload | null;
  readonly error: ErrorRecord | null;
  readonly compensation?: CompensationOutcome | null;
  readonly continuedAs?: Uint8Array;
  /** The time of the last event, or 0: the clock may have been set back since. */
  readonly lastEventAt: number;
}

/** Every end of a run, whoever ends it, but for those of PlainEnds. Returns its ties afterward: whether it owes something. */
export function endRun(
  call: Call,
  row: TiedRun & Pick<StateRow, "laneId"> & { readonly runId: Uint8Array | string },
  end: RunEnding,
  counts?: Counts,
  /** The last event, if it is kept with the end. */
  tail?: HistoryEvent,
): number | null {
  const { sql, now } = call;
  const status = statusCode(end.status);
  const endedAt = Math.max(now, end.lastEventAt);
  if (counts) sql.execute(COUNT_AND_END, counts.eventCount, counts.consumed, status, endedAt, row.runKey);
  else sql.execute(END, status, endedAt, row.runKey);
  const { continuedAs = null, compensation = null, error, output } = end;
  const bytes = output === null ? null : blob(output);
  if (tail) insertWithTail(call, row.runKey, end, bytes, tail);
  else sql.execute(INSERT_END, row.runKey, continuedAs, compensation, errorText(error), bytes);
  announceEnd(call, row);
  if (row.ties === null) return null;
  if (hasTie(row.ties, TIES.place)) leaveQueue(call, row, end.continuedAs);
  return oweAfterEnd(call, { runKey: row.runKey, ties: giveBackLocks(call, row) }, end.status);
}

function insertWithTail(
  { sql }: Call,
  runKey: number,
  end: RunEnding,
  output: Uint8Array | null,
  tail: HistoryEvent,
): void {
  const { continuedAs = null, compensation = null, error } = end;
  const { seq, type, at, op } = tail;
  const code = eventTypeCode(type);
  const meta = metaText(tail);
  const payload = payloadBytes(tail);
  const text = errorText(error);
  sql.execute(INSERT_END_AND_TAIL, runKey, continuedAs, compensation, text, output, seq, code, at, op, meta, payload);
}

/** Whoever is next gets its place, or its continuation, if that is in the same queue. */
function leaveQueue(
  call: Call,
  { runId, laneId }: Pick<StateRow, "laneId"> & { readonly runId: Uint8Array | string },
  continuedAs?: Uint8Array,
): void {
  const own = { runId: typeof runId === "string" ? newUuidBytes(runId) : runId, seq: 0 };
  leaveLine(call, own);
  const [nextLane] = (continuedAs && call.sql.columns(LANE_OF, continuedAs)) ?? [];
  const { queue } = call.catalog.lane(laneId);
  if (continuedAs && call.catalog.lane(nextLane as number).queue === queue) handPlaceOn(call, own.runId, continuedAs);
  else giveBackPlace(call, own);
}
