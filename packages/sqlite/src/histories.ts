import type { EventMeta, HistoryEvent, Payload, ReadHistoriesParams } from "holdfast/adapter";
import type { Call } from "./database/call.ts";
import { eventTypeCode, eventTypeName } from "./database/codes.ts";
import { blob, type SqlValue } from "./database/driver.ts";
import { keyOf } from "./runs/run-state.ts";

const INSERT = "insert into holdfast_events (run_key, seq, type, at, op, meta, payload) values (?, ?, ?, ?, ?, ?, ?)";
const SELECT = `
  select seq, type, at, op, meta, payload from holdfast_events where run_key = ? and seq > ? order by seq limit ?`;
/** The columns of holdfast_run_ends that may have the last event of a closed run, in the order of `SELECT`. */
export const TAIL = ["tail_seq", "tail_type", "tail_at", "tail_op", "tail_meta", "tail_payload"] as const;
const SELECT_TAIL = `
  select tail_seq as seq, tail_type as type, tail_at as at, tail_op as op, tail_meta as meta, tail_payload as payload
  from holdfast_run_ends where run_key = ? and tail_seq > ?`;

interface StoredEvent {
  readonly seq: number;
  readonly type: number;
  readonly at: number;
  readonly op: string | null;
  readonly meta: string | null;
  readonly payload: Payload | null;
}

export function appendEvent({ sql }: Call, runKey: number, event: HistoryEvent): void {
  const { seq, type, at, op } = event;
  sql.execute(INSERT, runKey, seq, eventTypeCode(type), at, op, metaText(event), payloadBytes(event));
}

export function metaText({ meta }: HistoryEvent): string | null {
  return meta === undefined ? null : JSON.stringify(meta);
}

export function payloadBytes({ payload }: HistoryEvent): Uint8Array | null {
  return payload === undefined ? null : blob(payload);
}

const ROWS_PER_INSERT = 8;
const INSERT_MANY = `${INSERT}${", (?, ?, ?, ?, ?, ?, ?)".repeat(ROWS_PER_INSERT - 1)}`;

/** Many at once: the fixed cost of a statement is larger than its cost per row. */
export function appendEvents(call: Call, events: readonly (readonly [runKey: number, event: HistoryEvent])[]): void {
  let at = 0;
  for (; at + ROWS_PER_INSERT <= events.length; at += ROWS_PER_INSERT) {
    const values: SqlValue[] = [];
    for (let i = at; i < at + ROWS_PER_INSERT; i++) {
      const [runKey, event] = events[i] as (typeof events)[number];
      const { seq, type, at: time, op } = event;
      values.push(runKey, seq, eventTypeCode(type), time, op, metaText(event), payloadBytes(event));
    }
    call.sql.execute(INSERT_MANY, ...values);
  }
  for (; at < events.length; at++) {
    const [runKey, event] = events[at] as (typeof events)[number];
    appendEvent(call, runKey, event);
  }
}

const LAST_SEQ = "select seq from holdfast_events where run_key = ? order by seq desc limit 1";

/** How many events the run has, whatever its row says. */
export function lastSeq({ sql }: Call, runKey: number): number {
  return (sql.columns(LAST_SEQ, runKey)?.[0] as number | undefined) ?? 0;
}

export function readHistories(call: Call, params: ReadHistoriesParams): HistoryEvent[][] {
  return params.runs.map(({ namespace, runId, afterSeq }) => {
    const runKey = keyOf(call, { namespace, runId });
    if (runKey === null) return [];
    const stored = call.sql.all<StoredEvent>(SELECT, runKey, afterSeq, params.limitPerRun);
    if (stored.length < params.limitPerRun) stored.push(...call.sql.all<StoredEvent>(SELECT_TAIL, runKey, afterSeq));
    return stored.map(toEvent);
  });
}

/** The last event of a closed run, if it is kept with its end. */
export function readTail({ sql }: Call, runKey: number): HistoryEvent | undefined {
  const stored = sql.get<StoredEvent>(SELECT_TAIL, runKey, 0);
  return stored && toEvent(stored);
}

/** For a run that is opened again: its last event goes to the others. */
export function unfoldTail(call: Call, runKey: number): void {
  const tail = readTail(call, runKey);
  if (!tail) return;
  appendEvent(call, runKey, tail);
  call.sql.run(
    `update holdfast_run_ends set ${TAIL.map((column) => `${column} = null`).join(", ")} where run_key = ?`,
    runKey,
  );
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
