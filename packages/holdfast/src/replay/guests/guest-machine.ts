/**
 * The guest machine: one run whose code is in another process, in any language, and asks from outside. It is a run machine without
 * code: what a guest asks for becomes ops, and what was recorded is a memo by the ids of the ops, in whatever order the guest asks.
 *
 * Invariants
 *  G1. The name of a step or sleep is the id of its op, and each is done once per run. One that has ended is answered from the memo.
 *  G2. No call is answered before the events that its answer rests on are durable: what a guest knows cannot be taken back.
 *  G3. A call that is repeated gets the first answer, for as long as the run is held here.
 *  G4. A run is not completed over steps that its guest has begun and not ended, unless it says that they do not matter: nobody else would
 *      ever learn that they were dropped. One that fails drops them.
 *  G5. Once the run has left, every call that still waits is refused: the guest drops the run, and another may get it.
 */
import { HoldfastError } from "../../errors/holdfast-error.ts";
import type { HistoryEvent } from "../../model/event.ts";
import { nameFault } from "../../model/names.ts";
import { endError } from "../context/cancellation.ts";
import type { MachineParams, Outcome, RunDeparture } from "../machine.ts";
import type { Op, OpModule } from "../op.ts";
import { SLEEP } from "../ops/sleep.ts";
import { STEP } from "../ops/step.ts";
import { DEFAULT_OPTIONS, type ResolvedStepOptions } from "../ops/step-options.ts";
import type { RunCode } from "../run-code.ts";
import { RunMachine } from "../run-machine.ts";
import type { BegunStep, FailedStep, GuestEnd, GuestHost, GuestRun } from "./guest-run.ts";
import { GuestWork } from "./guest-work.ts";

interface Waiter {
  /** Whether it need not wait any longer. */
  readonly settle: () => boolean;
  readonly refuse: (error: HoldfastError) => void;
}

/** A guest's code is not here. What ends it from outside ends it at once: there is nothing to wind up. */
const ABSENT: RunCode = {
  body: (ctx) =>
    new Promise((_, reject) => {
      const { abortSignal } = ctx;
      abortSignal.addEventListener("abort", () => reject(abortSignal.reason as Error));
    }),
};

export class GuestMachine extends RunMachine implements GuestRun {
  readonly #guests: GuestHost;
  readonly #ended = new Map<string, HistoryEvent>();
  readonly #steps = new Map<string, GuestWork>();
  readonly #step: OpModule;
  readonly #sleep: OpModule;
  readonly #waiters = new Set<Waiter>();
  /** Sleeps whose guest waits for the answer. */
  readonly #asleep = new Set<string>();
  /** Steps and sleeps because of which the guest was told to stop, and that it has not asked for again. */
  readonly #stoppedAt = new Set<string>();
  #durableSeq: number;
  #offered = false;
  #attended = true;
  #gone: HoldfastError | undefined;

