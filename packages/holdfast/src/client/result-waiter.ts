/**
 * Waits for runs to end. Ends in this process arrive directly. For all others, one shared wait serves every waiter of
 * the client: a hint that names a run, or a slow poll of all awaited runs, costs one call however many wait.
 */
import type { Lifetime } from "../calls/lifetime.ts";
import type { RunEnd, RunEnds, RunParking } from "../calls/run-ends.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { PAUSED } from "../model/operator-notes.ts";
import { isClosed, type Run } from "../model/run.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import type { Logger } from "../ports/logger.ts";
import type { Notifier } from "../ports/notifier.ts";
import type { Store } from "../ports/store.ts";
import { onIdleProcess } from "../system/shutdown-signals.ts";

/** How often to look for the results that callers wait for, in case no hint announced an end. */
export const RESULT_LOOK_MS = 2_000;

const RUNS_PER_LOOK = 1_000;

/** How a wait ends: the run has ended, or it is parked. */
export type RunFate = RunEnd | RunParking;

interface Waiter {
  /** Whether to keep waiting while the run is parked. */
  readonly patient: boolean;
  readonly resolve: (fate: RunFate) => void;
  readonly reject: (error: unknown) => void;
}

export interface ResultWaiterParams {
  readonly clock: Clock;
  readonly store: Store;
  readonly log: Logger;
  readonly notifier: Notifier;
  readonly namespace: string;
  readonly ends: RunEnds;
  /** Whether a worker of this process holds the run: then its end arrives from there, without polling. */
  readonly isHeldHere: (runId: string) => boolean;
  /** How often to poll for ends that no hint announced. */
  readonly lookMs: number;
  readonly life: Lifetime;
}

export class ResultWaiter {
  readonly #params: ResultWaiterParams;
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #unsubscribe: (() => void)[];
  /** What ends the interest in the hints of a run, where hints come by interest. */
  readonly #watches = new Map<string, () => void>();
  readonly #hinted = new Set<string>();
  #looking = false;
  #timer: Timer | undefined;
  /** The process is about to end: the waits no longer keep it alive. */
  #leaving = false;

