import { judgeDelivery, wakes, wakeTime } from "../model/decisions/delivery.ts";
import { isResult, type Message } from "../model/message.ts";
import { isClosed } from "../model/run.ts";
import type {
  CarriedMessage,
  DeliverMessage,
  DeliverMessagesParams,
  DeliverMessagesResult,
  DeliverOutcome,
  ReadInboxParams,
  RunRef,
} from "../ports/store.ts";
import { isAllowed } from "./debts/debt-state.ts";
import { addTo, findRun, idKey, type MemoryState, type RunRecord, runIn, setAvailable } from "./state.ts";

export function deliverMessages(state: MemoryState, params: DeliverMessagesParams, now: number): DeliverMessagesResult {
  return { outcomes: params.messages.map((message) => deliver(state, message, params.inboxMax, now)) };
}

function deliver(state: MemoryState, message: DeliverMessage, inboxMax: number, now: number): DeliverOutcome {
  const { to, from, kind } = message;
  if (!isAllowed(state, to.namespace, from)) return { outcome: "not_allowed", runId: null, status: null };
  const row = isResult(kind) ? findRun(state, to) : addressee(state, to);
  if (!row) return { outcome: "not_found", runId: null, status: null };
  const isKnown = (): boolean => state.messageIds.get(row.firstRunId)?.has(message.messageId) ?? false;
  const { delivered, consumed } = row;
  const judged = judgeDelivery({ closed: isClosed(row.status), delivered, consumed }, message.kind, isKnown, inboxMax);
  if (judged !== "delivered") return outcome(judged, row);
  appendMessage(state, row, message, now);
  if (row.heldBy !== null) state.hints.push({ type: "inbox", runId: row.runId, workerId: row.heldBy });
  else if (wakes({ parked: row.status === "parked", startedAt: row.startedAt }, message.kind))
    setAvailable(state, row, wakeTime(row.availableAt, now), now);
  return outcome("delivered", row);
}

/** Follows a run that continued as new; undefined if the last run of its chain was purged. */
export function addressee(state: MemoryState, to: RunRef): RunRecord | undefined {
  const row = findRun(state, to);
  if (row?.continuedAs == null) return row;
  const runs = (state.byId.get(idKey(row.namespace, row.id)) ?? []).map((runId) => state.runs.get(runId));
  const last = runs.findLast((other) => other?.firstRunId === row.firstRunId);
  return last?.continuedAs == null ? last : undefined;
}

function outcome(kind: DeliverOutcome["outcome"], row: RunRecord): DeliverOutcome {
  return { outcome: kind, runId: row.runId, status: row.status };
}

/** The counter and the message's number change together: the store compares the counter when the holder suspends the run. */
export function appendMessage(state: MemoryState, row: RunRecord, message: CarriedMessage, now: number): void {
  row.delivered += 1;
  const { kind, name, messageId, payload } = message;
  addTo(state.inbox, row.runId, { runId: row.runId, number: row.delivered, kind, name, messageId, payload, at: now });
  if (isResult(kind)) return;
  const ids = state.messageIds.get(row.firstRunId);
  if (ids) ids.add(messageId);
  else state.messageIds.set(row.firstRunId, new Set([messageId]));
}

/** In order. Those of consumed results are missing. */
export function unconsumed(state: MemoryState, runId: string, after: number): Message[] {
  const messages = state.inbox.get(runId);
  if (!messages) return [];
  let first = messages.length;
  while (first > 0 && (messages[first - 1] as Message).number > after) first -= 1;
  return messages.slice(first);
}

/** Results that have become events. */
export function deleteResults(state: MemoryState, runId: string, numbers: readonly number[]): void {
  const messages = state.inbox.get(runId) ?? [];
  const gone = new Set(numbers);
  const kept = messages.filter(({ number }) => !gone.has(number));
  state.inbox.set(runId, kept);
}

export function readInbox(state: MemoryState, params: ReadInboxParams): Message[] {
  return params.runs.flatMap(({ namespace, runId, after }) =>
    runIn(state, namespace, runId) ? unconsumed(state, runId, after) : [],
  );
}
