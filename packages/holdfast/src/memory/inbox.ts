import { isMoved, judgeDelivery, mayTake, wakes, wakeTime, wasInVain } from "../model/decisions/delivery.ts";
import { isResult, type Message, type ReplyAddress } from "../model/message.ts";
import { resumeNote, senderOf } from "../model/operator-notes.ts";
import { isClosed } from "../model/run.ts";
import { waitsForPlace } from "../model/waiting.ts";
import type {
  CarriedMessage,
  DeliverMessage,
  DeliverMessagesParams,
  DeliverMessagesResult,
  DeliverOutcome,
  ReadInboxParams,
  RunRef,
  StartRun,
} from "../ports/store.ts";
import { isAllowed } from "./debts/debt-state.ts";
import { noteUpdate, replyAddress } from "./replies.ts";
import { isPaused, resume } from "./runs/parking.ts";
import { addTo, findRun, hold, idKey, isLive, type MemoryState, type RunRecord, runIn, setAvailable } from "./state.ts";

export function deliverMessages(state: MemoryState, params: DeliverMessagesParams, now: number): DeliverMessagesResult {
  const answers = params.messages.map((message) => deliver(state, message, params, now));
  params.messages.forEach((message, i) => {
    const { row, take } = answers[i] as Answer;
    if (row && take) holdOnce(state, row, params, now);
    if (row && message.kind === "cancel" && isPaused(state, row))
      resume(state, row, resumeNote(senderOf(message)), now, now);
  });
  const taken = new Set(answers.flatMap(({ row, take }) => (take && row ? [row.runId] : [])));
  return { outcomes: answers.map((answer) => outcomeOf(answer, taken, now)) };
}

/** What has become of one message. */
interface Answer {
  readonly outcome: DeliverOutcome;
  /** The run that has it now, and its number there; undefined if none has. */
  readonly row?: RunRecord;
  readonly number?: number;
  /** Whether the worker that sends it takes the run. */
  readonly take?: boolean;
}

function outcomeOf({ outcome, row, number }: Answer, taken: ReadonlySet<string>, now: number): DeliverOutcome {
  if (!row || number === undefined || !taken.has(row.runId)) return outcome;
  return { ...outcome, held: { number, at: now } };
}

function deliver(
  state: MemoryState,
  message: DeliverMessage,
  { inboxMax, holdBy }: DeliverMessagesParams,
  now: number,
): Answer {
  const { to, from, kind, hold: wanted } = message;
  if (!isAllowed(state, to.namespace, from)) return { outcome: { outcome: "not_allowed", runId: null, status: null } };
  const row = isResult(kind) && "runId" in to ? runIn(state, to.namespace, to.runId) : addressee(state, to);
  if (!row) return { outcome: { outcome: "not_found", runId: null, status: null } };
  const { runId, epoch, suspect, namespace } = row;
  const [held, parked, inLine] = [row.heldBy !== null, row.status === "parked", waitsForPlace(row.waitingFor)];
  const receiver = { runId, epoch, held, parked, suspect, inLine };
  const live = holdBy !== undefined && isLive(state, { namespace, workerId: holdBy.workerId });
  const take = live && mayTake(receiver, wanted);
  const outcome = deliverTo(state, row, message, inboxMax, now, take);
  return outcome.outcome === "delivered" ? { outcome, row, number: row.delivered, take } : { outcome };
}

function holdOnce(state: MemoryState, row: RunRecord, { holdBy }: DeliverMessagesParams, now: number): void {
  if (holdBy && row.heldBy === null) hold(state, row, holdBy.workerId, holdBy.claimId, now);
}

type Sent = CarriedMessage & Partial<Pick<DeliverMessage, "to" | "epoch" | "replyTo">>;

/** `taken`: the worker that sends it takes the run, which therefore need not become due. */
function deliverTo(
  state: MemoryState,
  row: RunRecord,
  message: Sent,
  inboxMax: number,
  now: number,
  taken = false,
): DeliverOutcome {
  const isKnown = (): boolean => hasHad(state, row, message.messageId);
  const { delivered, consumed } = row;
  const parked = row.status === "parked";
  const receiver = { closed: isClosed(row.status), parked, moved: isMoved(row, message), delivered, consumed };
  const judged = judgeDelivery(receiver, message.kind, isKnown, inboxMax);
  if (judged !== "delivered") return outcome(judged, row);
  appendMessage(state, row, message, now, message.replyTo);
  if (row.heldBy !== null) state.hints.push({ type: "inbox", runId: row.runId, workerId: row.heldBy });
  else if (!taken && wakes({ parked, startedAt: row.startedAt }, message.kind))
    setAvailable(state, row, wakeTime(row.availableAt, now), now);
  return outcome("delivered", row);
}

/** Whether that message was delivered to the run, or to one that it continues. */
function hasHad(state: MemoryState, { firstRunId }: RunRecord, messageId: string): boolean {
  return state.messageIds.get(firstRunId)?.has(messageId) ?? false;
}

/** The same, unless that was in vain: then it may come with another run. */
export function mayHaveHad(state: MemoryState, row: RunRecord, messageId: string): boolean {
  if (!hasHad(state, row, messageId)) return false;
  if (!isClosed(row.status)) return true;
  const message = state.inbox.get(row.runId)?.find((other) => other.messageId === messageId);
  const error = state.updates.get(row.firstRunId)?.get(messageId)?.reply?.error;
  return !message || !wasInVain({ number: message.number, consumed: row.consumed }, error);
}

/** The messages that come with a start. The run exists, and has not continued. */
export function deliverWithStart(
  state: MemoryState,
  row: RunRecord,
  { messages = [] }: StartRun,
  inboxMax: number,
  now: number,
): DeliverOutcome["outcome"][] {
  return messages.map((message) => deliverTo(state, row, message, inboxMax, now).outcome);
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
export function appendMessage(
  state: MemoryState,
  row: RunRecord,
  message: CarriedMessage,
  now: number,
  replyTo?: ReplyAddress,
): void {
  row.delivered += 1;
  const { kind, name, messageId, payload } = message;
  addTo(state.inbox, row.runId, { runId: row.runId, number: row.delivered, kind, name, messageId, payload, at: now });
  if (isResult(kind)) return;
  if (kind === "update") noteUpdate(state, row, message, replyTo);
  const ids = state.messageIds.get(row.firstRunId);
  if (ids) ids.add(messageId);
  else state.messageIds.set(row.firstRunId, new Set([messageId]));
}

/** What a run that continues as new has not read goes to its successor, except results, which are for its own ops. */
export function handOn(state: MemoryState, from: RunRecord, to: RunRecord, now: number): void {
  for (const message of unconsumed(state, from.runId, from.consumed))
    if (!isResult(message.kind)) appendMessage(state, to, message, now, replyAddress(state, from, message.messageId));
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
