import { eventRole } from "../../model/event.ts";
import type { Message } from "../../model/message.ts";
import type { Run } from "../../model/run.ts";
import { appended, NONE } from "../../model/short-list.ts";
import type { RunCommit } from "../../ports/store.ts";
import type { Machine } from "../../replay/machine.ts";
import { missedDeadline } from "./due-times.ts";
import { type Look, looksAfter, missedLook, withLook } from "./looks.ts";
import { isResultDraft, messageDraft, type QueuedDraft } from "./message-draft.ts";
import { hasEnded } from "./run-end.ts";
import { partDrafts, standsStill } from "./standstill.ts";
import { type RefusedUpdate, refusedIn } from "./updates.ts";

/** Delivered drafts are given up in blocks of so many, and whenever nothing is left. */
const TAKEN_MAX = 256;

/**
 * What has happened to one run and has not been delivered to its code yet: results, timers, messages, in order of arrival.
 */
export class DeliveryQueue {
  #drafts: QueuedDraft[] = [];
  /** How many of them have been delivered: `shift` would move all others, and a run with a thousand children has as many. */
  #taken = 0;
  /** What waits until the run has regained its locks. It comes before the others. */
  #withheld: readonly QueuedDraft[] = NONE;
  /** The number of the last message delivered, and of the last one taken in. */
  #consumed: number;
  #queuedMessages: number;
  /** The numbers of consumed results: their messages go with the next commit. */
  #results: readonly number[] = NONE;
  /** Answers to updates that were refused: they go with the next commit. */
  #refused: readonly RefusedUpdate[] = NONE;
  #deferred = false;
  /** Looks that are not durable yet. */
  #looks: readonly Look[] = NONE;
  /** What came since the first of them for ops that the code no longer waited for. */
  #unheard: readonly QueuedDraft[] = NONE;

  constructor(consumed: number) {
    this.#consumed = consumed;
    this.#queuedMessages = consumed;
  }

  get length(): number {
    return this.#drafts.length - this.#taken;
  }

  /** All that are left. */
  #left(): QueuedDraft[] {
    if (this.#taken > 0) this.#keep(this.#drafts.slice(this.#taken));
    return this.#drafts;
  }

