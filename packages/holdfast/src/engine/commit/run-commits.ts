import type { HistoryEvent } from "../../model/event.ts";
import type { Run } from "../../model/run.ts";
import { NONE } from "../../model/short-list.ts";
import type { NewReply, RunCommit, Transition } from "../../ports/store.ts";
import type { Machine } from "../../replay/machine.ts";
import type { RefusedUpdate } from "../execute/updates.ts";
import { repliesOf } from "./replies.ts";

/** The messages that have become events, as far as commits need to know. */
interface ConsumedMessages {
  readonly consumed: number;
  /** The results among the messages up to that number. */
  takeResults(consumed: number): readonly number[];
  readonly hasRefused: boolean;
  /** The updates among them that were refused. */
  takeRefused(consumed: number): readonly RefusedUpdate[];
}

/** What a commit does about the tasks and the children of its run. */
export type GatheredWork = Required<
  Pick<RunCommit, "tasks" | "settled" | "dropTasks" | "results" | "closes" | "locks" | "unlocks">
>;

/** What a commit with these events does about them. */
interface Outside {
  gather(events: readonly HistoryEvent[], transition: Transition, results: readonly number[]): GatheredWork;
}

const NOTHING: GatheredWork = {
  tasks: NONE,
  settled: NONE,
  dropTasks: false,
  results: NONE,
  closes: NONE,
  locks: NONE,
  unlocks: NONE,
};

/** How much of one live run is durable, and its commit in flight. */
export class RunCommits {
  #commit: number;
  #durableSeq: number;
  #durableConsumed: number;
  #inFlight: RunCommit | undefined;
  #eventsThisHold = 0;
  /** A commit of this hold has changed the row: nothing is left in it that progress clears, and it says that the code has begun. */
  #rowTold = false;

  constructor({ commit, eventCount, consumed }: Run) {
    this.#commit = commit;
    this.#durableSeq = eventCount;
    this.#durableConsumed = consumed;
  }

  get writing(): boolean {
    return this.#inFlight !== undefined;
  }

  get durableSeq(): number {
    return this.#durableSeq;
  }

  get durableConsumed(): number {
    return this.#durableConsumed;
  }

  /** How many events were handed out since the run was claimed. */
  get eventsThisHold(): number {
    return this.#eventsThisHold;
  }

  /** Whether the row is unchanged since our last write. */
  matches(run: Run): boolean {
    return run.commit === this.#commit;
  }

  beginHold(): void {
    this.#eventsThisHold = 0;
    this.#rowTold = false;
  }

  /** Takes what the machine has to write; undefined if nothing. */
  take(
    run: Run,
    machine: Machine,
    queue: ConsumedMessages,
    transition: Transition,
    outside: Outside,
  ): RunCommit | undefined {
    const events = machine.divergence ? NONE : machine.takeFresh();
    const set = machine.takeFreshAttributes();
    const attributes = set && { ...run.attributes, ...set };
    if (events.length === 0 && !attributes && transition.type === "hold" && !queue.hasRefused) return undefined;
    // Messages whose events are not written are still in the inbox.
    const consumed = machine.divergence ? this.#durableConsumed : queue.consumed;
    // A machine that is still to repeat what is put back does not know its tasks yet.
    const mayHave = machine.hasTasks || machine.hasCalls || machine.locks.any || machine.replaying;
    const gathered = mayHave ? outside.gather(events, transition, queue.takeResults(consumed)) : NOTHING;
    const mayReply = machine.hasHandlers || machine.replaying || queue.hasRefused;
    const replies = mayReply ? repliesOf(events, queue.takeRefused(consumed)) : NONE;
    const plain = replies.length === 0 && gathered.locks.length === 0 && gathered.unlocks.length === 0;
    const clearDeadline = machine.cancelCause !== undefined || machine.compensating;
    const changesRow = !this.#rowTold || consumed !== this.#durableConsumed || attributes !== null || clearDeadline;
    const appends = events.length > 0 && transition.type === "hold" && !changesRow && plain && isNothing(gathered);
    const commit: RunCommit = {
      namespace: run.namespace,
      runId: run.runId,
      // Not the worker's current id: a worker that was declared dead registers under a new id, which does not hold this run.
      workerId: run.heldBy as string,
      epoch: run.epoch,
      commit: this.#commit,
      events,
      eventCount: events.at(-1)?.seq ?? this.#durableSeq,
      consumed,
      attributes,
      clearDeadline,
      tasks: gathered.tasks,
      settled: gathered.settled,
      dropTasks: gathered.dropTasks,
      results: gathered.results,
      closes: gathered.closes,
      transition: appends ? APPEND : transition,
    };
    this.#inFlight = plain ? commit : withMore(commit, replies, gathered);
    this.#eventsThisHold += events.length;
    return this.#inFlight;
  }

  /** The store has answered: returns the commit that was in flight, if any. */
  answered(): RunCommit | undefined {
    const flight = this.#inFlight;
    this.#inFlight = undefined;
    return flight;
  }

  written({ events, eventCount, consumed, transition }: RunCommit): void {
    if (transition.type !== "append") this.#commit += 1;
    if (events.length > 0) this.#rowTold = true;
    this.#durableSeq = eventCount;
    this.#durableConsumed = consumed;
  }

  /** Events that are not known to be in the store, in order. */
  unwritten(machine: Machine): readonly HistoryEvent[] {
    return [...(this.#inFlight?.events ?? NONE), ...machine.fresh];
  }
}

const APPEND: Transition = { type: "append" };

/** A run that is compensating has no deadline any more, so its commits are no appends, and none changes the status. */
function isNothing({ tasks, settled, dropTasks, results, closes }: GatheredWork): boolean {
  return !dropTasks && tasks.length + settled.length + results.length + closes.length === 0;
}

/** What few commits have. */
function withMore(commit: RunCommit, replies: readonly NewReply[], { locks, unlocks }: GatheredWork): RunCommit {
  return {
    ...commit,
    ...(replies.length > 0 ? { replies } : {}),
    ...(locks.length > 0 ? { locks } : {}),
    ...(unlocks.length > 0 ? { unlocks } : {}),
  };
}
