import { Batcher } from "../../calls/batcher.ts";
import { limitedWait } from "../../calls/limited-wait.ts";
import type { Payload } from "../../model/payload.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { BeatTasksResult, Store, TaskBeat } from "../../ports/store.ts";
import type { TaskAttempt } from "./task-attempt.ts";

const BATCH_SIZE_MAX = 500;
/** A task that reports more often is heard this often. */
const BEAT_MS_MAX = 1_000;
/** Beats leave this often in the time in which one must come. */
const BEATS_PER_SILENCE = 3;
/** How long the end of an attempt waits for its last details. */
const FLUSH_MS = 5_000;

type Heard = BeatTasksResult["outcomes"][number];

export interface BeatsParams {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  readonly stopped: () => boolean;
  /** `progress`: the report had details. */
  readonly onHeard: (attempt: TaskAttempt, heard: Heard, progress: boolean) => void;
}

interface Pulse {
  /** Not sent yet. */
  details: Payload | null;
  waiting: boolean;
  /** Not before it rings is the next one sent. */
  timer: Timer | undefined;
  /** Until it is answered, the next one waits: while the store is away, there is one report of each attempt, not more and more. */
  sending: Promise<void> | undefined;
}

/** The heartbeats of a worker's attempts: of each at most a few in the time in which it must report, all in batches. */
export class Beats {
  readonly #params: BeatsParams;
  readonly #batcher: Batcher<TaskBeat, Heard>;
  readonly #pulses = new Map<TaskAttempt, Pulse>();

  constructor(params: BeatsParams) {
    const { clock, random, store, stopped } = params;
    this.#params = params;
    this.#batcher = new Batcher({
      clock,
      random,
      sizeMax: BATCH_SIZE_MAX,
      send: async (beats) => (await store.tasks.beat({ beats })).outcomes,
      giveUp: stopped,
    });
  }

  /** Resolves once the report is sent, or at once if it waits for the next beat. */
  async beat(attempt: TaskAttempt, details: Payload | null): Promise<void> {
    const pulse = this.#pulses.get(attempt);
    if (!pulse) {
      this.#pulses.set(attempt, { details: null, waiting: false, timer: undefined, sending: undefined });
      return this.#send(attempt, details);
    }
    pulse.details = details ?? pulse.details;
    pulse.waiting = true;
  }

  /** Learns where the attempt stands. */
  ask(attempt: TaskAttempt): Promise<void> {
    return this.#report(attempt, null);
  }

  /**
   * Resolves once everything is sent, also what waits: the next attempt should see it. But not much later, for the end of this one
   * must be reported. Undefined if there is nothing to send.
   */
  flush(attempt: TaskAttempt): Promise<void> | undefined {
    const pulse = this.#pulses.get(attempt);
    this.forget(attempt);
    if (!pulse?.sending && !pulse?.details) return undefined;
    return limitedWait(this.#params.clock, this.#sendAll(attempt, pulse), FLUSH_MS).over;
  }

  async #sendAll(attempt: TaskAttempt, { sending, details }: Pulse): Promise<void> {
    await sending;
    if (details !== null) await this.#report(attempt, details);
  }

  forget(attempt: TaskAttempt): void {
    this.#pulses.get(attempt)?.timer?.cancel();
    this.#pulses.delete(attempt);
  }

  async #send(attempt: TaskAttempt, details: Payload | null): Promise<void> {
    const silenceMs = attempt.task.spec?.heartbeatMs ?? Number.POSITIVE_INFINITY;
    const pulse = this.#pulses.get(attempt) as Pulse;
    pulse.timer = this.#params.clock.setTimer(Math.min(BEAT_MS_MAX, silenceMs / BEATS_PER_SILENCE), () => {
      pulse.timer = undefined;
      this.#next(attempt);
    });
    pulse.sending = this.#report(attempt, details);
    await pulse.sending;
    pulse.sending = undefined;
    this.#next(attempt);
  }

  #next(attempt: TaskAttempt): void {
    const pulse = this.#pulses.get(attempt);
    // What an attempt that is over has left is sent before its end is reported.
    if (!pulse || pulse.timer || pulse.sending || attempt.over) return;
    if (!pulse.waiting) return void this.#pulses.delete(attempt);
    const { details } = pulse;
    pulse.details = null;
    pulse.waiting = false;
    void this.#send(attempt, details);
  }

  /** Never rejects: a beat that could not be sent is like one that was never made. */
  async #report(attempt: TaskAttempt, details: Payload | null): Promise<void> {
    const { namespace, runId, seq, epoch, heldBy } = attempt.task;
    const workerId = heldBy as string;
    try {
      const heard = await this.#batcher.add({
        namespace,
        runId,
        seq,
        epoch,
        by: { type: "holder", workerId },
        details,
      });
      this.#params.onHeard(attempt, heard, details !== null);
    } catch {
      // The worker has stopped, or the store refuses the details.
    }
  }
}
