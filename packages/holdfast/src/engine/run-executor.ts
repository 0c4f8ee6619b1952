/**
 * The run executor: one live run on one worker. It drives the run machine, starts what the code asks for, and tells the
 * committer what to write. Its parts know what is still to be delivered (delivery-queue.ts), what is durable (run-commits.ts),
 * which steps run (step-board.ts), how it ends (run-end.ts), and why it cannot go on (parking.ts).
 *
 * Invariants
 *  E1. An effect starts only when every event that the code had seen when it asked is durable (op.gate ≤ durableSeq), the
 *      lease is active, and nothing is left to deliver. The code itself runs ahead of the store.
 *  E2. What happens to the run (results, timers, messages) goes through one queue and gets its seq when it is delivered.
 *  E3. A commit is handed out once, and the next only after its answer (committer C1). `lost` drops the run at once.
 *  E4. The run is let go of only when nothing of it runs here, and the store agrees that no message is left.
 *  E5. What the code has ended with becomes durable together with the end, or not at all. When the store knows of a signal that
 *      the code was waiting for (a look in vain, looks.ts), the turns from that look on are taken back (rewind.ts) and taken again behind
 *      it.
 */
import { HoldfastError, isHoldfastError } from "../errors/holdfast-error.ts";
import { describeValue } from "../errors/safe-read.ts";
import { eventRole, type HistoryEvent } from "../model/event.ts";
import type { Message } from "../model/message.ts";
import type { Run } from "../model/run.ts";
import { NONE } from "../model/short-list.ts";
import type { Timer } from "../ports/clock.ts";
import type { CommitOutcome, RunCommit, Transition } from "../ports/store.ts";
import type { Op } from "../replay/op.ts";
import { RunMachine } from "../replay/run-machine.ts";
import type { TurnTaker } from "../replay/turn-loop.ts";
import type { Committable } from "./committer.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import { dueEvents, nextDueAt, wakeTimer } from "./due-times.ts";
import type { ExecutorHost } from "./executor-host.ts";
import { divergence, foreignAwait } from "./explanations.ts";
import type { Look } from "./looks.ts";
import { isOwnOutcome, type QueuedDraft, withAttempt } from "./message-draft.ts";
import { Parking } from "./parking.ts";
import { Rewind } from "./rewind.ts";
import { RunCommits } from "./run-commits.ts";
import { hasEnded, RunEnd, suspension, wasNeverCalled } from "./run-end.ts";
import { StepBoard } from "./step-board.ts";
import type { Fence } from "./transaction.ts";
import type { WorkflowCode } from "./workflow-registry.ts";

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
  /** Whether its code may have been called under an earlier claim. */
  readonly #begun: boolean;
  readonly #queue: DeliveryQueue;
  readonly #commits: RunCommits;
  readonly #parking: Parking;
  #wake: Timer | undefined;
  /** Once its code has ended. */
  #end: RunEnd | undefined;
  /** Once its code's last turns were taken back. */
  #rewind: Rewind | undefined;

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
    this.#queue = new DeliveryQueue(run.consumed);
    this.#commits = new RunCommits(run);
    this.#parking = new Parking(host, code, this, this.#commits);
    this.#code = code;
    // A step that has begun may have ended in the inbox, before the first commit.
    this.#begun = run.commit > 0 || messages.some(isOwnOutcome);
    this.machine = this.#machineFor(history);
    this.#steps = new StepBoard(host, this.machine, this);
    this.takeMessages(messages);
    host.loop.ready(this);
  }

  #machineFor(history: readonly HistoryEvent[]): RunMachine {
    const { codec, log, record, opsMax, failForgotten } = this.#host;
    const { body, retryRun, onBug } = this.#code;
    return new RunMachine({
      run: this.run,
      body,
      retryRun,
      onBug,
      codec,
      log,
      record,
      history,
      begun: this.#begun,
      opsMax,
      failForgotten,
      driver: this,
    });
  }

  /** Whether the claimed row is the one this executor let go of, with nothing written to it since. */
  matches(run: Run): boolean {
    return this.state === "suspended" && run.epoch === this.run.epoch + 1 && this.#commits.matches(run);
  }

  /** The run was claimed again and nobody else had it in between: it goes on from memory. */
  reactivate(run: Run, messages: readonly Message[]): void {
    this.run = run;
    this.state = "held";
    this.#commits.beginHold();
    this.takeMessages(messages);
    this.#host.loop.ready(this);
  }

  takeMessages(messages: readonly Message[]): void {
    if (this.state === "held" && this.#queue.take(messages)) this.#host.loop.ready(this);
  }

  /** The store has more messages than have been taken in. */
  isBehind(delivered: number): boolean {
    return this.state === "held" && delivered > this.#queue.queuedMessages && !this.#commits.lettingGo;
  }

  /** Whether it has had its run under this epoch until now, and is not letting it go. */
  keeps(epoch: number): boolean {
    return this.state === "held" && this.run.epoch === epoch && !this.#commits.lettingGo;
  }

  get writing(): boolean {
    return this.#commits.writing;
  }

  get queuedMessages(): number {
    return this.#queue.queuedMessages;
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
    this.halt(new HoldfastError("lease_lost", `This worker no longer holds run ${this.runId}.`));
    this.#host.committer.forget(this);
    this.#host.left(this, { how: "lost" });
  }

  /** Whatever its steps are doing is stopped, and nothing becomes due any more. */
  halt(reason: HoldfastError): void {
    this.#steps.discardAll(reason);
    this.#wake?.cancel();
  }

  // Turns -------------------------------------------------------------------------------------------------------------

  openTurn(): boolean {
    // While the run is being let go of, nothing may be added to it: the store decides whether it stays.
    if (this.state !== "held" || this.#parking.begun || this.#rewind?.reading || this.#commits.lettingGo) return false;
    try {
      return this.#openNext();
    } catch (error) {
      if (isHoldfastError(error, "invariant_broken")) throw error;
      // Stored bytes that cannot be read. Neither the worker nor its other runs may suffer for it.
      this.machine.close();
      this.#parking.park(
        isHoldfastError(error) ? error : new HoldfastError("codec_failed", describeValue(error), { cause: error }),
      );
      return false;
    }
  }

  #openNext(): boolean {
    const { machine } = this;
    if (!machine.started) {
      const end = machine.replaying || this.#rewind ? undefined : this.#queue.endUnstarted(this.run, this.#begun);
      if (!end) {
        machine.start();
        return true;
      }
      machine.endUnstarted(end);
    }
    if (machine.replaying && machine.replayNext()) return true;
    this.#steps.adopt();
    const missed = hasEnded(machine.outcome) ? this.#queue.missedLook() : undefined;
    if (missed) {
      // What is on its way to the store may become durable, and then it stays.
      if (!this.#commits.writing) void this.#takeBack(missed);
      return false;
    }
    const now = this.#host.storeTime.now();
    while (!machine.divergence) {
      const draft = this.#queue.next(machine);
      if (!draft) break;
      if (eventRole(draft.type) === "note") machine.note(draft, now);
      else if (machine.deliverLive(withAttempt(draft, machine.ops), now)) return true;
    }
    if (machine.divergence) this.#parking.explain(divergence);
    else this.#settle();
    return false;
  }

  closeTurn(): void {
    const { machine } = this;
    machine.close();
    if (this.state !== "held") return;
    if (machine.divergence) return this.#parking.explain(divergence);
    if (machine.violation) return this.#parking.violated(machine.violation);
    this.#steps.takeAsked();
    if (machine.replaying || this.#queue.length > 0) this.#host.loop.ready(this);
    else this.#settle();
  }

  /** Everything has been delivered: do what the code wants, and see to it that it is written. */
  #settle(): void {
    const { machine } = this;
    if (machine.inTurn || machine.replaying || this.#queue.length > 0 || this.state !== "held") return;
    if (machine.divergence || this.#parking.begun) return;
    // While the end may still be taken back, so may be the need to stop anything.
    if (!hasEnded(machine.outcome) || !this.#queue.hasLooks) this.#steps.stopWithdrawn();
    // Code that is told of its abort may do something for which the run is parked.
    if (this.#queue.length > 0 || this.#parking.decided) return;
    if (!machine.outcome) {
      for (const event of dueEvents(machine, this.run, this.#host.storeTime)) this.push(event);
      if (this.#queue.length > 0) return;
      if (!machine.ops.waiting) return this.#parking.explain(foreignAwait);
      this.#steps.startDue();
    } else if (machine.outcome.type === "retried") this.#steps.startPrepared();
    if (this.#queue.length > 0 || this.#commits.writing) return;
    const transition = this.#transition();
    if (machine.fresh.length > 0 || machine.freshAttributes || transition.type !== "hold")
      this.#host.committer.request(this);
    this.#wake?.cancel();
    this.#wake = transition.type === "hold" ? wakeTimer(this.#host, this, this.#steps.idle) : undefined;
  }

  push(draft: QueuedDraft): void {
    this.#queue.push(draft);
    this.#host.loop.ready(this);
  }

  /** Whether everything that the code had seen when it asked for the op is durable. */
  mayUse(op: Op): boolean {
    return op.gate <= this.#commits.durableSeq;
  }

  /** Who may write to the run: this worker, under this epoch. */
  fence(): Fence {
    const { namespace, runId, heldBy, epoch } = this.run;
    return { namespace, workerId: heldBy as string, runId, epoch };
  }

  hasConsumed(message: Message): boolean {
    return message.number <= this.#queue.consumed;
  }

  // Commits -------------------------------------------------------------------------------------------------------------

  takeCommit(): RunCommit | undefined {
    const { machine } = this;
    if (this.state !== "held" || this.#commits.writing || this.#rewind?.reading) return undefined;
    // What the code has ended with is written together with the end, or not at all.
    if (hasEnded(machine.outcome) && this.#queue.length > 0 && !this.#parking.decided) return undefined;
    if (machine.inTurn)
      throw new HoldfastError("invariant_broken", `run ${this.runId} was gathered in the middle of a turn`);
    const commit = this.#commits.take(this.run, machine, this.#queue.consumed, this.#transition());
    // It was to be let go of when this was asked for, and something has become due since: that is to start here.
    if (!commit) this.poke();
    return commit;
  }

  #transition(): Transition {
    const { machine } = this;
    const { outcome } = machine;
    const park = this.#parking.transition();
    if (park) return park;
    const hold = machine.compensating ? HOLD_COMPENSATING : HOLD_RUNNING;
    const undelivered = this.#queue.length > 0 && !wasNeverCalled(outcome);
    if (machine.inTurn || machine.replaying || !machine.started || this.#parking.begun || undelivered) return hold;
    if (outcome?.type === "retried" && (this.#steps.running > 0 || this.#steps.hasPrepared())) return hold;
    if (outcome) {
      this.#end ??= new RunEnd(this.#code, this.#host);
      return this.#end.transition(machine, outcome, this.run.attributes, this.#queue.hasLooks);
    }
    if (this.#steps.running > 0) return hold;
    if (this.#steps.hasStartable()) return this.#mayYield() ? { type: "release" } : hold;
    return suspension(machine, nextDueAt(machine, this.run, this.#steps.idle, 0));
  }

  /** No new attempt is to start here. */
  yielding(): boolean {
    return this.#host.draining() || this.#commits.eventsThisHold >= this.#host.eventsPerHoldMax;
  }

  /** Whether it may be let go of for others' sake: not between the record of an attempt's start and the attempt. */
  #mayYield(): boolean {
    return this.yielding() && !this.#steps.hasPrepared();
  }

  committed(outcome: CommitOutcome, messages: readonly Message[]): void {
    const flight = this.#commits.answered();
    if (this.state !== "held" || !flight) return;
    if (outcome.outcome === "lost") return this.drop();
    const { events, attributes, transition } = flight;
    if (outcome.outcome === "behind") {
      // Messages have come before the end: nothing of it was written.
      this.machine.fresh = [...events];
      this.machine.freshAttributes = attributes;
      this.#end?.refused();
    } else {
      this.#commits.written(flight);
      this.#rewind?.written(events);
      this.#queue.durable(this.#commits.durableSeq);
      if (attributes) this.run = { ...this.run, attributes };
      if (events.length > 0) this.#host.progressed(this);
      if (transition.type !== "hold" && !outcome.held) return this.#leave(transition);
    }
    this.takeMessages(messages);
    if (this.isBehind(outcome.delivered)) this.#host.inbox.pull(this);
    if (this.#parking.decided) this.#host.committer.request(this);
    else if (this.#queue.length > 0 || outcome.outcome === "behind") this.#host.loop.ready(this);
    else this.#settle();
  }

  /**
   * The code has ended, not knowing of a signal that the store had accepted by then. None of that is durable from its last look
   * on: these turns are taken back, and taken again with the signal before them. Results of steps are kept.
   */
  async #takeBack(look: Look): Promise<void> {
    this.#end?.takenBack();
    this.#queue.restart(look.consumed);
    this.#rewind ??= new Rewind(this.run, this.#host, (history) => this.#machineFor(history));
    const giveUp = (): boolean => this.state !== "held";
    const resumption = await this.#rewind.read(look, this.machine, this.#commits.durableSeq, giveUp);
    if (this.state !== "held") return;
    if (!resumption) return this.drop();
    this.machine = resumption.machine;
    this.#queue.takeBack(look);
    this.#steps.rebase(this.machine);
    this.#rewind.resumed();
    this.takeMessages(resumption.messages);
    for (const result of resumption.results) this.push(result);
    this.#host.loop.ready(this);
    // What is not taken back again can be written at once: it need not travel with every end that is refused.
    if (this.machine.fresh.length > 0 || this.#parking.decided) this.#host.committer.request(this);
  }

  refused(error: unknown): void {
    this.#commits.answered();
    if (this.state !== "held") return;
    // Messages that were moved into events that cannot be written are still in the inbox.
    this.machine.fresh = NONE;
    this.machine.freshAttributes = null;
    this.#queue.unconsume(this.#commits.durableConsumed);
    if (this.#parking.decided) return this.drop();
    this.#parking.park(isHoldfastError(error) ? error : new HoldfastError("store_refused", describeValue(error)));
  }

  #leave(transition: Transition): void {
    this.#wake?.cancel();
    if (transition.type === "suspend" || transition.type === "release") {
      // What its code did wrong while this was on its way is dealt with when it wakes.
      if (this.machine.violation) this.#parking.forget();
      // A run that is tried again as a whole starts over from its history.
      this.state = !this.#end?.retried && !this.#parking.decided ? "suspended" : "gone";
      this.#queue.restart(this.#queue.consumed);
      const availableAt = transition.type === "suspend" ? transition.availableAt : this.#host.storeTime.now();
      this.#host.left(this, { how: "suspended", availableAt });
      return;
    }
    this.state = "gone";
    if (transition.type === "end") this.#steps.stopWithdrawn();
    this.#host.left(this, { how: "closed", transition });
  }

  violated(): void {
    const { violation } = this.machine;
    // In a turn the closing of the turn finds it.
    if (violation && this.state === "held" && !this.machine.inTurn) this.#parking.violated(violation);
  }
}
