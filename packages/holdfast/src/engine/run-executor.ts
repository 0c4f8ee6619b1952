/**
 * The run executor: one live run on one worker. It drives the run machine, starts what the code asks for, and tells the
 * committer what to write.
 *
 * Invariants
 *  E1. An effect starts only when every event that the code had seen when it asked is durable (op.gate ≤ durableSeq), the
 *      lease is active, and nothing is left to deliver. The code itself runs ahead of the store.
 *  E2. What happens to the run (results, timers, messages) goes through one queue and gets its seq when it is delivered.
 *  E3. A commit is handed out once, and the next only after its answer (committer C1). `lost` drops the run at once.
 *  E4. The run is let go of only when nothing of it runs here, and the store agrees that no message is left.
 *  E5. What the code has ended with becomes durable together with the end, or not at all. When the store knows of a signal that
 *      the code was waiting for (a look in vain, looks.ts), the turns from that look on are taken back and taken again behind it.
 */
import { HoldfastError, isHoldfastError } from "../errors/holdfast-error.ts";
import { describeValue } from "../errors/safe-read.ts";
import type { ErrorRecord } from "../model/error-record.ts";
import { eventRole, type HistoryEvent } from "../model/event.ts";
import type { Message } from "../model/message.ts";
import type { Run } from "../model/run.ts";
import { appended, NONE } from "../model/short-list.ts";
import type { Timer } from "../ports/clock.ts";
import type { CommitOutcome, RunCommit, Transition } from "../ports/store.ts";
import type { Op } from "../replay/op.ts";
import { explainDivergence } from "../replay/replayer.ts";
import { RunMachine } from "../replay/run-machine.ts";
import type { TurnTaker } from "../replay/turn-loop.ts";
import type { Committable } from "./committer.ts";
import { dueEvents, nextDueAt } from "./due-times.ts";
import type { ExecutorHost } from "./executor-host.ts";
import { type Look, looksAfter, missedLook, withLook } from "./looks.ts";
import { isOutcome, messageDraft, ownOutcomes, type QueuedDraft, withAttempt } from "./message-draft.ts";
import { attributesIn, readBack, takeBack } from "./read-back.ts";
import { endTransition, retryTransition, suspension } from "./run-end.ts";
import { StepBoard } from "./step-board.ts";
import type { Fence } from "./transaction.ts";
import type { WorkflowCode } from "./workflow-registry.ts";

/** How many times a run postpones its end for messages that have just come in and that its code does not look for. */
const ENDS_REFUSED_MAX = 3;
const HOLD_RUNNING: Transition = { type: "hold", status: "running" };
const HOLD_COMPENSATING: Transition = { type: "hold", status: "compensating" };

export class RunExecutor implements TurnTaker, Committable {
  readonly runId: string;
  /** Another one when the code's last turns are taken back. */
  machine: RunMachine;
  run: Run;
  /** Where the run stands with this worker; `gone` is final. */
  state: "held" | "suspended" | "gone" = "held";
  inLine = false;
  readonly #host: ExecutorHost;
  readonly #code: WorkflowCode;
  readonly #steps: StepBoard;
  #queue: QueuedDraft[] = [];
  #commit: number;
  #consumed: number;
  #durableConsumed: number;
  #queuedMessages: number;
  #durableSeq: number;
  #eventsThisHold = 0;
  #inFlight: RunCommit | undefined;
  #end: Transition | undefined;
  #parkError: ErrorRecord | undefined;
  #wake: Timer | undefined;
  #explaining = false;
  #endsRefused = 0;
  /** Those that are not durable. */
  #looks: readonly Look[] = NONE;
  /** Whether its code's last turns were taken back. */
  #rewound: "reading" | "done" | undefined;
  /** Its durable history, once that was needed: it may be needed again. */
  #durable: HistoryEvent[] | undefined;
  #retry: Transition | undefined;

  constructor(
    host: ExecutorHost,
    code: WorkflowCode,
    run: Run,
    history: readonly HistoryEvent[],
    messages: readonly Message[],
  ) {
    this.#host = host;
    this.run = run;
    this.runId = run.runId;
    this.#commit = run.commit;
    this.#consumed = run.consumed;
    this.#durableConsumed = run.consumed;
    this.#queuedMessages = run.consumed;
    this.#durableSeq = run.eventCount;
    this.#code = code;
    this.machine = this.#machineFor(history);
    this.machine.patches.outcomesAhead = ownOutcomes(messages);
    this.#steps = new StepBoard(host, this.machine, this);
    this.takeMessages(messages);
    host.loop.ready(this);
  }