  constructor(params: ResultWaiterParams) {
    this.#params = params;
    params.life.watch(() => this.#close());
    this.#unsubscribe = [
      params.ends.subscribe({ ended: (end) => this.#settle(end), parked: (parking) => this.#tellParked(parking) }),
      params.notifier.subscribe((hint) => {
        if (hint.type !== "ended" || !this.#waiters.has(hint.runId)) return;
        this.#hinted.add(hint.runId);
        this.#look();
      }),
    ];
  }

  /**
   * Resolves when the run has ended or, unless `patient`, when it is parked for any reason but a person's pause. The
   * first poll is immediate, because either may already have happened.
   */
  wait(runId: string, patient: boolean): { readonly fate: Promise<RunFate>; cancel(): void } {
    this.#params.life.assertOpen();
    let waiter: Waiter | undefined;
    const fate = new Promise<RunFate>((resolve, reject) => {
      waiter = { patient, resolve, reject };
      const waiters = this.#waiters.get(runId);
      if (waiters) waiters.add(waiter);
      else this.#add(runId, waiter);
      if (this.#waiters.size === 1 && !this.#leaving) this.#timer?.ref?.();
    });
    if (!this.#params.isHeldHere(runId)) {
      this.#hinted.add(runId);
      this.#look();
    }
    this.#schedule();
    return { fate, cancel: () => this.#forget(runId, waiter as Waiter) };
  }

  /**
   * A signal has stopped the workers of this process, which is about to end as well. Waits for results continue as long
   * as something else keeps the process alive, and are refused once nothing does: they would never settle otherwise.
   */
  leave(): void {
    if (this.#leaving || this.#params.life.over) return;
    this.#leaving = true;
    this.#timer?.unref?.();
    this.#unsubscribe.push(
      onIdleProcess(() =>
        this.#refuse("The process is ending on a signal, and nothing was left but this wait for a result."),
      ),
    );
  }

  #close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#timer?.cancel();
    this.#refuse("The client was closed while a result was awaited.");
  }

  #refuse(why: string): void {
    const error = new HoldfastError("client_closed", `${why} The run itself continues.`);
    for (const waiters of this.#waiters.values()) for (const waiter of waiters) waiter.reject(error);
    this.#waiters.clear();
  }

  #add(runId: string, waiter: Waiter): void {
    this.#waiters.set(runId, new Set([waiter]));
    const { notifier } = this.#params;
    if (notifier.watch) this.#watches.set(runId, notifier.watch([runId]));
  }

  #forget(runId: string, waiter: Waiter): void {
    const waiters = this.#waiters.get(runId);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#remove(runId);
  }

  /** If nothing is awaited any more, the timer must not keep the process alive. */
  #remove(runId: string): void {
    this.#waiters.delete(runId);
    this.#watches.get(runId)?.();
    this.#watches.delete(runId);
    if (this.#waiters.size === 0) this.#timer?.unref?.();
  }

  #schedule(): void {
    if (this.#timer || this.#params.life.over) return;
    this.#timer = this.#params.clock.setTimer(this.#params.lookMs, () => {
      this.#timer = undefined;
      if (this.#waiters.size === 0) return;
      for (const runId of this.#waiters.keys()) if (!this.#params.isHeldHere(runId)) this.#hinted.add(runId);
      if (this.#hinted.size > 0) this.#look();
      this.#schedule();
    });
    if (this.#leaving) this.#timer.unref?.();
  }

  #look(): void {
    if (this.#looking || this.#params.life.over) return;
    this.#looking = true;
    this.#params.clock.immediate(() => void this.#readHinted());
  }

  async #readHinted(): Promise<void> {
    while (this.#hinted.size > 0 && !this.#params.life.over) {
      const runIds = [...this.#hinted].slice(0, RUNS_PER_LOOK);
      for (const runId of runIds) this.#hinted.delete(runId);
      const wanted = runIds.filter((runId) => this.#waiters.has(runId));
      if (wanted.length === 0) continue;
      try {
        const { store, namespace } = this.#params;
        const runs = await store.runs.read({ runs: wanted.map((runId) => ({ namespace, runId })) });
        runs.forEach((run, i) => {
          const runId = wanted[i] as string;
          if (!run) this.#giveUp(runId);
          else if (run.runId !== runId) this.#settle(continuedAs(runId, run));
          else if (isClosed(run.status)) this.#settle(endOf(run));
          else if (run.status === "parked") this.#tellParked({ runId: run.runId, status: "parked", error: run.error });
        });
      } catch (error) {
        if (this.#params.life.over) return;
        // The next poll repeats it.
        this.#params.log.warn(
          { error: String(error) },
          "could not read the results of awaited runs; the next poll repeats it",
        );
        break;
      }
    }
    this.#looking = false;
  }

  /** The awaited run existed once, so it must have been purged. */
  #giveUp(runId: string): void {
    const error = new HoldfastError(
      "run_not_found",
      `Run ${runId} has ended and was purged; its result no longer exists.`,
      {
        data: { runId },
      },
    );
    for (const waiter of this.#waiters.get(runId) ?? []) waiter.reject(error);
    this.#remove(runId);
  }

  #tellParked(parking: RunParking): void {
    const { runId, error } = parking;
    // Whoever has paused it will resume it.
    if (error?.code === PAUSED) return;
    for (const waiter of [...(this.#waiters.get(runId) ?? [])]) {
      if (waiter.patient) continue;
      this.#forget(runId, waiter);
      waiter.resolve(parking);
    }
  }

  #settle(end: RunEnd): void {
    const waiters = this.#waiters.get(end.runId);
    if (!waiters) return;
    this.#remove(end.runId);
    for (const waiter of waiters) waiter.resolve(end);
  }
}

/** The end of a run that was purged since, and that the other one continues. */
function continuedAs(runId: string, later: Run): RunEnd {
  const status = "continued";
  return { runId, status, output: null, error: null, compensation: null, continuedAs: later.runId };
}

export function endOf(run: Run): RunEnd {
  return {
    runId: run.runId,
    status: run.status as RunEnd["status"],
    output: run.output,
    error: run.error,
    compensation: run.compensation,
    continuedAs: run.continuedAs,
  };
}
