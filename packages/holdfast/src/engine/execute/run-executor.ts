/**
 * The run executor: one live run on one worker. It drives the run's machine (replay/machine.ts), starts what the code asks for,
 * and tells the committer what to write. Its parts know what is to be delivered (delivery-queue.ts), what is durable (run-commits.ts),
 * which steps run (step-board.ts), how it ends (run-end.ts), why it cannot continue (parking.ts), and in which state it is (run-phase.ts).
 *
 * Invariants
 *  E1. An effect starts only when every event that the code had seen when it asked is durable (op.gate ≤ durableSeq), the
 *      lease is active, and nothing is left to deliver. The code itself runs ahead of the store.
 *  E2. What happens to the run (results, timers, messages) goes through one queue and gets its seq when it is delivered.
 *  E3. A commit is handed out once, and the next only after its answer (committer C1). `lost` drops the run at once.
 *  E4. The run is suspended or ended only when nothing of it runs here, and the store confirms that no message is left.
 *  E5. How the code ended becomes durable together with the run's end, or not at all. If the store has a signal that the
 *      code was waiting for (a look, looks.ts), the turns from that look on are taken back and repeated after it (rewind.ts).
 */
import { HoldfastError, isHoldfastError } from "../../errors/holdfast-error.ts";
import { keepsHolding } from "../../model/decisions/commit.ts";
import type { HistoryEvent } from "../../model/event.ts";
import type { LiveRun } from "../../model/live-run.ts";
import type { Message } from "../../model/message.ts";
import type { Run } from "../../model/run.ts";
import { NONE } from "../../model/short-list.ts";
import type { Timer } from "../../ports/clock.ts";
import type { CommitOutcome, RunCommit, Transition } from "../../ports/store.ts";
import type { Driver, Machine, Outcome } from "../../replay/machine.ts";
import type { DrivenOp } from "../../replay/op.ts";
import type { TurnTaker } from "../../replay/turn-loop.ts";
import type { WorkflowCode } from "../code/workflow-registry.ts";
import type { Committable } from "../commit/committer.ts";
import { RunCommits } from "../commit/run-commits.ts";
import { StepBoard, type StepOwner } from "../steps/step-board.ts";
import { type Delivery, deliverNext, stopWithdrawn } from "./delivery.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import { dueEvents, wakeTimer } from "./due-times.ts";
import { type ExecutorHost, RunParams } from "./executor-host.ts";
import { divergence, foreignAwait } from "./explanations.ts";
import type { ClaimedRun } from "./held-run.ts";
import { liveView } from "./live-view.ts";
import type { Look } from "./looks.ts";
import { isOwnOutcome, type QueuedDraft } from "./message-draft.ts";
import { nextTransition, type Standing } from "./next-transition.ts";
import { OutsideWork } from "./outside-work.ts";
import { type Parkable, Parking } from "./parking.ts";
import { Rewind } from "./rewind.ts";
import { hasEnded, RunEnd } from "./run-end.ts";
import { RunPhase } from "./run-phase.ts";

export class RunExecutor implements TurnTaker, Committable, Driver, Parkable, StepOwner, Standing {
  readonly runId: string;
  /** For the turn loop alone. */
  inLine = false;
  /** For the committer. */
  wanted = false;
  readonly #host: ExecutorHost;
  readonly #code: WorkflowCode;
  readonly #steps: StepBoard;
  readonly #outside: OutsideWork;
  /** Whether its code may have been called under an earlier claim. */
  readonly #begun: boolean;
  readonly #queue: DeliveryQueue;
  readonly #commits: RunCommits;
  readonly #phase = new RunPhase();
  readonly #parking: Parking;
  /** Replaced when the code's last turns are taken back. */
  #machine: Machine;
  #delivery: Delivery;
  #run: Run;
  #wake: Timer | undefined;
  /** Set once the code has ended. */
  #end: RunEnd | undefined;
  /** Set once the code's last turns have been taken back. */
  #rewind: Rewind | undefined;