  #machineFor(history: readonly HistoryEvent[]): RunMachine {
    const { codec, log, record, opsMax, failForgotten } = this.#host;
    const { body, retryRun } = this.#code;
    const { run } = this;
    return new RunMachine({ run, body, retryRun, codec, log, record, history, opsMax, failForgotten, driver: this });
  }

  /** Whether the claimed row is the one this executor let go of, with nothing written to it since. */
  matches(run: Run): boolean {
    return this.state === "suspended" && run.epoch === this.run.epoch + 1 && run.commit === this.#commit;
  }

  /** The run was claimed again and nobody else had it in between: it goes on from memory. */
  reactivate(run: Run, messages: readonly Message[]): void {
    this.run = run;
    this.state = "held";
    this.#eventsThisHold = 0;
    this.takeMessages(messages);
    this.#host.loop.ready(this);
  }

  takeMessages(messages: readonly Message[]): void {
    if (this.state !== "held") return;
    for (const message of messages) {
      if (message.number !== this.#queuedMessages + 1) continue;
      this.#queuedMessages = message.number;
      this.push(messageDraft(message));
    }
  }

  /** The store has more messages than have been taken in. */
  isBehind(delivered: number): boolean {
    return this.state === "held" && delivered > this.#queuedMessages && !this.#lettingGo();
  }

  /** Whether it has had its run under this epoch until now, and is not letting it go. */
  keeps(epoch: number): boolean {
    return this.state === "held" && this.run.epoch === epoch && !this.#lettingGo();
  }

  get writing(): boolean {
    return this.#inFlight !== undefined;
  }

  get queuedMessages(): number {
    return this.#queuedMessages;
  }

  /** Something outside has changed (the lease is back, the worker drains): see what can be done. */
  poke(): void {
    if (this.state === "held") this.#host.loop.ready(this);
  }

  /** Memory is needed for others; the run itself is suspended and loses nothing. */
  evict(): void {
    this.state = "gone";
  }

  /** The run belongs to somebody else now: everything that was going on here is stopped and forgotten. */
  drop(): void {
    if (this.state === "gone") return;
    this.state = "gone";
    const error = new HoldfastError("lease_lost", `This worker no longer holds run ${this.runId}.`);
    this.#steps.discardAll(error);
    this.#wake?.cancel();
    this.#host.committer.forget(this);
    this.#host.left(this, { how: "lost" });
  }

  // Turns -------------------------------------------------------------------------------------------------------------

  openTurn(): boolean {
    // While the run is being let go of, nothing may be added to it: the store decides whether it stays.
    if (this.state !== "held" || this.#parkError || this.#explaining || this.#rewound === "reading") return false;
    if (this.#lettingGo()) return false;
    try {
      return this.#openNext();
    } catch (error) {
      if (isHoldfastError(error, "invariant_broken")) throw error;
      // Stored bytes that cannot be read. Neither the worker nor its other runs may suffer for it.
      this.machine.close();
      this.#park(
        isHoldfastError(error) ? error : new HoldfastError("codec_failed", describeValue(error), { cause: error }),
      );
      return false;
    }
  }

  #openNext(): boolean {
    const { machine } = this;
    if (!machine.started) {
      // Only a run that nobody has ever held: one that was may have done something that wants cleaning up.
      const untouched = this.run.epoch === 1 && !machine.replaying && !this.#rewound;
      const cancel = untouched ? this.#queue.find(({ type }) => type === "cancel_requested") : undefined;
      if (!cancel) {
        machine.start();
        return true;
      }
      machine.cancelUnstarted(cancel);
    }
    if (machine.replaying && machine.replayNext()) return true;
    this.#steps.adopt();
    const missed = this.#hasEnded() ? missedLook(this.#looks, this.#queue) : undefined;
    if (missed) {
      // What is on its way to the store may become durable, and then it stays.
      if (!this.#inFlight) void this.#rewind(missed);
      return false;
    }
    const now = this.#host.storeTime.now();
    while (!machine.divergence && this.#queue.length > 0) {
      const draft = this.#queue.shift() as QueuedDraft;
      // Whatever comes for a run that continues as new is for its successor: the store hands on what is not consumed.
      if (machine.outcome?.type === "continued") continue;
      if (draft.number !== undefined) this.#consumed = draft.number;
      if (isOutcome(draft)) machine.patches.outcomesAhead?.delete(draft.op as string);
      const isLook = draft.number === undefined && draft.type !== "deadline_reached" && !machine.outcome;
      if (eventRole(draft.type) === "note") {
        machine.note(draft, now);
        continue;
      }
      if (isLook) this.#looks = withLook(this.#looks, machine.signals, machine.nextSeq, this.#consumed);
      if (machine.deliverLive(withAttempt(draft, machine.ops), now)) return true;
    }
    if (machine.divergence) this.#parkDivergence();
    else this.#settle();
    return false;
  }

  closeTurn(): void {
    const { machine } = this;
    machine.close();
    if (this.state !== "held") return;
    if (machine.divergence) return this.#parkDivergence();
    if (machine.violation) return this.#park(machine.violation);
    this.#steps.takeAsked();
    if (machine.replaying || this.#queue.length > 0) this.#host.loop.ready(this);
    else this.#settle();
  }

  /** Everything has been delivered: do what the code wants, and see to it that it is written. */
  #settle(): void {
    const { machine } = this;
    if (machine.inTurn || machine.replaying || this.#queue.length > 0 || this.state !== "held") return;
    if (machine.divergence || this.#parkError) return;
    // While the end may still be taken back, so may be the need to stop anything.
    if (!this.#hasEnded() || this.#looks.length === 0) this.#steps.stopWithdrawn();
    // Code that is told of its abort may do something for which the run is parked.
    if (this.#queue.length > 0 || this.#parkError) return;
    if (!machine.outcome) {
      for (const event of dueEvents(machine, this.run, this.#host.storeTime)) this.push(event);
      if (this.#queue.length > 0) return;
      if (!machine.ops.waiting) {
        const message = `Workflow "${this.run.workflow}" is waiting for something that is not a ctx operation, or for nothing at all. Put outside work into ctx.step.`;
        return this.#park(new HoldfastError("foreign_await", message));
      }
      this.#steps.startDue();
    } else if (machine.outcome.type === "retried") this.#steps.startPrepared();
    if (this.#queue.length > 0) return;
    if (this.#inFlight) return;
    const transition = this.#transition();
    if (machine.fresh.length > 0 || machine.freshAttributes || transition.type !== "hold")
      this.#host.committer.request(this);
    this.#scheduleWake(transition);
  }

  push(draft: QueuedDraft): void {
    this.#queue = appended(this.#queue, draft);
    this.#host.loop.ready(this);
  }

  /** While the run is held, its timers are ours to watch; once it is suspended they are the store's. */
  #scheduleWake(transition: Transition): void {
    this.#wake?.cancel();
    this.#wake = undefined;
    if (transition.type !== "hold" || nextDueAt(this.machine, this.run, this.#steps.idle, 0) === null) return;
    const now = this.#host.storeTime.now();
    const dueAt = nextDueAt(this.machine, this.run, this.#steps.idle, now);
    if (dueAt !== null) this.#wake = this.#host.clock.setTimer(dueAt - now, () => this.poke());
  }

  /** Whether everything that the code had seen when it asked for the op is durable. */
  mayUse(op: Op): boolean {
    return op.gate <= this.#durableSeq;
  }

  /** Who may write to the run: this worker, under this epoch. */
  fence(): Fence {
    return { workerId: this.run.heldBy as string, runId: this.runId, epoch: this.run.epoch };
  }

  hasConsumed(message: Message): boolean {
    return message.number <= this.#consumed;
  }

  // Commits -------------------------------------------------------------------------------------------------------------

  takeCommit(): RunCommit | undefined {
    const { machine } = this;
    if (this.state !== "held" || this.#inFlight || this.#rewound === "reading") return undefined;
    // What the code has ended with is written together with the end, or not at all.
    if (this.#hasEnded() && this.#queue.length > 0 && !this.#parkError) return undefined;
    if (machine.inTurn)
      throw new HoldfastError("invariant_broken", `run ${this.runId} was gathered in the middle of a turn`);
    const transition = this.#transition();
    const events = machine.divergence ? NONE : machine.fresh;
    if (events === machine.fresh) machine.fresh = NONE;
    const attributes = machine.freshAttributes && { ...this.run.attributes, ...machine.freshAttributes };
    machine.freshAttributes = null;
    if (events.length === 0 && !attributes && transition.type === "hold") {
      // It was to be let go of when this was asked for, and something has become due since: that is to start here.
      this.poke();
      return undefined;
    }
    const commit: RunCommit = {
      runId: this.runId,
      epoch: this.run.epoch,
      commit: this.#commit,
      events,
      // Messages whose events are not written are still in the inbox.
      consumed: machine.divergence ? this.#durableConsumed : this.#consumed,
      attributes,
      clearDeadline: machine.cancelCause !== undefined || machine.compensating,
      transition,
    };
    this.#inFlight = commit;
    this.#eventsThisHold += events.length;
    return commit;
  }

  #transition(): Transition {
    const { machine } = this;
    const hold = machine.compensating ? HOLD_COMPENSATING : HOLD_RUNNING;
    if (this.#parkError) return { type: "park", error: this.#parkError };
    // Nothing in history says that the code was never called: what is written of such a run must be all of it.
    const neverCalled = machine.outcome?.type === "failed" && machine.outcome.neverCalled === true;
    if (machine.inTurn || machine.replaying || !machine.started || (this.#queue.length > 0 && !neverCalled))
      return hold;
    if (machine.outcome?.type === "retried") {
      if (this.#steps.running > 0 || this.#steps.hasPrepared()) return hold;
      this.#retry ??= retryTransition(machine, machine.outcome, this.#code, this.#host);
      return this.#retry;
    }
    if (machine.outcome) {
      this.#end ??= endTransition(machine, machine.outcome, this.run.attributes, this.#host);
      // Under a stream of messages that its code does not look for a run must still be able to end.
      const patient = (this.#looks.length > 0 || this.#endsRefused < ENDS_REFUSED_MAX) && !neverCalled;
      return this.#end.type === "end" ? { ...this.#end, unlessBehind: patient } : this.#end;
    }
    if (this.#steps.running > 0) return hold;
    if (this.#steps.hasStartable()) return this.#mayYield() ? { type: "release" } : hold;
    return suspension(machine, nextDueAt(machine, this.run, this.#steps.idle, 0));
  }

  /** No new attempt is to start here. */
  yielding(): boolean {
    return this.#host.draining() || this.#eventsThisHold >= this.#host.eventsPerHoldMax;
  }

  /** Whether it may be let go of for others' sake: not between the record of an attempt's start and the attempt. */
  #mayYield(): boolean {
    return this.yielding() && !this.#steps.hasPrepared();
  }

  #lettingGo(): boolean {
    return this.#inFlight !== undefined && this.#inFlight.transition.type !== "hold";
  }

  committed(outcome: CommitOutcome, messages: readonly Message[]): void {
    const flight = this.#inFlight;
    this.#inFlight = undefined;
    if (this.state !== "held" || !flight) return;
    if (outcome.outcome === "lost") return this.drop();
    if (outcome.outcome === "behind") return this.#behind(flight, outcome, messages);
    this.#commit += 1;
    const { events, consumed, attributes, transition } = flight;
    this.#durableSeq = events.at(-1)?.seq ?? this.#durableSeq;
    this.#durableConsumed = consumed;
    for (const event of this.#durable ? events : NONE) this.#durable?.push(event);
    this.#looks = looksAfter(this.#looks, this.#durableSeq);
    if (attributes) this.run = { ...this.run, attributes };
    if (events.length > 0) this.#host.progressed(this);
    if (transition.type !== "hold" && !outcome.held) return this.#leave(transition);
    this.takeMessages(messages);
    if (this.isBehind(outcome.delivered)) this.#host.inbox.pull(this);
    if (this.#parkError) this.#host.committer.request(this);
    else if (this.#queue.length > 0) this.#host.loop.ready(this);
    else this.#settle();
  }

  /** Messages have come before the end: nothing of it was written. */
  #behind(flight: RunCommit, { delivered }: CommitOutcome, messages: readonly Message[]): void {
    const { machine } = this;
    machine.fresh = [...flight.events];
    machine.freshAttributes = flight.attributes;
    this.#endsRefused += 1;
    this.takeMessages(messages);
    if (this.isBehind(delivered)) this.#host.inbox.pull(this);
    if (this.#parkError) this.#host.committer.request(this);
    else this.#host.loop.ready(this);
  }

  /** The code has come to an end that is not durable. Whatever comes for a run that continues as new is handed on. */
  #hasEnded(): boolean {
    const { outcome } = this.machine;
    return outcome?.type === "completed" || (outcome?.type === "failed" && !outcome.neverCalled);
  }

  /**
   * The code has ended, not knowing of a signal that the store had accepted by then. None of that is durable from its last look
   * on: these turns are taken back, and taken again with the signal before them. Results of steps are kept.
   */
  async #rewind(look: Look): Promise<void> {
    this.#rewound = "reading";
    this.#end = undefined;
    this.#queue = [];
    this.#consumed = look.consumed;
    this.#queuedMessages = look.consumed;
    const { kept, results } = takeBack(this.machine.fresh, look);
    const known = { runId: this.runId, eventCount: this.#durableSeq, history: this.#durable };
    try {
      const { history, messages } = await readBack(this.#host, known, look.consumed, () => this.state !== "held");
      if (this.state !== "held") return;
      this.#durable = history;
      this.machine = this.#machineFor([...history, ...kept]);
      this.machine.fresh = kept;
      this.machine.freshAttributes = attributesIn(kept);
      this.machine.patches.outcomesAhead = ownOutcomes(messages);
      this.#looks = this.#looks.filter((other) => other.seq < look.seq);
      this.#steps.rebase(this.machine);
      this.#rewound = "done";
      this.takeMessages(messages);
      for (const result of results) this.push(result);
      this.#host.loop.ready(this);
      // What is not taken back again can be written at once: it need not travel with every end that is refused.
      if (kept.length > 0 || this.#parkError) this.#host.committer.request(this);
    } catch (error) {
      this.#host.log.error(
        { runId: this.runId, error: describeValue(error) },
        "could not read a run again; giving it up",
      );
      this.drop();
    }
  }

  refused(error: unknown): void {
    this.#inFlight = undefined;
    if (this.state !== "held") return;
    // Messages that were moved into events that cannot be written are still in the inbox.
    this.machine.fresh = NONE;
    this.machine.freshAttributes = null;
    this.#consumed = this.#durableConsumed;
    if (this.#parkError) return this.drop();
    this.#park(isHoldfastError(error) ? error : new HoldfastError("store_refused", describeValue(error)));
  }

  #leave(transition: Transition): void {
    this.#wake?.cancel();
    if (transition.type === "suspend" || transition.type === "release") {
      // What its code did wrong while this was on its way is dealt with when it wakes.
      if (this.machine.violation) this.#parkError = undefined;
      // A run that is tried again as a whole starts over from its history.
      this.state = !this.#retry && !this.#parkError ? "suspended" : "gone";
      this.#queue = [];
      this.#queuedMessages = this.#consumed;
      const availableAt = transition.type === "suspend" ? transition.availableAt : this.#host.storeTime.now();
      this.#host.left(this, { how: "suspended", availableAt });
      return;
    }
    this.state = "gone";
    if (transition.type === "end") this.#steps.stopWithdrawn();
    this.#host.left(this, { how: "closed", transition });
  }

  // Parking -------------------------------------------------------------------------------------------------------------

  violated(): void {
    const { violation } = this.machine;
    // In a turn the closing of the turn finds it.
    if (violation && this.state === "held" && !this.machine.inTurn) this.#park(violation);
  }

  #parkDivergence(): void {
    if (this.#explaining) return;
    this.#explaining = true;
    const immediate = (callback: () => void): void => this.#host.clock.immediate(callback);
    void explainDivergence(this.machine, immediate).then((error) => this.#park(error));
  }

  #park(error: HoldfastError): void {
    if (this.#parkError || this.state !== "held") return;
    this.#parkError = this.#host.record(error);
    this.#steps.discardAll(error);
    this.#wake?.cancel();
    if (!this.#inFlight) this.#host.committer.request(this);
  }
}
