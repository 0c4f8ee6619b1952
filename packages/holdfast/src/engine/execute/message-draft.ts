import { readFailedReply } from "../../calls/update-answer.ts";
import { readEndMessageId, readFailedEnd } from "../../model/ended-run.ts";
import type { EventDraft, EventMeta } from "../../model/event.ts";
import { outcomeMessageId, readTaskMessageId } from "../../model/ids.ts";
import { readLockMessageId } from "../../model/lock.ts";
import { isReply, isRunEnd, isTaskResult, type Message } from "../../model/message.ts";
import { senderOf } from "../../model/operator-notes.ts";
import { decodeFailedTask } from "../../model/task-failure.ts";
import { splitName } from "../../model/trace-context.ts";
import type { Machine } from "../../replay/machine.ts";

/** An event that waits to be delivered; `number` is that of the message it came from. */
export interface QueuedDraft extends EventDraft {
  readonly number?: number;
  /** For the result of a task: the event that it answers. */
  readonly taskSeq?: number;
  /** For the grant of a lock: the event that requested it. */
  readonly lockSeq?: number;
  /** For the end of another run: the first run of its chain, and which of its ends it was. For an answer: its message id. */
  readonly endOf?: string;
  readonly end?: string;
  /** For a signal: the trace context in which it was sent, which is no part of the event. */
  readonly trace?: string;
}

/** Whether it is the result of something that an op of this run waits for. */
export function isResultDraft({ taskSeq, endOf, lockSeq }: QueuedDraft): boolean {
  return taskSeq !== undefined || endOf !== undefined || lockSeq !== undefined;
}

const NOTES = { pause: "pause_requested", resume: "run_resumed", note: "run_noted" } as const;

/** The event that a message from the inbox becomes in history. */
export function messageDraft(message: Message): QueuedDraft {
  const { messageId, number, payload } = message;
  if (message.kind === "cancel") {
    return { type: "cancel_requested", op: null, meta: { messageId, ...senderOf(message) }, number };
  }
  if (message.kind === "pause" || message.kind === "resume" || message.kind === "note") {
    return { type: NOTES[message.kind], op: null, meta: { messageId, ...senderOf(message) }, number };
  }
  if (isTaskResult(message.kind)) return taskDraft(message);
  if (isRunEnd(message.kind)) return runEndDraft(message);
  if (isReply(message.kind)) return replyDraft(message);
  if (message.kind === "lock_granted") return lockDraft(message);
  if (message.kind === "update") {
    const draft: QueuedDraft = { type: "update_accepted", op: message.name, meta: { messageId, number }, number };
    return payload.length === 0 ? draft : { ...draft, payload };
  }
  const meta = { messageId };
  if (message.kind === "signal") return signalDraft(message, meta);
  const op = isOwnOutcome(message) ? message.name : null;
  const type = "step_completed";
  return payload.length === 0 ? { type, op, meta, number } : { type, op, payload, meta, number };
}

function signalDraft({ name: traced, number, payload }: Message, meta: EventMeta): QueuedDraft {
  const { name: op, trace } = splitName(traced);
  const type = "signal_received";
  const draft: QueuedDraft = payload.length === 0 ? { type, op, meta, number } : { type, op, payload, meta, number };
  return trace === undefined ? draft : { ...draft, trace };
}

/** The result of a task. Who sent it is recorded only if that was someone with its token. */
function taskDraft({ kind, name, messageId, number, payload }: Message): QueuedDraft {
  const { seq: taskSeq, attempt, finishId } = readTaskMessageId(messageId);
  const sent = finishId === "" ? {} : { messageId: finishId };
  const about = { op: name, number, taskSeq };
  if (kind === "task_completed") {
    const meta: EventMeta = { ...(attempt === 1 ? {} : { attempt }), ...sent };
    const draft: QueuedDraft = { type: "task_completed", ...about, ...(Object.keys(meta).length > 0 ? { meta } : {}) };
    return payload.length === 0 ? draft : { ...draft, payload };
  }
  return { type: "task_failed", ...about, meta: { attempt, ...decodeFailedTask(payload), ...sent } };
}

/** The end of a child, or of a run that is watched. */
function runEndDraft({ kind, name: op, messageId, number, payload }: Message): QueuedDraft {
  const { firstRunId: endOf, end } = readEndMessageId(messageId);
  const about = { op, number, endOf, end };
  const some = payload.length === 0 ? {} : { payload };
  if (kind === "child_completed") return { type: "child_completed", ...about, ...some };
  if (kind === "watch_completed") return { type: "message_sent", ...about, ...some };
  const { status, error, compensation, runId, id, workflow } = readFailedEnd(payload);
  const known = { status, ...(error ? { error } : {}), ...(compensation ? { compensation } : {}) };
  if (kind === "child_failed") return { type: "child_failed", ...about, meta: { ...known, end } };
  return { type: "message_failed", ...about, meta: { to: { id, runId }, workflow, ...known } };
}

/** A lock that the run has requested is its own. */
function lockDraft({ name: op, messageId, number }: Message): QueuedDraft {
  const { seq: lockSeq, fence } = readLockMessageId(messageId);
  return { type: "lock_granted", op, meta: { fence }, number, lockSeq };
}

/** What has become of an update that this run has sent. */
function replyDraft({ kind, name: op, messageId: endOf, number, payload }: Message): QueuedDraft {
  const about = { op, number, endOf };
  if (kind === "reply_failed") return { type: "message_failed", ...about, meta: { error: readFailedReply(payload) } };
  return { type: "message_sent", ...about, ...(payload.length === 0 ? {} : { payload }) };
}

/**
 * Whether the message is the result message of a transaction step of this run. A run's successor inherits its inbox, but not
 * the results of its steps.
 */
export function isOwnOutcome({ kind, name, messageId, runId }: Message): boolean {
  return kind === "outcome" && messageId === outcomeMessageId(runId, name);
}

/** Whether the draft came from the result message of a transaction step of this run. */
function isOutcome({ type, op, number }: QueuedDraft): boolean {
  return number !== undefined && type === "step_completed" && op !== null;
}

/**
 * The result message of a transaction step says which attempt it was (the failed ones that history knows, plus one) and how
 * long it took, unless another process executed it.
 */
export function withAttempt(draft: QueuedDraft, machine: Machine): EventDraft {
  if (!isOutcome(draft)) return draft;
  const { failedAttempts = 0, committedMs = 0 } = machine.op(draft.op)?.step ?? {};
  const about = attemptMeta(failedAttempts + 1, committedMs);
  return about === undefined ? draft : { ...draft, meta: { ...draft.meta, ...about } };
}

/** What an event records about an attempt: nothing for a first attempt that took no time, as most do. */
export function attemptMeta(attempt: number, ms: number): Pick<EventMeta, "attempt" | "ms"> | undefined {
  if (ms < 1) return attempt === 1 ? undefined : { attempt };
  return attempt === 1 ? { ms } : { attempt, ms };
}
