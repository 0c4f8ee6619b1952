import type { Payload } from "./payload.ts";

/**
 * `outcome`: the result message of a transaction step of the run, committed together with the step's SQL. `task_completed`,
 * `task_failed`: the result of a task that the run has scheduled. `child_completed`, `child_failed`: the end of a child.
 * `watch_completed`, `watch_failed`: the end of a run that the run watches. `update`: a request that the run answers. `reply_completed`,
 * `reply_failed`: what has become of an update that the run has sent. `pause`, `resume`: from a person, for a run that a worker holds.
 * `lock_granted`: the run holds the lock that one of its ops has requested. `note`: what somebody outside has done about the run, for its
 * history alone.
 */
export type MessageKind =
  | "signal"
  | "cancel"
  | "outcome"
  | "task_completed"
  | "task_failed"
  | "child_completed"
  | "child_failed"
  | "watch_completed"
  | "watch_failed"
  | "update"
  | "reply_completed"
  | "reply_failed"
  | "pause"
  | "resume"
  | "lock_granted"
  | "note";

/** Whether it is the result of a task: sent by the store itself, once, and deleted when it is consumed. */
export function isTaskResult(kind: MessageKind): boolean {
  return kind === "task_completed" || kind === "task_failed";
}

/** Whether it tells of the end of another run: its name is the op that waits for it. */
export function isRunEnd(kind: MessageKind): boolean {
  return kind === "child_completed" || kind === "child_failed" || kind === "watch_completed" || kind === "watch_failed";
}

/** Whether it tells what has become of an update: its name is the op that has sent that. */
export function isReply(kind: MessageKind): boolean {
  return kind === "reply_completed" || kind === "reply_failed";
}

/** Whether it is the result of something that an op of this very run waits for. It is deleted when it is consumed. */
export function isResult(kind: MessageKind): boolean {
  return isTaskResult(kind) || isRunEnd(kind) || isReply(kind) || kind === "lock_granted";
}

/**
 * Whether a person has said what the run is to do: then it must not be parked before it has read that, because the message may
 * say that it is to go on.
 */
export function isOrder(kind: MessageKind): boolean {
  return kind === "cancel" || kind === "pause" || kind === "resume";
}

/**
 * Something from outside for a run. Anyone may write to the inbox; only the holder of the run moves messages into history.
 */
export interface Message {
  readonly runId: string;
  /** 1, 2, 3… per run, in the order of delivery. */
  readonly number: number;
  readonly kind: MessageKind;
  /** Signal name; the reason of a cancel, a pause, a resume or a note; empty for kinds that need none. */
  readonly name: string;
  /** Made by the sender: the same id delivered twice is one message. */
  readonly messageId: string;
  readonly payload: Payload;
  /** Store time of the delivery. */
  readonly at: number;
}

/** Which op of which run gets the answer to an update. */
export interface ReplyAddress {
  readonly namespace: string;
  readonly runId: string;
  readonly op: string;
}

const NO_MESSAGES: readonly Message[] = [];

/** Finds the messages of a run among those of many, in order. */
export function messagesByRun(messages: readonly Message[]): (runId: string) => readonly Message[] {
  if (messages.length === 0) return () => NO_MESSAGES;
  const byRun = new Map<string, Message[]>();
  for (const message of messages) {
    const earlier = byRun.get(message.runId);
    if (earlier) earlier.push(message);
    else byRun.set(message.runId, [message]);
  }
  return (runId) => byRun.get(runId) ?? NO_MESSAGES;
}
