/**
 * The in-memory store: the reference model of the store port, and the default in tests.
 *
 * Every call settles in a later macrotask, takes effect in a macrotask of its own, and can be made to fail before or
 * after taking effect. An engine that relied on a store that answers at once, or whose replies are never lost, fails here.
 */
import type { Clock } from "../ports/clock.ts";
import type { Notifier } from "../ports/notifier.ts";
import type * as port from "../ports/store.ts";
import { claimRuns, holdRunsIfParkedByOtherCode } from "./claims.ts";
import { commitRuns } from "./commits.ts";
import { deliverMessages, readInbox } from "./inbox.ts";
import { countRuns, listRuns } from "./listing.ts";
import { reopenRunIfFailed } from "./reopen.ts";
import { purgeRuns } from "./retention.ts";
import { startRuns } from "./starts.ts";
import { emptyState, findRun, leanRow, type MemoryState } from "./state.ts";
import { MemoryTransaction, recordedOutcome, recordOutcome, requireMemory, untilAborted } from "./transact.ts";
import * as versions from "./versions.ts";
import * as workers from "./workers.ts";

/** A call of the store. */
export type StoreMethod = Exclude<keyof port.Store, "close">;

/** Called twice for every call; an error that it returns is what the caller sees. */
export type StoreFault = (moment: "before" | "after", method: StoreMethod, params: unknown) => Error | undefined;

/** Options of `MemoryStore`, for tests that drive a store directly. */
export interface MemoryStoreOptions {
  /** Where the store takes the time from. */
  readonly clock: Clock;
  /** Whom the store tells that something is due. */
  readonly notifier: Notifier;
  /**
   * Lets calls of the store fail on purpose.
   * @defaultValue no call fails
   */
  readonly fault?: StoreFault;
}

/** The store of the test engine and of `connect("memory:")`. */
export class MemoryStore implements port.Store {
  /** How often each method was called: what a database would see as statements. */
  readonly calls: Partial<Record<StoreMethod, number>> = {};
  /** @internal */
  readonly state: MemoryState = emptyState();
  fault: StoreFault | undefined;
  readonly #clock: Clock;
  readonly #notifier: Notifier;

  constructor(options: MemoryStoreOptions) {
    this.#clock = options.clock;
    this.#notifier = options.notifier;
    this.fault = options.fault;
  }

