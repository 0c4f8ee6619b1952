/**
 * The reconciler: settles differences between the runs that a worker holds and those that the store thinks it holds. A call
 * in flight may explain a difference, and a busy worker always has one. So every run is judged separately:
 *  R1. A run that the store lists but this worker does not know is an unknown claim once all claims and starts that were in
 *      flight when it was first seen have been answered, and the store still lists it: it may have ended here while the list
 *      was on its way. Unknown claims are released.
 *  R2. A run that was held here under one epoch without interruption, and is not being given up, but that the store does not
 *      list under that epoch, was reclaimed. It is dropped.
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
  /** Since when the oldest call that may bring us a run has been in flight; undefined if none is. */
  readonly askingSince: () => number | undefined;
}

interface UnknownClaim extends HeldRun {
  readonly seenAt: number;
}

export class Reconciler {
  readonly #params: ReconcilerParams;
  #unknown = new Map<string, UnknownClaim>();
  #busy = false;

  constructor(params: ReconcilerParams) {
    this.#params = params;
  }

  /** A heartbeat's answer says how many runs the store thinks this worker holds. */
  async compare(heldCount: number): Promise<void> {
    const { held, log, workerId } = this.#params;
    if (this.#busy || (heldCount === held.count && this.#unknown.size === 0)) return;
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
    if (this.#params.workerId() !== workerId) return this.#unknown.clear();
    const epochs = new Map(listed.map(({ runId, epoch }) => [runId, epoch]));
    for (const { executor, epoch } of before) {
      if (epochs.get(executor.runId) !== epoch && executor.keeps(epoch)) executor.drop();
    }
    await this.#release(workerId, this.#provenUnknown(listed));
  }

  #provenUnknown(listed: readonly HeldRun[]): UnknownClaim[] {
    const { clock, held, askingSince } = this.#params;
    const seenBefore = this.#unknown;
    this.#unknown = new Map();
    for (const { runId, epoch } of listed) {
      if (held.has(runId)) continue;
      const before = seenBefore.get(runId);
      const claim = before?.epoch === epoch ? before : { runId, epoch, seenAt: clock.monotonic() };
      this.#unknown.set(runId, claim);
    }
    const oldest = askingSince() ?? Number.POSITIVE_INFINITY;
    return [...this.#unknown.values()].filter(
      (claim) => seenBefore.get(claim.runId) === claim && oldest > claim.seenAt,
    );
  }

  async #release(workerId: string, claims: readonly UnknownClaim[]): Promise<void> {
    if (claims.length === 0) return;
    const { log, store, namespace } = this.#params;
    log.warn(
      { workerId, runs: claims.length },
      "the store lists runs for this worker that it does not know; releasing them",
    );
    const runs = claims.map(({ runId, epoch }) => ({ runId, epoch }));
    await store.runs.releaseIfHeld({ namespace, workerId, runs });
    for (const { runId } of claims) this.#unknown.delete(runId);
  }
}
