import type { EventMeta, HistoryEvent, Payload, ReadHistoriesParams } from "holdfast/adapter";
import type { Call } from "./database/call.ts";
import { eventTypeCode, eventTypeName } from "./database/codes.ts";
import { blob } from "./database/driver.ts";
import { keyOf } from "./runs/run-state.ts";

const INSERT = "insert into holdfast_events (run_key, seq, type, at, op, meta, payload) values (?, ?, ?, ?, ?, ?, ?)";
const SELECT = `
  select seq, type, at, op, meta, payload from holdfast_events where run_key = ? and seq > ? order by seq limit ?`;

interface StoredEvent {
  readonly seq: number;
  readonly type: number;
  readonly at: number;
  readonly op: string | null;
  readonly meta: string | null;
  readonly payload: Payload | null;
}

export function appendEvent({ sql }: Call, runKey: number, event: HistoryEvent): void {
  const { seq, type, at, op, meta, payload } = event;
  const metaText = meta === undefined ? null : JSON.stringify(meta);
  sql.execute(INSERT, runKey, seq, eventTypeCode(type), at, op, metaText, payload === undefined ? null : blob(payload));
}

export function readHistories(call: Call, params: ReadHistoriesParams): HistoryEvent[][] {
  return params.runs.map(({ namespace, runId, afterSeq }) => {
    const runKey = keyOf(call, { namespace, runId });
    return runKey === null ? [] : call.sql.all<StoredEvent>(SELECT, runKey, afterSeq, params.limitPerRun).map(toEvent);
  });
}

/** Null if there is no such event. */
export function readEvent({ sql }: Call, runKey: number, seq: number): HistoryEvent | null {
  const [stored] = sql.all<StoredEvent>(SELECT, runKey, seq - 1, 1);
  return stored?.seq === seq ? toEvent(stored) : null;
}

/** The time of the last event; 0 if there is none. */
export function lastEventAt({ sql }: Call, runKey: number): number {
  const sqlText = "select at from holdfast_events where run_key = ? order by seq desc limit 1";
  return sql.get<{ at: number }>(sqlText, runKey)?.at ?? 0;
}

function toEvent({ seq, type, at, op, meta, payload }: StoredEvent): HistoryEvent {
  return {
    seq,
    type: eventTypeName(type),
    op,
    at,
    ...(payload === null ? {} : { payload }),
    ...(meta === null ? {} : { meta: JSON.parse(meta) as EventMeta }),
  };
}