  startRuns(params: port.StartRunsParams) {
    return this.#call("startRuns", params, (now) => startRuns(this.state, params, now));
  }
  claimRuns(params: port.ClaimRunsParams) {
    return this.#call("claimRuns", params, (now) => claimRuns(this.state, params, now));
  }
  commitRuns(params: port.CommitRunsParams) {
    return this.#call("commitRuns", params, (now) => commitRuns(this.state, params, now));
  }
  deliverMessages(params: port.DeliverMessagesParams) {
    return this.#call("deliverMessages", params, (now) => deliverMessages(this.state, params, now));
  }
  async transact(params: port.TransactParams): Promise<port.TransactResult> {
    requireMemory(params);
    if (params.again) {
      const earlier = await this.#call("transact", params, () => recordedOutcome(this.state, params));
      if (earlier) return { outcome: "recorded", message: earlier };
    }
    params.signal.throwIfAborted();
    const tx = new MemoryTransaction();
    const payload = await untilAborted(params.signal, params.work(tx));
    return this.#call("transact", params, (now) => {
      params.signal.throwIfAborted();
      return recordOutcome(this.state, params, tx, payload, now);
    });
  }
  readInbox(params: port.ReadInboxParams) {
    return this.#call("readInbox", params, () => readInbox(this.state, params));
  }
  readHistories(params: port.ReadHistoriesParams) {
    return this.#call("readHistories", params, () =>
      params.runs.map(({ runId, afterSeq }) =>
        (this.state.events.get(runId) ?? []).slice(afterSeq, afterSeq + params.limitPerRun),
      ),
    );
  }
  terminateRuns(params: port.TerminateRunsParams) {
    return this.#call("terminateRuns", params, (now) => workers.terminateRuns(this.state, params, now));
  }
  resumeRunIfParked(params: port.RunRef) {
    return this.#call("resumeRunIfParked", params, (now) => workers.resumeRunIfParked(this.state, params, now));
  }
  holdRunsIfParkedByOtherCode(params: port.TakeUpParams) {
    return this.#call("holdRunsIfParkedByOtherCode", params, (now) =>
      holdRunsIfParkedByOtherCode(this.state, params, now),
    );
  }
  reopenRunIfFailed(params: port.ReopenParams) {
    return this.#call("reopenRunIfFailed", params, (now) => reopenRunIfFailed(this.state, params, now));
  }
  purgeRuns(params: port.PurgeRunsParams) {
    return this.#call("purgeRuns", params, () => purgeRuns(this.state, params));
  }
  registerVersions(params: port.RegisterVersionsParams) {
    return this.#call("registerVersions", params, (now) => versions.registerVersions(this.state, params, now));
  }
  updateVersionIfKnown(params: port.UpdateVersionParams) {
    return this.#call("updateVersionIfKnown", params, () => versions.updateVersionIfKnown(this.state, params));
  }
  listVersions(params: { namespace: string; workflow?: string }) {
    return this.#call("listVersions", params, () => versions.listVersions(this.state, params));
  }
  registerWorker(params: port.RegisterWorkerParams) {
    return this.#call("registerWorker", params, (now) => workers.registerWorker(this.state, params, now));
  }
  heartbeatWorker(params: port.HeartbeatParams) {
    return this.#call("heartbeatWorker", params, (now) => workers.heartbeatWorker(this.state, params, now));
  }
  readHeld(params: { workerId: string }) {
    return this.#call("readHeld", params, () => workers.readHeld(this.state, params));
  }
  releaseRunsIfHeld(params: port.ReleaseRunsParams) {
    return this.#call("releaseRunsIfHeld", params, (now) => workers.releaseRunsIfHeld(this.state, params, now));
  }
  stopWorker(params: { workerId: string }) {
    return this.#call("stopWorker", params, (now) => workers.stopWorker(this.state, params, now));
  }
  sweepWorkers(params: port.SweepParams) {
    return this.#call("sweepWorkers", params, (now) => workers.sweepWorkers(this.state, params, now));
  }
  listWorkers(params: { namespace: string }) {
    return this.#call("listWorkers", params, () =>
      [...this.state.workers.values()]
        .filter((w) => w.namespace === params.namespace)
        .map((w) => ({ ...w, activeRuns: this.state.held.get(w.workerId)?.size ?? 0 })),
    );
  }
  readClock() {
    return this.#call("readClock", undefined, (now) => ({ now }));
  }
  readRuns(params: { runs: readonly port.RunRef[] }) {
    return this.#call("readRuns", params, () =>
      params.runs.map((ref) => {
        const row = findRun(this.state, ref);
        return row ? { ...row } : null;
      }),
    );
  }
  listRuns(params: port.ListRunsParams) {
    return this.#call("listRuns", params, () => listRuns(this.state, params).map(leanRow));
  }
  countRuns(params: port.RunFilter & { readonly atMost: number | null }) {
    return this.#call("countRuns", params, () => countRuns(this.state, params));
  }
  async close(): Promise<void> {}

  #call<T>(method: StoreMethod, params: unknown, effect: (now: number) => T): Promise<T> {
    this.calls[method] = (this.calls[method] ?? 0) + 1;
    return new Promise<T>((resolve, reject) => {
      this.#clock.immediate(() => {
        const refused = this.fault?.("before", method, params);
        if (refused) return reject(refused);
        let result: T;
        try {
          result = effect(this.#clock.now());
        } catch (error) {
          return reject(error);
        }
        const hints = this.state.hints;
        this.state.hints = [];
        this.#notifier.publish(hints);
        this.#clock.immediate(() => {
          const lost = this.fault?.("after", method, params);
          if (lost) reject(lost);
          else resolve(result);
        });
      });
    });
  }
}