  constructor(host: ExecutorHost, code: WorkflowCode, { run, history, messages }: ClaimedRun) {
    this.#host = host;
    this.#run = run;
    this.runId = run.runId;
    this.#queue = new DeliveryQueue(run.consumed);
    this.#commits = new RunCommits(run);
    this.#parking = new Parking(host, code, this, this.#phase, this.#commits);
    this.#code = code;
    // A step that has begun may already have its result in the inbox, before the first commit.
    this.#begun = run.commit > 0 || messages.some(isOwnOutcome);
    this.#machine = this.machineFor(history);
    this.#steps = new StepBoard(host, this.#machine, this, this.#queue);
    this.#outside = new OutsideWork(host, this);
    this.#delivery = { host, machine: this.#machine, queue: this.#queue, steps: this.#steps, outside: this.#outside };
    this.takeMessages(messages);
    host.loop.ready(this);
  }

  get machine(): Machine {
    return this.#machine;
  }

  get run(): Run {
    return this.#run;
  }

  /** Whether this worker holds the run. */
  get here(): boolean {
    return this.#phase.here;
  }

  /** Whether the run is suspended in the store and kept in memory here. */
  get suspended(): boolean {
    return this.#phase.suspended;
  }

  /** A machine that has seen that much. With `looks`, it only locates where the code asks for ops. */
  machineFor(history: readonly HistoryEvent[], looks = false): Machine {
    return this.#code.machine(new RunParams(this.#host, this.#run, history, this.#begun, looks ? undefined : this));
  }

  /** Whether the row is the one that this executor suspended, with nothing written to it since but that many claims. */
  matches(run: Run, claims: 0 | 1): boolean {
    return this.suspended && run.epoch === this.#run.epoch + claims && this.#commits.matches(run);
  }

  /** The run was claimed again and no other worker held it in between: it continues from memory. */
  reactivate(run: Run, messages: readonly Message[]): void {
    this.#run = run;
    this.#phase.hold();
    this.#commits.beginHold();
    this.takeMessages(messages);
    this.#host.loop.ready(this);
  }

