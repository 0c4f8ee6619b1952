import {
  type CarriedMessage,
  type DeliverMessage,
  type DeliverMessagesParams,
  type DeliverMessagesResult,
  type DeliverOutcome,
  type ErrorRecord,
  isMoved,
  isResult,
  judgeDelivery,
  type Message,
  type MessageKind,
  mayTake,
  type Payload,
  type ReadInboxParams,
  type RunRef,
  resumeNote,
  senderOf,
  wakes,
  wakeTime,
  wasInVain,
} from "holdfast/adapter";
import type { Call } from "./database/call.ts";
import { hasTie, isClosedCode, statusCode, statusName, TIES } from "./database/codes.ts";
import { blob } from "./database/driver.ts";
import { uuidText } from "./database/uuid.ts";
import { isAllowed } from "./namespaces.ts";
import { isInLine } from "./queues/place-state.ts";
import { handOnAddress, keepAddress } from "./replies.ts";
import { holdRuns } from "./runs/holds.ts";
import { isPaused, resume } from "./runs/parking.ts";
import { announceIfDue, findState, keyOf, noteTaken, type StateRow, stateByKey, stateOf } from "./runs/run-state.ts";
import { deliverTaking, INSERT } from "./taking-messages.ts";
import { liveWorker, type StoredWorker } from "./workers.ts";

const DELETE = "delete from holdfast_inbox where run_key = ? and number = ?";
const OWN = `
  select m.number, u.answer_error as error
  from holdfast_inbox m left join holdfast_updates u on u.run_key = m.run_key and u.number = m.number
  where m.chain_key = ? and m.message_id = ? and m.run_key = ?`;
const IS_KNOWN = "select 1 from holdfast_inbox where chain_key = ? and message_id = ? limit 1";
const UNCONSUMED = `
  select r.run_id as runId, m.number, m.kind, m.name, m.message_id as messageId, m.payload, m.at
  from holdfast_inbox m join holdfast_runs r on r.run_key = m.run_key
  where m.run_key = ? and m.number > ? order by m.number`;
/** The runs of an id, newest first, until one belongs to the chain: nearly always the first. */
const LAST_OF_CHAIN = `
  select r.run_key as runKey from holdfast_run_starts me
  join holdfast_run_starts s on s.namespace_key = me.namespace_key and s.id = me.id
  join holdfast_runs r on r.run_key = s.run_key
  where me.run_key = ? and coalesce(r.chain_key, r.run_key) = ? order by s.run_key desc limit 1`;

const CONTINUED = statusCode("continued");
const COMPENSATING = statusCode("compensating");
const RUNNING = statusCode("running");

interface StoredMessage {
  readonly runId: Uint8Array;
  readonly number: number;
  readonly kind: MessageKind;
  readonly name: string;
  readonly messageId: string;
  readonly payload: Payload;
  readonly at: number;
}

export function deliverMessages(call: Call, params: DeliverMessagesParams): DeliverMessagesResult {
  const { messages, inboxMax, holdBy } = params;
  const holding = holdBy && liveWorker(call, holdBy.workerId);
  const plainly = holding && deliverTaking(call, params, holding, holdBy.claimId);
  if (plainly) return { outcomes: plainly };
  const answers = messages.map((message) => deliver(call, message, inboxMax, holding?.namespace));
  const taken = new Set(answers.flatMap(({ row, take }) => (take && row ? [row.runKey] : [])));
  if (holding && taken.size > 0) {
    holdRuns(call, [...taken], holding.workerKey, holdBy.claimId);
    // Of several messages to one run, the last one knows how many there are.
    messages.forEach((message, i) => {
      const { row } = answers[i] as Answer;
      if (row && taken.has(row.runKey)) noteHold(call, holding, message, row);
    });
  }
  messages.forEach((message, i) => {
    const { row } = answers[i] as Answer;
    if (message.kind !== "cancel" || !row) return;
    const now = stateOf(call, message.to.namespace, uuidText(row.runId));
    if (now && isPaused(call, now)) resume(call, now, resumeNote(senderOf(message)), call.now);
  });
  return { outcomes: answers.map((answer) => outcomeOf(answer, taken, call.now)) };
}