  #keep(drafts: QueuedDraft[]): void {
    this.#drafts = drafts;
    this.#taken = 0;
  }

  #shift(): QueuedDraft | undefined {
    const draft = this.#drafts[this.#taken];
    if (!draft) return undefined;
    this.#taken += 1;
    if (this.#taken === this.#drafts.length) this.#keep([]);
    else if (this.#taken === TAKEN_MAX) this.#keep(this.#drafts.slice(TAKEN_MAX));
    return draft;
  }

  /** Whether something waits for a lock to be regained. */
  get withholds(): boolean {
    return this.#withheld.length > 0;
  }

  get consumed(): number {
    return this.#consumed;
  }

  get queuedMessages(): number {
    return this.#queuedMessages;
  }

  push(draft: QueuedDraft): void {
    this.#drafts = appended(this.#drafts, draft);
  }

  /** Takes in the next messages; returns whether there were any. */
  take(messages: readonly Message[]): boolean {
    if (this.#deferred) return false;
    const before = this.#queuedMessages;
    for (const message of messages) {
      if (message.number !== this.#queuedMessages + 1) continue;
      this.#queuedMessages = message.number;
      this.push(messageDraft(message));
    }
    return this.#queuedMessages > before;
  }

  /** The next event for this machine, which receives it at once; undefined if there is none. */
  next(machine: Machine): QueuedDraft | undefined {
    // Anything that arrives for a run that continues as new is for its successor: the store hands on what is not consumed.
    if (machine.outcome?.type === "continued") this.#keep([]);
    if (this.withholds || standsStill(machine)) this.#part(machine);
    if (machine.outcome?.type === "retried" && this.#drafts[this.#taken]?.type === "update_accepted") this.#defer();
    const draft = this.#shift();
    if (!draft) return undefined;
    if (draft.number !== undefined) {
      this.#consumed = draft.number;
      if (isResultDraft(draft)) this.#results = appended(this.#results, draft.number);
    } else if (draft.op !== null && !machine.op(draft.op)) {
      if (this.hasLooks && draft.taskSeq === undefined) this.#unheard = appended(this.#unheard, draft);
    } else if (!machine.outcome && draft.type !== "deadline_reached" && eventRole(draft.type) !== "note")
      this.#looks = withLook(this.#looks, machine, this.#consumed);
    return draft;
  }

  #part(machine: Machine): void {
    const all = [...this.#withheld, ...this.#left()];
    const { passing, withheld } = standsStill(machine) ? partDrafts(all) : { passing: all, withheld: NONE };
    this.#keep(passing);
    this.#withheld = withheld;
  }

  /** Whether messages are left in the inbox for the next try of the run. */
  get deferred(): boolean {
    return this.#deferred;
  }

  /** Only code that runs can decide about an update: it is left for the next try, and so is every message behind it. */
  #defer(): void {
    this.#deferred = true;
    this.#keep(this.#left().filter(({ number }) => number === undefined));
    this.#queuedMessages = this.#consumed;
  }

  /** What ends the run without calling its code: a cancel, or a deadline that passed before the code could begin. */
  endUnstarted(run: Run, begun: boolean): QueuedDraft | undefined {
    // A cancel ends the run this way only if no worker ever held it: otherwise there may be something to clean up.
    const drafts = this.#left();
    const place = wasNeverHeld(run) ? drafts.findIndex(({ type }) => type === "cancel_requested") : -1;
    const cancel = drafts[place];
    if (!cancel && (begun || !missedDeadline(run))) return undefined;
    const draft: QueuedDraft = cancel ?? { type: "deadline_reached", op: null };
    const end: QueuedDraft = { ...draft, meta: { ...draft.meta, neverCalled: true } };
    if (cancel) drafts[place] = end;
    else this.push(end);
    return end;
  }

  /** Whether a look that found no signal can still be taken back. */
  get hasLooks(): boolean {
    return this.#looks.length > 0;
  }

  /** Whether what the code has done since a look can still be taken back: its end would be the reason. */
  mayTakeBack({ outcome }: Machine): boolean {
    return this.hasLooks && (outcome === undefined || hasEnded(outcome));
  }

  /** Where the run must continue from, if not from where it is: before a look that has missed a queued signal, or with a new machine. */
  pointToResume(machine: Machine): Look | undefined {
    if (hasEnded(machine.outcome)) return missedLook(this.#looks, this.#left());
    if (!machine.spoiled || machine.outcome) return undefined;
    return { seq: machine.nextSeq, consumed: this.#consumed, names: NONE };
  }

  /** Everything up to here is in the store. */
  durable(seq: number): void {
    this.#looks = looksAfter(this.#looks, seq);
    if (this.#looks.length === 0) this.#unheard = NONE;
  }

  /** The results among the messages up to that number. */
  takeResults(consumed: number): readonly number[] {
    if (this.#results.length === 0) return NONE;
    const taken = this.#results.filter((number) => number <= consumed);
    this.#results = this.#results.filter((number) => number > consumed);
    return taken;
  }

  /** The commit was not written. */
  putBack({ results = NONE, replies = NONE }: Pick<RunCommit, "results" | "replies">): void {
    this.#results = [...results, ...this.#results];
    this.#refused = [...refusedIn(replies), ...this.#refused];
  }

  refuse(update: RefusedUpdate): void {
    this.#refused = appended(this.#refused, update);
  }

  get hasRefused(): boolean {
    return this.#refused.length > 0;
  }

  /** The refused updates among the messages up to that number. */
  takeRefused(consumed: number): readonly RefusedUpdate[] {
    if (this.#refused.length === 0) return NONE;
    const taken = this.#refused.filter(({ number }) => number <= consumed);
    this.#refused = this.#refused.filter(({ number }) => number > consumed);
    return taken;
  }

  takeBack(look: Look): void {
    this.#looks = this.#looks.filter((other) => other.seq < look.seq);
  }

  /**
   * Empties the queue. Messages after the given number are taken in again, and timers fire again. Returns the rest: step results
   * that the code has not seen.
   */
  restart(consumed: number): readonly QueuedDraft[] {
    const unseen = [...this.#unheard, ...this.#withheld, ...this.#left()].filter(isStepResult);
    this.#keep([]);
    this.#withheld = NONE;
    this.#unheard = NONE;
    this.#consumed = consumed;
    this.#queuedMessages = consumed;
    this.#forgetAfter(consumed);
    return unseen;
  }

  /** Messages after the given number did not become durable: they are still in the inbox. */
  unconsume(consumed: number): void {
    this.#consumed = consumed;
    this.#forgetAfter(consumed);
  }

  #forgetAfter(consumed: number): void {
    this.#results = this.#results.filter((number) => number <= consumed);
    this.#refused = this.#refused.filter(({ number }) => number <= consumed);
  }
}

/** Before this claim. What the store has recorded until then is that the run was parked and resumed: each raised the epoch. */
function wasNeverHeld({ epoch, commit, eventCount }: Run): boolean {
  return commit === 0 && epoch === eventCount + 1;
}

/** What an attempt here has come to. A result message is in the inbox as well. */
function isStepResult({ type, number, taskSeq }: QueuedDraft): boolean {
  return number === undefined && (taskSeq !== undefined || type.startsWith("step_"));
}
