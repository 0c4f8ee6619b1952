import {
  type AnswerAsksParams,
  ASK_TAKE_MS,
  type Ask,
  type AskAnswer,
  type ErrorRecord,
  type Payload,
  type PutAsksParams,
  type ReadAsksParams,
  type TakeAsksParams,
  type TakeAsksResult,
} from "holdfast/adapter";
import type { Call } from "./database/call.ts";
import { blob } from "./database/driver.ts";
import { newUuidBytes, uuidBytes, uuidText } from "./database/uuid.ts";

const INSERT = `
  insert into holdfast_asks (ask_id, run_id, open_at, gone_at, answered, namespace, workflow, version, name, payload)
  values (?, ?, ?, ?, 0, ?, ?, ?, ?, ?) on conflict (ask_id) do nothing`;
/** Each workflow version is one range of the index; the oldest ask has the smallest key. */
const OPEN = `
  select a.ask_key as askKey, a.ask_id as askId, a.namespace, a.run_id as runId, a.workflow, a.version, a.name, a.payload
  from json_each(?) cross join holdfast_asks a indexed by holdfast_asks_open
    on a.namespace = ? and a.workflow = json_each.value ->> 0 and a.version = json_each.value ->> 1
  where a.answered = 0 and a.open_at <= ? and a.gone_at > ? order by a.ask_key limit ?`;
const TAKE = "update holdfast_asks set open_at = ? where ask_key = ?";
const ANSWER = `
  update holdfast_asks set answered = 1, answer = ?, error = ?
  where ask_id = ? and namespace = ? and answered = 0 and gone_at > ?`;
const READ = `
  select answer, error from holdfast_asks where ask_id = ? and namespace = ? and answered = 1 and gone_at > ?`;

interface StoredAsk extends Omit<Ask, "askId" | "runId"> {
  readonly askKey: number;
  readonly askId: Uint8Array;
  readonly runId: Uint8Array;
}

export function putAsks(call: Call, { asks }: PutAsksParams): void {
  const { sql, now, hints } = call;
  forgetOld(call);
  for (const { askId, namespace, runId, workflow, version, name, payload, ttlMs } of asks) {
    const ids = [newUuidBytes(askId), newUuidBytes(runId)];
    const texts = [namespace, workflow, version, name];
    if (sql.run(INSERT, ...ids, now, Math.ceil(now + ttlMs), ...texts, blob(payload)) === 0) continue;
    hints.push({ type: "asked", namespace });
  }
}

export function takeAsks(call: Call, { namespace, handlers, limit }: TakeAsksParams): TakeAsksResult {
  const { sql, now } = call;
  forgetOld(call);
  const served = new Set(handlers.map(({ workflow, version }) => JSON.stringify([workflow, version])));
  // One more than the limit, to know whether more are left.
  const open = sql.all<StoredAsk>(OPEN, `[${[...served].join()}]`, namespace, now, now, limit + 1);
  const taken = open.slice(0, limit);
  for (const { askKey } of taken) sql.run(TAKE, now + ASK_TAKE_MS, askKey);
  const asks = taken.map(({ askKey: _askKey, askId, runId, ...ask }) => {
    return { ...ask, askId: uuidText(askId), runId: uuidText(runId) };
  });
  return { asks, more: open.length > taken.length };
}

export function answerAsks({ sql, now, hints }: Call, { answers }: AnswerAsksParams): void {
  for (const { namespace, askId, answer } of answers) {
    const payload = answer.type === "answered" ? blob(answer.payload) : null;
    const error = answer.type === "failed" ? JSON.stringify(answer.error) : null;
    if (sql.run(ANSWER, payload, error, uuidBytes(askId), namespace, now) === 0) continue;
    hints.push({ type: "answered", askId });
  }
}

export function readAsks({ sql, now }: Call, { asks }: ReadAsksParams): (AskAnswer | null)[] {
  return asks.map(({ namespace, askId }) => {
    const found = sql.get<{ answer: Payload | null; error: string | null }>(READ, uuidBytes(askId), namespace, now);
    if (!found) return null;
    if (found.error !== null) return { type: "failed", error: JSON.parse(found.error) as ErrorRecord };
    return { type: "answered", payload: found.answer as Payload };
  });
}

export function forgetAsks({ sql }: Call, { asks }: ReadAsksParams): void {
  for (const { namespace, askId } of asks)
    sql.run("delete from holdfast_asks where ask_id = ? and namespace = ?", uuidBytes(askId), namespace);
}

function forgetOld({ sql, now }: Call): void {
  sql.run("delete from holdfast_asks where gone_at <= ?", now);
}
