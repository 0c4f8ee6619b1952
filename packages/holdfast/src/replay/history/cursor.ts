import {
  type EventDraft,
  type EventMeta,
  type EventType,
  eventRole,
  type HistoryEvent,
  isFailure,
  isLenient,
} from "../../model/event.ts";
import { COMPENSATE_PREFIX, RECEIVE_PREFIX, UNTIL_PREFIX } from "../../model/ids.ts";
import { endsPause, isOperatorNote } from "../../model/operator-notes.ts";
import { appended, NONE } from "../../model/short-list.ts";

/** A position in a recorded history. Events before it have been delivered, consumed or noted. */
export class Cursor {
  readonly #events: readonly HistoryEvent[];
  /** Failures that a retry of the run has taken back, by seq; and what was recorded because of them, up to the retry. */
  #forgotten: Set<number> | undefined;
  #loose: readonly { readonly from: number; readonly to: number }[] = NONE;
  /** Commands that were taken before the cursor came to them, by seq. */
  #taken: Set<number> | undefined;
  /**
   * Timers of receives that were passed before the code asked for them, by op. They do not bind: what else the code may do must
   * not depend on whether it waits with a timeout.
   */
  #aside: Map<string, HistoryEvent> | undefined;
  #anew = false;
  #position = 0;
  /** Behind the last event that is not an operator's note: those are about the run, and nothing that its code does depends on them. */
  readonly #end: number;
  /** Behind the last event that binds. */
  readonly #bindingEnd: number;
  /** The request for a pause that nothing has answered yet. */
  readonly pausing: EventMeta | undefined;
  /** Where the history of another run ends that this one began with: it may have several, if that run was a fork as well. */
  readonly forks: readonly HistoryEvent[] = NONE;
  readonly #onFork: (fork: HistoryEvent) => void;

  /** The last turn of the copied history, 0 for the first of all, if nothing follows the fork: the cut may fall into it. */
  readonly cutTurn: number | undefined;