  constructor(params: MachineParams, guests: GuestHost) {
    super(params, ABSENT);
    this.#guests = guests;
    this.#durableSeq = params.history.length;
    const settle = (op: Op, event: HistoryEvent): void => this.#settled(op, event);
    this.#step = { ...STEP, asked: () => {}, note: (op, event) => this.#noted(op, event), settle };
    // Its time does not bind: the guest may ask for it anywhere.
    this.#sleep = {
      ...SLEEP,
      asked: (op, _, { fireAt }, host) => host.createTimer(op, fireAt as number, false),
      settle,
    };
  }

  // Its driver --------------------------------------------------------------------------------------------------------

  /** Asks for all that was ever asked for: what was recorded of it finds it. */
  override start(): void {
    super.start();
    for (const { type, op, meta } of this.recorded) {
      if (op === null || this.ops.wasAsked(op)) continue;
      if (type.startsWith("step_")) this.#askStep(op);
      else if (type === "timer_created") void this.ask(this.#sleep, op, this.root, { fireAt: meta?.fireAt });
    }
  }

  override takeAsked(): readonly Op[] {
    if (!this.#offered && this.#isReady()) this.#offer();
    return super.takeAsked();
  }

  override get waiting(): boolean {
    return true;
  }

  override get attended(): boolean {
    return this.#attended;
  }

  override written(seq: number): void {
    this.#durableSeq = Math.max(this.#durableSeq, seq);
    this.#changed();
  }

  override left(how: RunDeparture): void {
    this.#gone ??= lost(this.run.runId, GONE[how]);
    this.#changed();
    for (const { refuse } of this.#waiters) refuse(this.#gone);
    this.#waiters.clear();
    this.#guests.left(this, how);
  }

  // Its guest -----------------------------------------------------------------------------------------------------------

  /** What was done before, in the order in which it ended. */
  get done(): readonly HistoryEvent[] {
    return [...this.#ended.values()].filter(({ seq }) => seq <= this.#durableSeq);
  }

  /** Nobody works on it any longer: it is let go of once nothing of it is in progress here. */
  leave(): void {
    this.#attended = false;
    this.params.driver?.poke();
  }

  /** So many guests have died of it, one after the other: it is parked. */
  abandon(deaths: number): void {
    const message = `${deaths} guests have died one after the other while they executed only run ${this.run.runId}.`;
    this.violate(new HoldfastError("crash_loop", message, { data: { deaths } }));
  }

  isStoppedAt(name: string): boolean {
    return this.#stoppedAt.has(name);
  }

  requireStepName(name: string): void {
    const fault = nameFault(name);
    if (fault) throw new HoldfastError("invalid_name", `The step name "${name}" ${fault}.`, { data: { name } });
    this.#requireKind(name, "step");
  }

  async begin(name: string, options: ResolvedStepOptions): Promise<BegunStep> {
    this.#assertOpen();
    this.requireStepName(name);
    this.#stoppedAt.delete(name);
    if (!this.#ended.has(name)) this.#handOut(name, options);
    return this.#until(() => {
      const event = this.#ended.get(name);
      if (event) return this.#isDurable(event.seq) ? { type: "ended", event } : undefined;
      const running = this.#steps.get(name)?.running;
      return running && { type: "execute", attempt: running.attempt, idempotencyKey: running.idempotencyKey };
    });
  }

  /** Answers with how the step ended, once that is durable. */
  async complete(name: string, output: unknown, attempt: number): Promise<HistoryEvent> {
    this.#assertOpen();
    const work = this.#steps.get(name);
    if (work?.runs(attempt)) work.report("completed", output);
    else if (this.#ended.get(name)?.type !== "step_completed" && !work?.wasReported(attempt, "completed"))
      throw this.#notRunning(name, attempt);
    return this.#until(() => this.#durableEnd(name));
  }

  async fail(name: string, error: unknown, attempt: number): Promise<FailedStep> {
    this.#assertOpen();
    const work = this.#steps.get(name);
    const failed = attempt || (work?.running?.attempt ?? work?.reported?.attempt ?? 0);
    if (work?.runs(attempt)) work.report("failed", error);
    else if (!work?.wasReported(attempt, "failed") && this.#ended.get(name)?.type !== "step_failed")
      throw this.#notRunning(name, attempt);
    const answer = await this.#until<FailedStep>(() => {
      if (this.#durableEnd(name)) return { retryAt: undefined };
      if (!work || work.failedAttempts < failed || !this.#isDurable(work.failedSeq)) return undefined;
      return { retryAt: work.retryAt };
    });
    if (answer.retryAt !== undefined && !work?.wanted) this.#stop(name, answer.retryAt);
    return answer;
  }

  /** Whether the time is over. If it is not, the run is let go of until then. */
  async sleep(name: string, ms: number): Promise<boolean> {
    this.#assertOpen();
    this.#requireKind(name, "sleep");
    this.#stoppedAt.delete(name);
    if (!this.#ended.has(name)) this.#fallAsleep(name, ms);
    const { gate: createdSeq, fireAt = 0 } = this.ops.get(name) ?? { gate: 0 };
    const isDue = fireAt <= this.#now();
    if (!isDue) this.leave();
    this.#asleep.add(name);
    const isOver = await this.#until(() => {
      if (this.#durableEnd(name)) return true;
      return !isDue && this.#isDurable(createdSeq) && !this.#ended.has(name) ? false : undefined;
    }).finally(() => this.#asleep.delete(name));
    if (!isOver) this.#stop(name, fireAt);
    return isOver;
  }

  /** Resolves once the end is durable; it may be another one, which was decided before. */
  async end(end: GuestEnd): Promise<void> {
    if (!this.outcome) {
      this.#assertOpen();
      if (end.type === "completed" && !end.dropsOpenSteps) this.#assertNoneBegun();
      this.#conclude(end);
      this.params.driver?.poke();
    }
    await this.#until(() => (this.#gone?.data["how"] === GONE.ended ? true : undefined));
  }

  // Inside --------------------------------------------------------------------------------------------------------------

  /** Whether all that was recorded, and all that is due, is known. */
  #isReady(): boolean {
    if (this.replaying || this.pausing || this.outcome || !this.params.driver) return false;
    const now = this.#now();
    return ![...this.timers].some(({ fireAt }) => (fireAt as number) <= now);
  }

  #offer(): void {
    this.#offered = true;
    this.#attended = true;
    this.#guests.offer(this);
  }

  /** A step that is still open may keep the run here until then, and no longer. */
  #stop(name: string, dueAt: number): void {
    if (this.#gone) return;
    this.#stoppedAt.add(name);
    this.#guests.stopped(this, name, Math.max(0, dueAt - this.#now()));
  }

  #now(): number {
    return Math.max(this.turnAt, this.params.now?.() ?? 0);
  }

  #fallAsleep(name: string, ms: number): void {
    this.turnAt = this.#now();
    if (!this.ops.get(name)) void this.ask(this.#sleep, name, this.root, { fireAt: this.turnAt + ms });
    this.params.driver?.poke();
  }

  #askStep(name: string): GuestWork {
    const work = new GuestWork(() => {
      // Whoever asked for the attempt waits for it.
      this.#attended = true;
      this.#changed();
    });
    void this.ask(this.#step, name, this.root, { step: work });
    this.#steps.set(name, work);
    return work;
  }

  #handOut(name: string, options: ResolvedStepOptions = DEFAULT_OPTIONS): void {
    this.#attended = true;
    const work = this.#steps.get(name) ?? this.#askStep(name);
    const op = this.ops.get(name);
    if (!op) return;
    if (!work.running) work.options = options;
    if (!work.handed) this.hand(op);
    work.handed = true;
    work.wanted = true;
    // It is too early: the run is let go of until then, and so is the guest.
    if (work.retryAt !== undefined && work.retryAt > this.#now()) this.#attended = false;
    this.params.driver?.poke();
  }

  #settled(op: Op, event: HistoryEvent): void {
    op.resolve(undefined);
    this.#ended.set(op.id, event);
    // Its guest has not been told to stop: the time was over before that was durable.
    if (this.#asleep.has(op.id)) this.#attended = true;
    this.#overWithoutReport(op);
    this.#changed();
  }

  #noted(op: Op, event: HistoryEvent): boolean {
    const noted = STEP.note(op, event);
    const work = this.#steps.get(op.id);
    if (event.type !== "step_attempt_failed" || !work) return noted;
    work.failedSeq = event.seq;
    work.wanted = false;
    // Its guest is told to stop; the run comes back when the step is due again.
    if (event.seq > this.recorded.length) this.#attended = false;
    this.#overWithoutReport(op);
    this.#changed();
    return noted;
  }

  /** The guest has not said how the attempt ended: it took too long. Whoever executes it must not go on with the run. */
  #overWithoutReport({ id }: Op): void {
    const work = this.#steps.get(id);
    if (!work?.cut) return;
    work.cut = false;
    this.#attended = false;
    this.#guests.left(this, "lost");
  }

  /** Steps of an earlier hold that the guest has not asked for do not count: its code may not need them any longer. */
  #assertNoneBegun(): void {
    const open = [...this.#steps]
      .filter(([name, { wanted }]) => (wanted || this.#stoppedAt.has(name)) && !this.#ended.has(name))
      .map(([name]) => name);
    if (open.length > 0) throw stepsOpen(this.run.runId, open);
  }

  /** The guest has decided how the run ends: there is no turn for it. */
  #conclude(end: GuestEnd): void {
    const pending = this.ops.pending();
    this.conclude(this.#outcomeOf(end));
    for (const op of pending) {
      this.release(op);
      this.ops.withdraw(op);
    }
  }

  #outcomeOf(end: GuestEnd): Outcome {
    if (end.type === "completed") {
      const { output: value } = end;
      const output = this.codec.encode(value, `output of workflow "${this.run.workflow}"`);
      return { type: "completed", value, output };
    }
    const retry = this.failures.retryByHand(end.error, this.askedSeq);
    return { type: "failed", error: endError(this, end.error), compensation: null, retry };
  }

  #durableEnd(name: string): HistoryEvent | undefined {
    const event = this.#ended.get(name);
    return event && this.#isDurable(event.seq) ? event : undefined;
  }

  #isDurable(seq: number): boolean {
    return seq <= this.#durableSeq;
  }

  #until<T>(ready: () => T | undefined): Promise<T> {
    return new Promise((resolve, refuse) => {
      const settle = (): boolean => {
        const answer = ready();
        if (answer !== undefined) resolve(answer);
        return answer !== undefined;
      };
      if (settle()) return;
      if (this.#gone) refuse(this.#gone);
      else this.#waiters.add({ settle, refuse });
    });
  }

  #changed(): void {
    for (const waiter of this.#waiters) if (waiter.settle()) this.#waiters.delete(waiter);
  }

  #assertOpen(): void {
    if (this.#gone) throw this.#gone;
    if (this.outcome || this.cancellation) throw lost(this.run.runId, GONE.ended);
  }

  #notRunning(name: string, attempt: number): HoldfastError {
    return this.#steps.get(name)?.cut ? lost(this.run.runId, GONE.lost) : notRunning(name, attempt);
  }

  #requireKind(name: string, kind: "step" | "sleep"): void {
    const ended = this.#ended.get(name);
    const known = ended ? (ended.type === "timer_fired" ? "sleep" : "step") : this.ops.get(name)?.kind;
    if (known === undefined || known === kind) return;
    throw new HoldfastError(
      "invalid_argument",
      `"${name}" is a ${known} of this run, not a ${kind}. Take another name.`,
      {
        data: { argument: "step_name" },
      },
    );
  }
}