/** What is known of a run that was taken with this message: its holder mostly writes to it at once (known-holds.ts). */
function noteHold(call: Call, holding: StoredWorker, { replyTo }: DeliverMessage, row: StateRow): void {
  const runId = uuidText(row.runId);
  const compensating = row.status === COMPENSATING;
  call.holds.note(runId, {
    runKey: row.runKey,
    namespace: holding.namespace,
    workerId: call.catalog.workerId(holding.workerKey),
    taken: holding.taken,
    epoch: row.epoch + 1,
    commit: row.commit,
    delivered: row.delivered + 1,
    eventCount: row.eventCount,
    status: compensating ? COMPENSATING : RUNNING,
    laneId: row.laneId,
    deadlineAt: row.deadlineAt,
    plain:
      replyTo === undefined && row.ties === null && row.deaths + row.aloneDeaths + row.suspect + row.parkedBefore === 0,
  });
}

/** What has become of one message. */
interface Answer {
  readonly outcome: DeliverOutcome;
  /** The run that has it now, as it was before; undefined if none has. */
  readonly row?: StateRow;
  /** Whether the worker that sends it takes the run. */
  readonly take?: boolean;
}

function outcomeOf({ outcome, row }: Answer, taken: ReadonlySet<number>, at: number): DeliverOutcome {
  return row && taken.has(row.runKey) ? { ...outcome, held: { number: row.delivered + 1, at } } : outcome;
}

/** `home`: the namespace of the worker that takes runs; undefined if none does. */
function deliver(call: Call, message: DeliverMessage, inboxMax: number, home: string | undefined): Answer {
  const { to, from, kind } = message;
  if (!isAllowed(call, to.namespace, from)) return { outcome: { outcome: "not_allowed", runId: null, status: null } };
  const row = isResult(kind) && "runId" in to ? stateOf(call, to.namespace, to.runId) : addressee(call, to);
  if (!row) return { outcome: { outcome: "not_found", runId: null, status: null } };
  const take = home === to.namespace && mayTake(receiverOf(call, row), message.hold);
  const outcome = deliverTo(call, row, message, inboxMax, take);
  return outcome.outcome === "delivered" ? { outcome, row, take } : { outcome };
}

function receiverOf(call: Call, row: StateRow): Parameters<typeof mayTake>[0] {
  const { runId, epoch, heldBy, status, suspect, ties } = row;
  const parked = status === statusCode("parked");
  const inLine = hasTie(ties, TIES.place) && isInLine(call, { runId, seq: 0 });
  return { runId: uuidText(runId), epoch, held: heldBy !== null, parked, suspect: suspect !== 0, inLine };
}

/** `replyTo`: the run that gets the answer to an update; nothing if none does. */
type Sent = CarriedMessage & Partial<Pick<DeliverMessage, "to" | "epoch" | "replyTo">>;

function deliverTo(call: Call, row: StateRow, message: Sent, inboxMax: number, taken = false): DeliverOutcome {
  const { delivered, consumed } = row;
  const isKnown = (): boolean => hasHad(call, row, message.messageId);
  const parked = row.status === statusCode("parked");
  const runId = uuidText(row.runId);
  const moved = isMoved({ runId, epoch: row.epoch }, message);
  const receiver = { closed: isClosedCode(row.status), parked, moved, delivered, consumed };
  const outcome = judgeDelivery(receiver, message.kind, isKnown, inboxMax);
  if (outcome === "delivered") accept(call, row, message, taken);
  return { outcome, runId, status: statusName(row.status) };
}

/** Whether that message was delivered to the run, or to one that it continues. */
function hasHad({ sql }: Call, { chainKey }: StateRow, messageId: string): boolean {
  return sql.get(IS_KNOWN, chainKey, messageId) !== undefined;
}

/** The same, unless that was in vain: then it may come with another run. */
export function mayHaveHad(call: Call, row: StateRow, messageId: string): boolean {
  if (!hasHad(call, row, messageId)) return false;
  if (!isClosedCode(row.status)) return true;
  const own = call.sql.get<{ number: number; error: string | null }>(OWN, row.chainKey, messageId, row.runKey);
  const error = own?.error ? (JSON.parse(own.error) as ErrorRecord) : null;
  return !own || !wasInVain({ number: own.number, consumed: row.consumed }, error);
}

