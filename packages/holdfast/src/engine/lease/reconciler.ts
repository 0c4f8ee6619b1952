/**
 * The reconciler: settles differences between the runs that a worker holds and those that the store thinks it holds.
 * Something that is on its way may explain a difference, and on a busy worker something always is. So every run is judged
 * by itself:
 *  R1. A run that the store lists and that is not known here is a stranger once all claims and starts that were on their
 *      way when it was first seen have been answered. Strangers are given back.
 *  R2. A run that was held here under one epoch all the while, and is not being let go of, but that the store does not list
 *      under that epoch, was taken away. It is dropped.
 */
import type { Clock } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { HeldRun, Store } from "../../ports/store.ts";
import type { HeldRuns } from "../claim/held-runs.ts";

export interface ReconcilerParams {
  readonly clock: Clock;
  readonly store: Store;
  readonly log: Logger;
  readonly held: HeldRuns;
  readonly namespace: string;
  readonly workerId: () => string;
  /** Since when the oldest call has been on its way that may bring us a run; undefined when there is none. */
  readonly askingSince: () => number | undefined;
}

interface Stranger extends HeldRun {
  readonly seenAt: number;
}

export class Reconciler {
  readonly #params: ReconcilerParams;
  #strangers = new Map<string, Stranger>();
  #busy = false;

  constructor(params: ReconcilerParams) {
    this.#params = params;
  }

  /** A heartbeat has told how many runs the store thinks this worker holds. */
  async compare(heldCount: number): Promise<void> {
    const { held, log, workerId } = this.#params;
    if (this.#busy || (heldCount === held.count && this.#strangers.size === 0)) return;
    this.#busy = true;
    try {
      await this.#compare(workerId());
    } catch (error) {
      log.warn({ workerId: workerId(), error: String(error) }, "could not compare held runs with the store");
    }
    this.#busy = false;
  }

  async #compare(workerId: string): Promise<void> {
    const { held, store, namespace } = this.#params;
    const before = held.all().map((executor) => ({ executor, epoch: executor.run.epoch }));
    const listed = await store.workers.readHeld({ namespace, workerId });
    if (this.#params.workerId() !== workerId) return this.#strangers.clear();
    const epochs = new Map(listed.map(({ runId, epoch }) => [runId, epoch]));
    for (const { executor, epoch } of before) {
      if (epochs.get(executor.runId) !== epoch && executor.keeps(epoch)) executor.drop();
    }
    await this.#giveBack(workerId, this.#provenStrangers(listed));
  }

  #provenStrangers(listed: readonly HeldRun[]): Stranger[] {
    const { clock, held, askingSince } = this.#params;
    const seenBefore = this.#strangers;
    this.#strangers = new Map();
    for (const { runId, epoch } of listed) {
      if (held.has(runId)) continue;
      const before = seenBefore.get(runId);
      const stranger = before?.epoch === epoch ? before : { runId, epoch, seenAt: clock.monotonic() };
      this.#strangers.set(runId, stranger);
    }
    const oldest = askingSince() ?? Number.POSITIVE_INFINITY;
    return [...this.#strangers.values()].filter(({ seenAt }) => oldest > seenAt);
  }

  async #giveBack(workerId: string, strangers: readonly Stranger[]): Promise<void> {
    if (strangers.length === 0) return;
    const { log, store, namespace } = this.#params;
    log.warn({ workerId, runs: strangers.length }, "giving back runs that this worker does not know");
    const runs = strangers.map(({ runId, epoch }) => ({ runId, epoch }));
    await store.runs.releaseIfHeld({ namespace, workerId, runs });
    for (const { runId } of strangers) this.#strangers.delete(runId);
  }
}