const GONE: Readonly<Record<RunDeparture, string>> = {
  ended: "it has ended, or is about to",
  suspended: "it waits for its time",
  parked: "it is parked",
  lost: "another guest may have it",
};

function lost(runId: string, how: string): HoldfastError {
  return new HoldfastError("guest_run_lost", `Run ${runId} is not yours any longer: ${how}. Drop it.`, {
    data: { runId, how },
  });
}

function stepsOpen(runId: string, open: readonly string[]): HoldfastError {
  const shown = open.slice(0, 5).map((name) => `"${name}"`);
  const named =
    open.length > shown.length ? `${shown.join(", ")} and ${open.length - shown.length} more` : shown.join(", ");
  const what = open.length === 1 ? `step ${named} has` : `steps ${named} have`;
  const message = `Run ${runId} cannot be completed: ${what} begun and not ended. End what is open, or set drop_open_steps.`;
  return new HoldfastError("steps_open", message, { data: { runId, steps: open.slice(0, 5) } });
}

function notRunning(name: string, attempt: number): HoldfastError {
  const which = attempt === 0 ? "No attempt" : `Attempt ${attempt}`;
  const message = `${which} of step "${name}" is ${attempt === 0 ? "" : "not "}in progress. Call BeginStep first.`;
  return new HoldfastError("task_closed", message, { data: { step: name } });
}