/** The messages that come with a start. The run exists, and has not continued. */
export function deliverWithStart(
  call: Call,
  runKey: number,
  messages: readonly CarriedMessage[],
  inboxMax: number,
): DeliverOutcome["outcome"][] {
  return messages.map((message) => deliverTo(call, stateByKey(call, runKey), message, inboxMax).outcome);
}

/** Follows a run that continued as new; finds no run if the end of the chain was purged. */
export function addressee(call: Call, to: RunRef): StateRow | undefined {
  const row = findState(call, to);
  if (row?.status !== CONTINUED) return row;
  const found = call.sql.get<{ runKey: number }>(LAST_OF_CHAIN, row.runKey, row.chainKey);
  const last = found && stateByKey(call, found.runKey);
  return last?.status === CONTINUED ? undefined : last;
}

/**
 * The message's number is the new value of the counter, which the holder compares when it suspends or ends the run. Also for
 * results of tasks. `taken`: the worker that sends it takes the run, which therefore need not become due.
 */
export function accept(call: Call, row: StateRow, message: Sent, taken = false): void {
  const { sql, now, hints } = call;
  const number = row.delivered + 1;
  appendMessage(call, row.runKey, row.chainKey, number, message);
  if (message.replyTo && message.kind === "update") keepAddress(call, row, number, message.replyTo);
  const parked = row.status === statusCode("parked");
  if (row.heldBy === null && !taken && wakes({ parked, startedAt: row.startedAt }, message.kind)) {
    const availableAt = wakeTime(row.availableAt, now);
    sql.run(
      "update holdfast_runs set delivered = ?, available_at = ? where run_key = ?",
      ...[number, availableAt, row.runKey],
    );
    announceIfDue(call, row.laneId, availableAt);
    return;
  }
  sql.execute("update holdfast_runs set delivered = ? where run_key = ?", number, row.runKey);
  if (row.heldBy === null) return;
  const runId = uuidText(row.runId);
  noteTaken(call, row.heldBy);
  const last = hints.at(-1);
  // The results of many children come together.
  if (last?.type === "inbox" && last.runId === runId) return;
  hints.push({ type: "inbox", runId, workerId: call.catalog.workerId(row.heldBy) });
}

/** A result is for one op of this very run and has no chain, so it is found by no search for duplicates. */
export function appendMessage(
  { sql, now }: Call,
  runKey: number,
  chainKey: number,
  number: number,
  { kind, name, messageId, payload }: CarriedMessage,
): void {
  sql.execute(INSERT, runKey, number, isResult(kind) ? null : chainKey, now, kind, name, messageId, blob(payload));
}

/**
 * The inbox of a run that continues another one: the carried messages come first, then what was not read, except results, which
 * are for the ops of the run that ends. Both are copies, the old inbox stays unchanged.
 */
export function handOn(
  call: Call,
  from: Pick<StateRow, "runKey" | "chainKey" | "ties">,
  consumed: number,
  nextKey: number,
  carried: readonly CarriedMessage[],
): void {
  let number = 0;
  for (const message of carried) appendMessage(call, nextKey, from.chainKey, ++number, message);
  for (const message of unconsumed(call, from.runKey, consumed)) {
    if (isResult(message.kind)) continue;
    appendMessage(call, nextKey, from.chainKey, ++number, message);
    if (message.kind === "update" && hasTie(from.ties, TIES.asked))
      handOnAddress(call, { runKey: from.runKey, number: message.number }, { runKey: nextKey, number });
  }
  if (number > 0) call.sql.run("update holdfast_runs set delivered = ? where run_key = ?", number, nextKey);
}

export function unconsumed({ sql }: Call, runKey: number, after: number): Message[] {
  return sql.all<StoredMessage>(UNCONSUMED, runKey, after).map((row) => ({ ...row, runId: uuidText(row.runId) }));
}

/** Results that have become events. */
export function deleteResults({ sql }: Call, runKey: number, numbers: readonly number[]): void {
  for (const number of numbers) sql.execute(DELETE, runKey, number);
}

export function readInbox(call: Call, params: ReadInboxParams): Message[] {
  return params.runs.flatMap(({ namespace, runId, after }) => {
    const runKey = keyOf(call, { namespace, runId });
    return runKey === null ? [] : unconsumed(call, runKey, after);
  });
}