  /** `onFork`: called when the cursor passes a fork while the code gives a command. Others are returned by `next`. */
  constructor(events: readonly HistoryEvent[], onFork: (fork: HistoryEvent) => void) {
    this.#events = events;
    this.#onFork = onFork;
    this.#end = events.findLastIndex((event) => !isOperatorNote(event)) + 1;
    this.#bindingEnd = events.findLastIndex(binds) + 1;
    for (const event of events) {
      if (event.type === "run_retried") this.#forget(event);
      if (event.type === "run_forked") this.forks = appended(this.forks, event);
      if (event.type === "pause_requested") this.pausing = event.meta ?? {};
      else if (endsPause(event)) this.pausing = undefined;
    }
    if (events[this.#end - 1]?.type === "run_forked")
      this.cutTurn = events.findLast(({ type }) => eventRole(type) === "delivered")?.seq ?? 0;
  }

  /** This failure was taken back: the op is still to be done. */
  isForgotten(event: HistoryEvent): boolean {
    return this.#forgotten?.has(event.seq) ?? false;
  }

  /**
   * Recorded between a failure that was taken back and the retry: it need not fit what the code does now. Says since which
   * event; what was asked for before it is the same op in both, what was asked for later need not be.
   */
  looseSince(event: HistoryEvent): number | undefined {
    if (this.#loose.length === 0) return undefined;
    return this.#loose.find(({ from, to }) => event.seq > from && event.seq < to)?.from;
  }

  /** Whether a compensation is still to come: the run was given up at some point, and not tried again. */
  compensates(): boolean {
    return this.remaining().some((event) => event.op?.startsWith(COMPENSATE_PREFIX));
  }

  /** How often the run was tried again by itself since a person last did so. */
  retries(): number {
    let retries = 0;
    for (const { type, meta } of this.#events)
      if (type === "run_retried") retries = meta?.attempt === undefined ? 0 : retries + 1;
    return retries;
  }

  /** The outcome of a step that this code has never asked for: other code has done it, and this code would do it again. */
  isStray({ op, meta }: EventDraft, asked: { wasAsked(op: string): boolean }): boolean {
    const retried = this.#events.some(({ type }) => type === "run_retried");
    return !retried && op !== null && meta?.messageId !== undefined && !asked.wasAsked(op);
  }

  /** Whether the op has begun in a try that was taken back for another reason than its own failure. */
  hasBegun(op: string): boolean {
    if (this.#loose.length === 0) return false;
    const begun = this.#events.findLast(({ type, op: other }) => type === "step_started" && other === op);
    if (!begun || this.looseSince(begun) === undefined) return false;
    return !this.#events.some(({ seq, meta }) => seq > begun.seq && meta?.forgets?.includes(op));
  }

  /**
   * Whether the compensation has succeeded behind the failure of another one that was taken back. That counts: they are asked for
   * in one order, whatever becomes of each. Not if it was done again after the retry: then that is the one to replay.
   */
  isUndone(op: string): boolean {
    if (this.#loose.length === 0) return false;
    const last = this.#events.findLast((event) => event.op === op);
    return last?.type === "step_completed" && this.looseSince(last) !== undefined;
  }

  /** Whether some recorded attempt of the op may have begun. A start counts, unless its end says that it never began. */
  mayHaveBegun(op: string): boolean {
    let started = false;
    const since = this.forks.at(-1)?.seq ?? 0;
    for (const event of this.#events) {
      if (event.op !== op || event.seq < since) continue;
      if (event.type === "step_started") started = true;
      else if (event.type === "step_failed" && event.meta?.neverBegan) started = false;
      else if (event.type.startsWith("step_")) return true;
    }
    return started;
  }

  #forget(retry: HistoryEvent): void {
    for (const op of retry.meta?.forgets ?? []) {
      const failed = (event: HistoryEvent): boolean => event.seq < retry.seq && isFailure(event) && event.op === op;
      const failure = this.#events.findLast((event) => failed(event) && !this.isForgotten(event));
      if (!failure) continue;
      this.#forgotten ??= new Set();
      this.#forgotten.add(failure.seq);
      this.#loose = appended(this.#loose, { from: failure.seq, to: retry.seq });
    }
  }

  /** Whether recorded events are still to come. */
  get replaying(): boolean {
    return this.#position < this.#end;
  }

  /** Whether what the code does now has been done before: events are still to come that bind it. */
  get repeating(): boolean {
    return this.#position < this.#bindingEnd;
  }

  peek(): HistoryEvent | undefined {
    this.#skipNotes();
    return this.#events[this.#position];
  }

  next(): HistoryEvent | undefined {
    this.#skipNotes();
    return this.#events[this.#position++];
  }

  #skipNotes(): void {
    for (let event = this.#events[this.#position]; event && isOperatorNote(event); event = this.#events[this.#position])
      this.#position += 1;
  }

  remaining(): readonly HistoryEvent[] {
    return this.#events.slice(this.#position);
  }

  all(): readonly HistoryEvent[] {
    return this.#events;
  }

  /**
   * Takes the command that the code has just given, if it was recorded in this turn. Commands stand right behind the event
   * of their turn, in the order in which they were given; lenient ones that the code no longer gives are passed over.
   */
  takeCommand(type: EventType, op: string | null, skip: (event: HistoryEvent) => boolean): HistoryEvent | undefined {
    for (let i = this.#position; i < this.#events.length; i++) {
      const event = this.#events[i] as HistoryEvent;
      if (this.isTaken(event) || isOperatorNote(event) || event.type === "run_forked") continue;
      if (event.type === type && event.op === op) {
        for (let j = this.#position; j < i; j++) this.#leave(this.#events[j] as HistoryEvent);
        this.#position = i + 1;
        return event;
      }
      const passable =
        isLenient(event.type) || isReceiveTimer(event) || this.looseSince(event) !== undefined || skip(event);
      if (eventRole(event.type) !== "command" || !passable) return undefined;
    }
    return undefined;
  }

  /**
   * Takes a command that was recorded in a later turn: code that no longer waits for a retired op gives it earlier, and so does
   * a turn that was not taken before the run was tried again (`loosely`), or code that has come to wait with a timeout since.
   * Anywhere else it would hide a divergence.
   */
  takeAhead(
    { type, op, meta }: EventDraft,
    loosely: boolean,
    isRetired: (op: string | null) => boolean,
  ): HistoryEvent | undefined {
    const ahead = this.remaining();
    const event = ahead.find(
      (other) => other.type === type && other.op === op && other.meta?.from === meta?.from && !this.isTaken(other),
    );
    if (!event) return undefined;
    if (!loosely && !ahead.some((other) => other.seq < event.seq && isRetired(other.op))) return undefined;
    this.#taken ??= new Set();
    this.#taken.add(event.seq);
    return event;
  }

  /**
   * The code goes on without an op of which this turn's record knows nothing; whether nobody has written that down yet. An op whose
   * end is recorded was not in flight: what was done behind it is recorded too.
   */
  goOnWithout(op: string): boolean {
    const own = this.remaining().filter((event) => event.op === op);
    if (own.some(({ type }) => type === "op_retired" || type === "side_effect" || isEnd(type))) return false;
    this.#anew = true;
    return true;
  }

  /** Whether the code does in this turn what was never done before, because it does not wait for an op that was in flight. */
  get anew(): boolean {
    return this.#anew && this.repeating;
  }

  isTaken(event: HistoryEvent): boolean {
    return this.#taken?.has(event.seq) ?? false;
  }

  /** Keeps the timer of a receive for later; false for any other event. */
  setAside(event: HistoryEvent): boolean {
    if (!isReceiveTimer(event) || this.isTaken(event) || this.looseSince(event) !== undefined) return false;
    this.#aside ??= new Map();
    this.#aside.set(event.op as string, event);
    return true;
  }

  /** The code does something new, behind what binds it. */
  leaveRest(): void {
    for (; this.#position < this.#events.length; this.#position++)
      this.#leave(this.#events[this.#position] as HistoryEvent);
  }

  #leave(event: HistoryEvent): void {
    if (event.type === "run_forked") this.#onFork(event);
    else this.setAside(event);
  }

  /** The timer of the receive that the code asks for only now, or that its signal has come for. */
  takeAside(op: string): HistoryEvent | undefined {
    const event = this.#aside?.get(op);
    this.#aside?.delete(op);
    return event;
  }
}

/** A child that has begun is in flight. */
function isEnd(type: EventType): boolean {
  return eventRole(type) === "delivered" && type !== "child_started";
}

/** What the code did before a fork binds it, and the fork itself does not: a cut may fall among the commands of a turn. */
function binds(event: HistoryEvent): boolean {
  return !isReceiveTimer(event) && !isOperatorNote(event) && event.type !== "run_forked";
}

function isReceiveTimer({ type, op }: HistoryEvent): boolean {
  if (type !== "timer_created" || op === null) return false;
  return op.startsWith(RECEIVE_PREFIX) || op.startsWith(UNTIL_PREFIX);
}
