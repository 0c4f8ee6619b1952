/**
 * The task claimer: keeps the worker's free task slots filled. Like the claimer of runs, it asks the store when a slot is free
 * and something may be due: on a hint, at the earliest known due time, and at intervals in case hints were lost.
 */
import { EarliestTimer } from "../../calls/earliest-timer.ts";
import { isTransient, untilAnswered } from "../../calls/store-retry.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import { uuidV7 } from "../../model/ids.ts";
import type { Task } from "../../model/task.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { Random } from "../../ports/random.ts";
import type { ClaimTasksParams, ClaimTasksResult, Store } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";

/** The due tasks that could not be claimed are locked by others: do not spin. */
const CONTENDED_MS = 20;
const CONTENDED_MS_MAX = 1_000;

export interface TaskClaimerParams {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  readonly storeTime: StoreTime;
  readonly log: Logger;
  readonly telemetry: Telemetry | undefined;
  readonly fallbackMs: number;
  readonly base: () => Pick<ClaimTasksParams, "workerId" | "namespace" | "queues" | "names" | "labels">;
  readonly freeSlots: () => number;
  /** Whether the worker is empty, so that it may claim a suspect. */
  readonly mayTakeSuspect: () => boolean;
  readonly onSuspectDue: () => void;
  /** A claim for a suspect is sent. */
  readonly onSoloAsked: () => void;
  /** It was answered; undefined: none was left, or it has failed. */
  readonly onSoloAnswered: (task: Task | undefined) => void;
  readonly onClaimed: (task: Task) => void;
  readonly onDead: () => void;
}

export class TaskClaimer {
  readonly #params: TaskClaimerParams;
  readonly #timer: EarliestTimer;
  #running = false;
  #flight: { readonly since: number } | undefined;
  #idleWaiters: (() => void)[] = [];
  #wanted = false;
  /** Something may be due that was not asked for, because no slot was free. */
  #starved = false;
  #asking = 0;
  #contended = 0;
  /** Whether the last answer left due tasks in the store. */
  #backlog = true;
  #notedAt = Number.POSITIVE_INFINITY;

  constructor(params: TaskClaimerParams) {
    this.#params = params;
    this.#timer = new EarliestTimer(params.clock, () => this.poke());
  }

  get askingSince(): number | undefined {
    return this.#flight?.since;
  }

  /** How many tasks the claim in flight may return. */
  get asking(): number {
    return this.#asking;
  }

  /** How many slots new tasks must leave free: for the claim in flight, or so that the next one can be made at all. */
  get keepsFree(): number {
    return this.#asking + (this.#starved ? 1 : 0);
  }

  /** Whether others wait that a new task must not overtake. */
  get hasBacklog(): boolean {
    return this.#backlog;
  }

  start(): void {
    this.#running = true;
    this.poke();
  }

  stop(): void {
    this.#running = false;
    this.#wanted = false;
    this.#starved = false;
    this.#timer.cancel();
  }

  /** The claim in flight was made under an id that is no longer valid: its answer, if any, is ignored. */
  abandon(): void {
    this.#land();
  }