  takeMessages(messages: readonly Message[]): void {
    if (this.here && this.#queue.take(messages)) this.#host.loop.ready(this);
  }

  /** The store has more messages than were taken in. */
  isBehind(delivered: number): boolean {
    return delivered > this.#queue.queuedMessages && this.here && !this.#phase.leaving;
  }

  /** Whether it has held its run under this epoch without interruption, and is not giving it up. */
  keeps(epoch: number): boolean {
    return this.#run.epoch === epoch && this.here && !this.#phase.leaving;
  }

  get writing(): boolean {
    return this.#commits.writing;
  }

  get queuedMessages(): number {
    return this.#queue.queuedMessages;
  }

  /** For callers who ask what the run is doing; undefined while that is not known. */
  look(): LiveRun | undefined {
    const busy = this.#commits.writing || this.#queue.length > 0 || !this.#phase.held;
    return this.here ? liveView(this.#machine, this.#steps, this.#commits.durableSeq, busy) : undefined;
  }

  /** Something outside has changed (the lease is back, the worker drains, code elsewhere asks): check what can be done. */
  poke(): void {
    if (this.here) this.#host.loop.ready(this);
  }

  /** The memory is needed for other runs; the run itself is suspended and loses nothing. */
  evict(): void {
    this.#phase.leave();
  }

  /** Another worker holds the run now: everything in progress here is stopped and forgotten. */
  drop(): void {
    if (this.#phase.gone) return;
    this.#phase.leave();
    this.halt(new HoldfastError("lease_lost", `This worker no longer holds run ${this.runId}.`));
    this.#host.committer.forget(this);
    this.#host.left(this, { how: "lost" });
  }

  halt(reason: HoldfastError): void {
    this.#steps.discardAll(reason);
    this.#outside.leave();
    this.#wake?.cancel();
  }

  // Turns -------------------------------------------------------------------------------------------------------------

  openTurn(): boolean {
    // Nothing may be added while a commit is in flight that gives the run up, or behind the record that it is tried again.
    // A turn that runs on looks for what is next when it closes.
    if (!this.#phase.held || this.#end?.retry || this.#machine.inTurn) return false;
    try {
      return this.#openNext();
    } catch (error) {
      if (isHoldfastError(error, "invariant_broken")) throw error;
      // Stored bytes that cannot be read. Neither the worker nor its other runs may suffer for it.
      this.#machine.close();
      this.#parking.parkFor(error, "codec_failed");
      return false;
    }
  }

  #openNext(): boolean {
    const machine = this.#machine;
    if (!machine.started) {
      const end = machine.replaying || this.#rewind ? undefined : this.#queue.endUnstarted(this.#run, this.#begun);
      if (!end) {
        machine.start();
        return true;
      }
      machine.endUnstarted(end);
    }
    if (machine.replaying && machine.replayNext()) return true;
    this.#host.stretches?.replayed(this.runId);
    this.#steps.adopt();
    const point = this.#queue.pointToResume(machine);
    if (point) {
      // What is in flight to the store may become durable, and cannot be taken back then.
      if (!this.#commits.writing) void this.#takeBack(point);
      return false;
    }
    if (deliverNext(this.#delivery, this.#host.storeTime.now())) return true;
    if (machine.divergence) this.#parking.explain(divergence);
    else this.#settle();
    return false;
  }

  closeTurn(): boolean {
    if (this.#phase.held && this.#machine.runOn()) return true;
    this.#machine.close();
    if (this.here) this.#turnClosed(this.#machine);
    return false;
  }

  #turnClosed(machine: Machine): void {
    if (this.#parking.overtook(machine)) return;
    if (machine.divergence) return this.#parking.explain(divergence);
    if (machine.violation) return this.#parking.violated(machine.violation);
    this.#steps.takeAsked();
    if (machine.replaying || this.#queue.length > 0 || machine.nextEdited()) this.#host.loop.ready(this);
    else this.#settle();
  }

  /** Everything has been delivered: start what the code asks for, and have it written. */
  #settle(): void {
    const machine = this.#machine;
    if (machine.inTurn || machine.replaying || machine.divergence || this.#queue.length > 0 || !this.#phase.held)
      return;
    this.#steps.takeAsked();
    this.#steps.adopt();
    // What can still be taken back is no reason to stop anything yet. It is about to be written, and this is reached again.
    if (!this.#queue.mayTakeBack(machine)) stopWithdrawn(this.#delivery, this.#commits);
    // Code that learns of its abort may do something for which the run is parked.
    if (this.#queue.length > 0 || this.#phase.parkedWith) return;
    if (!machine.outcome) {
      for (const event of dueEvents(machine, this.#run, this.#host)) this.push(event);
      if (this.#queue.length > 0 || this.#phase.parkedWith) return;
      this.#outside.attend(this.#commits);
      if (!machine.waiting) return this.#parking.explain(foreignAwait);
      this.#steps.startDue();
    } else if (machine.outcome.type === "retried") this.#steps.startPrepared();
    if (this.#queue.length > 0 || this.#commits.writing) return;
    const transition = this.#transition();
    const fresh = machine.fresh.length > 0 || machine.freshAttributes || this.#queue.hasRefused;
    if (fresh || transition.type !== "hold") this.#host.committer.request(this);
    this.#wake?.cancel();
    this.#wake = transition.type === "hold" ? wakeTimer(this.#host, this, this.#delivery) : undefined;
  }

  push(draft: QueuedDraft): void {
    this.#queue.push(draft);
    this.#host.loop.ready(this);
  }

  /** Whether everything that the code had seen when it asked for the op is durable. */
  mayUse(op: DrivenOp): boolean {
    return Math.max(op.gate, this.#machine.resumedSeq) <= this.#commits.durableSeq;
  }

  hasConsumed(message: Message): boolean {
    return message.number <= this.#queue.consumed;
  }

  // Commits -------------------------------------------------------------------------------------------------------------

  takeCommit(): RunCommit | undefined {
    const machine = this.#machine;
    // A turn that has run on beyond its batch asks for it when it closes.
    if (!this.here || this.#commits.writing || this.#phase.rewinding || machine.inTurn) return undefined;
    // How the code ended is written together with the run's end, or not at all.
    if (hasEnded(machine.outcome) && this.#queue.length > 0 && !this.#phase.parkedWith) return undefined;
    const commit = this.#commits.take(this.#run, machine, this.#queue, this.#transition(), this.#outside);
    // The run was to be suspended when this was requested, but something has become due since and must start here.
    if (!commit) this.poke();
    else if (!keepsHolding(commit.transition)) this.#phase.beginLeaving();
    return commit;
  }

  #transition(): Transition {
    const retry = this.#phase.parkedWith ? undefined : this.#end?.retry;
    return retry ?? nextTransition(this, this.#queue, this.#steps, this.#outside, this.#phase, this.#parking);
  }

  ending(outcome: Outcome): Transition {
    this.#end ??= new RunEnd(this.#code, this.#host);
    const end = this.#end.transition(this.#machine, outcome, this.#run.attributes, this.#queue.hasLooks);
    return this.#queue.deferred ? { type: "release" } : end;
  }

  /** No new attempt may start here. */
  yielding(): boolean {
    return this.#host.draining() || this.#commits.eventsThisHold >= this.#host.eventsPerHoldMax;
  }

  committed(outcome: CommitOutcome, messages: readonly Message[]): void {
    const flight = this.#commits.answered();
    if (!this.here || !flight) return;
    if (outcome.outcome === "lost") return this.drop();
    const { events, attributes, transition } = flight;
    if (outcome.outcome === "behind") {
      // Messages arrived before the end: none of it was written.
      this.#machine.putBack(events, attributes);
      this.#queue.putBack(flight);
      this.#end?.refused();
    } else {
      this.#commits.written(flight);
      this.#rewind?.written(events);
      this.#queue.durable(this.#commits.durableSeq);
      this.#machine.written(this.#commits.durableSeq);
      this.#outside.written(flight, outcome, this.#commits.durableSeq);
      if (flight.replies) this.#host.replied(flight, this.#machine);
      if (attributes) this.#run = { ...this.#run, attributes };
      if (events.length > 0) this.#host.progressed(this);
      if (!keepsHolding(transition) && !outcome.held) return this.#leave(transition);
      this.#end?.kept();
    }
    this.#phase.stay();
    this.#host.kept(this);
    this.takeMessages(messages);
    if (this.isBehind(outcome.delivered)) this.#host.inbox.pull(this);
    if (this.#phase.parkedWith || this.#end?.retry) this.#host.committer.request(this);
    else if (this.#queue.length > 0 || outcome.outcome === "behind" || this.#machine.spoiled) this.poke();
    else this.#settle();
  }

  /**
   * The code ended without knowing of a signal that the store had accepted by then. Nothing since its last look is durable:
   * these turns are taken back and repeated with the signal before them. Step results are kept.
   */
  async #takeBack(look: Look): Promise<void> {
    this.#end?.takenBack();
    const unseen = this.#queue.restart(look.consumed);
    this.#rewind ??= new Rewind(this.run, this.#host, (history) => this.machineFor(history));
    this.#phase.rewind();
    const resumption = await this.#rewind.read(look, this.#machine, this.#commits.durableSeq, () => !this.here);
    if (!this.here) return;
    if (!resumption) return this.drop();
    this.#machine = resumption.machine;
    this.#delivery = { ...this.#delivery, machine: resumption.machine };
    this.#queue.takeBack(look);
    this.#steps.rebase(this.#machine);
    this.#outside.rebase();
    this.#phase.stay();
    this.takeMessages(resumption.messages);
    for (const result of [...resumption.results, ...unseen]) this.push(result);
    this.#host.loop.ready(this);
    // What is not taken back again can be written at once: it need not be sent with every end that is refused.
    if (this.#machine.fresh.length > 0 || this.#phase.parkedWith) this.#host.committer.request(this);
  }

  refused(error: unknown): void {
    this.#commits.answered();
    if (!this.here) return;
    this.#phase.stay();
    // Messages whose events cannot be written are still in the inbox.
    this.#machine.putBack(NONE, null);
    this.#queue.unconsume(this.#commits.durableConsumed);
    this.#outside.unwritten();
    if (this.#phase.parkedWith) return this.drop();
    this.#parking.parkFor(error, "store_refused");
  }

  #leave(transition: Transition): void {
    this.#wake?.cancel();
    this.#outside.leave();
    if (transition.type === "suspend" || transition.type === "release") {
      // An error of the code since this was sent is handled when the run wakes. A run that is retried starts over from its history.
      const { violation, spoiled } = this.#machine;
      if (this.#end?.retry || spoiled || (!violation && this.#phase.parkedWith)) this.#phase.leave();
      else this.#phase.suspend();
      this.#queue.restart(this.#queue.consumed);
      const availableAt = transition.type === "suspend" ? transition.availableAt : this.#host.storeTime.now();
      this.#host.left(this, { how: "suspended", availableAt });
      return;
    }
    this.#phase.leave();
    if (transition.type === "end") stopWithdrawn(this.#delivery, this.#commits);
    this.#host.left(this, { how: "closed", transition });
  }

  violated(): void {
    const { violation, inTurn } = this.#machine; // Inside a turn, the end of the turn finds it.
    if (violation && this.here && !inTurn) this.#parking.violated(violation);
  }
}