  /** Resolves when no claim is in flight. */
  untilIdle(): Promise<void> {
    if (!this.#flight) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  #land(): void {
    this.#flight = undefined;
    this.#asking = 0;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  /** Something may be due, or a slot is free. */
  poke(): void {
    this.#wanted = true;
    const { clock, fallbackMs } = this.#params;
    if (!this.#running || this.#flight) return;
    if (!this.#hasRoom()) {
      this.#starved = true;
      return this.#timer.ringIn(fallbackMs);
    }
    const flight = { since: clock.monotonic() };
    this.#flight = flight;
    clock.immediate(() => void this.#claim(flight));
  }

  slotFreed(): void {
    if (this.#wanted) this.poke();
  }

  noteDueAt(storeAt: number): void {
    const { clock, storeTime } = this.#params;
    const delayMs = storeAt - storeTime.now();
    this.#notedAt = Math.min(this.#notedAt, clock.monotonic() + delayMs);
    if (this.#running) this.#timer.ringIn(delayMs);
  }

  #hasRoom(): boolean {
    if (this.#params.base().workerId === "") return false;
    return this.#params.freeSlots() > 0 || this.#params.mayTakeSuspect();
  }

  /** Without a backlog, half of the free slots: runs of this process can schedule tasks meanwhile. */
  #limit(): number {
    const free = this.#params.freeSlots();
    return this.#backlog ? free : Math.ceil(free / 2);
  }

  async #claim(flight: object): Promise<void> {
    if (this.#flight !== flight) return;
    const { clock, random, store, storeTime, log, telemetry } = this.#params;
    const base = this.#params.base();
    const outdated = (): boolean => this.#flight !== flight || this.#params.base().workerId !== base.workerId;
    const solo = this.#params.mayTakeSuspect();
    const limit = solo ? 1 : this.#limit();
    if (limit > 0 && this.#running && base.workerId !== "") {
      const claimId = uuidV7(clock.now(), random.bytes(16));
      let sentAt = clock.monotonic();
      this.#wanted = false;
      this.#starved = false;
      this.#asking = limit;
      if (solo) this.#params.onSoloAsked();
      this.#notedAt = Number.POSITIVE_INFINITY;
      try {
        const result = await untilAnswered(
          { clock, random },
          (again) => {
            sentAt = clock.monotonic();
            if (again) this.#wanted = true;
            return store.tasks.claim({ ...base, claimId, again, limit, solo });
          },
          () => !this.#running || outdated(),
        );
        storeTime.observe(result.now, sentAt);
        telemetry?.count("tasks_claimed", result.tasks.length, {});
        if (telemetry) reportWaits(telemetry, result);
        if (!outdated()) this.#take(result, limit, solo);
      } catch (error) {
        if (!isTransient(error)) log.error({ error: String(error) }, "claiming tasks failed");
        if (solo && !outdated()) this.#params.onSoloAnswered(undefined);
        if (this.#running) this.#timer.ringIn(this.#params.fallbackMs);
      }
    }
    if (this.#flight !== flight) return;
    this.#land();
    if (this.#wanted) this.poke();
  }

  #take(result: ClaimTasksResult, limit: number, solo: boolean): void {
    const { clock, storeTime, fallbackMs } = this.#params;
    if (!result.live) return this.#params.onDead();
    if (solo) this.#params.onSoloAnswered(result.tasks[0]);
    // A call whose answer was lost may have taken effect after its repetition: what is too many goes back when it is noticed.
    for (const task of result.tasks.slice(0, limit)) this.#params.onClaimed(task);
    if (result.suspectDue) this.#params.onSuspectDue();
    if (this.#params.mayTakeSuspect()) this.#wanted = true;
    this.#backlog = result.moreDue;
    if (!this.#running) return;
    this.#timer.cancel();
    // The store did not know of these yet when it answered.
    if (this.#notedAt < Number.POSITIVE_INFINITY) this.#timer.ringIn(this.#notedAt - clock.monotonic());
    const contended = result.tasks.length === 0 && result.moreDue;
    this.#contended = contended ? this.#contended + 1 : 0;
    if (result.tasks.length >= limit && !solo) {
      this.#wanted = true;
      return;
    }
    this.#timer.ringIn(fallbackMs);
    if (result.moreDue) this.#timer.ringIn(contended ? contendedMs(this.#contended) : 0);
    if (result.nextDueAt !== null) this.#timer.ringIn(result.nextDueAt - storeTime.now());
  }
}

function contendedMs(times: number): number {
  return Math.min(CONTENDED_MS_MAX, CONTENDED_MS * 2 ** Math.min(times - 1, 10));
}

/** A task that was held before has waited for its next attempt, and not for a worker. */
function reportWaits(telemetry: Telemetry, { tasks, now }: ClaimTasksResult): void {
  for (const { epoch, createdAt, queue } of tasks) {
    if (epoch === 1) telemetry.duration("queue_wait", Math.max(0, now - createdAt), { queue, what: "task" });
  }
}
