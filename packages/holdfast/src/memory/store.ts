/**
 * The in-memory store: the reference model of the store port, and the default in tests.
 *
 * Every call takes effect in a macrotask of its own, settles in a later one, and can be made to fail before or after taking
 * effect. An engine that relies on immediate answers, or on replies that are never lost, fails here.
 */
import type { Clock } from "../ports/clock.ts";
import type { Notifier } from "../ports/notifier.ts";
import type * as port from "../ports/store.ts";
import type { StoreMethod } from "../ports/store-calls.ts";
import * as asks from "./asks.ts";
import { payDebts, readDebts } from "./debts/debts.ts";
import { watchRuns } from "./debts/watches.ts";
import { readHistories } from "./histories.ts";
import { deliverMessages, readInbox } from "./inbox.ts";
import { readLeader } from "./leadership.ts";
import { listLocks, passLocks } from "./locks/locks.ts";
import { allowNamespace, disallowNamespace, readNamespace } from "./namespaces.ts";
import { readPayloads, replacePayloads } from "./payloads.ts";
import { readBacklog } from "./queues/backlog.ts";
import { listQueues, setQueue } from "./queues/queues.ts";
import { readReplies } from "./replies.ts";
import { listRetention, readRetention, setRetention } from "./retention.ts";
import { claimRuns, holdRunsIfParkedByOtherCode } from "./runs/claims.ts";
import { commitRuns } from "./runs/commits.ts";
import { debounceRun } from "./runs/debounces.ts";
import { forkRun } from "./runs/forks.ts";
import { reopenRunIfFailed, restartRunIfHeld, terminateRuns } from "./runs/interventions.ts";
import { countRuns, listRuns, readRuns } from "./runs/listing.ts";
import { pauseRunIfIdle, resumeRunIfParked } from "./runs/parking.ts";
import { purgeRuns } from "./runs/purges.ts";
import { startRuns } from "./runs/starts.ts";
import * as schedules from "./schedules.ts";
import { addSegmentsIfCurrent, dropSegments, readSegments } from "./segments.ts";
import { emptyState, type MemoryState } from "./state.ts";
import { sweepWorkers } from "./sweeps.ts";
import { claimTasks } from "./tasks/claims.ts";
import { finishTasks } from "./tasks/finishes.ts";
import { listTasks, readTasks, taskPosition } from "./tasks/listing.ts";
import { beatTasks, cancelTasks, expiredTasks } from "./tasks/reports.ts";
import { MemoryTransaction, recordedOutcome, recordOutcome, untilAborted } from "./transactions/transact.ts";
import * as transfers from "./transfers.ts";
import * as versions from "./versions.ts";
import { addRates, askToDrain, forgetWorkers, readRates, readWorkerLog } from "./worker-log.ts";
import * as workers from "./workers.ts";

/** Called twice for every call; if it returns an error, the caller sees that. */
export type StoreFault = (moment: "before" | "after", method: StoreMethod, params: unknown) => Error | undefined;

/** Options of `MemoryStore`, for tests that drive a store directly. */
export interface MemoryStoreOptions {
  /** The store's source of time. */
  readonly clock: Clock;
  /** Where the store sends its hints. */
  readonly notifier: Notifier;
  /**
   * Makes calls of the store fail on purpose.
   * @defaultValue no call fails
   */
  readonly fault?: StoreFault;
}

const CAPABILITIES: port.StoreCapabilities = {
  transactions: { kind: "memory", words: "memory. In tests, mock the step." },
  segments: false,
};

/** The store of the test engine and of `connect("memory:")`. */
export class MemoryStore implements port.Store {
  /** How many times each method was called: what a database would see as statements. */
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

  readonly runs: port.RunStore = {
    start: this.#effect("runs.start", startRuns),
    debounce: this.#effect("runs.debounce", debounceRun),
    claim: this.#effect("runs.claim", claimRuns),
    commit: this.#effect("runs.commit", commitRuns),
    releaseIfHeld: this.#effect("runs.releaseIfHeld", workers.releaseRunsIfHeld),
    holdIfParkedByOtherCode: this.#effect("runs.holdIfParkedByOtherCode", holdRunsIfParkedByOtherCode),
    pauseIfIdle: this.#effect("runs.pauseIfIdle", pauseRunIfIdle),
    resumeIfParked: this.#effect("runs.resumeIfParked", resumeRunIfParked),
    restartIfHeld: this.#effect("runs.restartIfHeld", restartRunIfHeld),
    terminate: this.#effect("runs.terminate", terminateRuns),
    reopenIfFailed: this.#effect("runs.reopenIfFailed", reopenRunIfFailed),
    fork: this.#effect("runs.fork", forkRun),
    watch: this.#effect("runs.watch", watchRuns),
    read: this.#effect("runs.read", readRuns),
    list: this.#effect("runs.list", listRuns),
    count: this.#effect("runs.count", countRuns),
    purge: this.#effect("runs.purge", purgeRuns),
  };

  readonly histories: port.HistoryStore = { read: this.#effect("histories.read", readHistories) };

  readonly segments: port.SegmentStore = {
    read: this.#effect("segments.read", readSegments),
    addIfCurrent: this.#effect("segments.addIfCurrent", addSegmentsIfCurrent),
    drop: this.#effect("segments.drop", dropSegments),
  };

  readonly inbox: port.InboxStore = {
    deliver: this.#effect("inbox.deliver", deliverMessages),
    read: this.#effect("inbox.read", readInbox),
    replies: this.#effect("inbox.replies", readReplies),
  };

  readonly tasks: port.TaskStore = {
    claim: this.#effect("tasks.claim", claimTasks),
    finish: this.#effect("tasks.finish", finishTasks),
    beat: this.#effect("tasks.beat", beatTasks),
    cancel: this.#effect("tasks.cancel", cancelTasks),
    expired: this.#effect("tasks.expired", expiredTasks),
    read: this.#effect("tasks.read", readTasks),
    list: this.#effect("tasks.list", listTasks),
    position: this.#effect("tasks.position", taskPosition),
  };

  readonly versions: port.VersionStore = {
    register: this.#effect("versions.register", versions.registerVersions),
    updateIfKnown: this.#effect("versions.updateIfKnown", versions.updateVersionIfKnown),
    list: this.#effect("versions.list", versions.listVersions),
  };

  readonly workers: port.WorkerStore = {
    register: this.#effect("workers.register", workers.registerWorker),
    heartbeat: this.#effect("workers.heartbeat", workers.heartbeatWorker),
    readHeld: this.#effect("workers.readHeld", workers.readHeld),
    readHeldTasks: this.#effect("workers.readHeldTasks", workers.readHeldTasks),
    stop: this.#effect("workers.stop", workers.stopWorker),
    sweep: this.#effect("workers.sweep", sweepWorkers),
    list: this.#effect("workers.list", workers.listWorkers),
    askToDrain: this.#effect("workers.askToDrain", askToDrain),
    readLog: this.#effect("workers.readLog", readWorkerLog),
    addRates: this.#effect("workers.addRates", addRates),
    readRates: this.#effect("workers.readRates", readRates),
    forget: this.#effect("workers.forget", forgetWorkers),
    readLeader: this.#effect("workers.readLeader", readLeader),
  };

  readonly debts: port.DebtStore = {
    read: this.#effect("debts.read", readDebts),
    pay: this.#effect("debts.pay", payDebts),
  };

  readonly locks: port.LockStore = {
    pass: this.#effect("locks.pass", passLocks),
    list: this.#effect("locks.list", listLocks),
  };

  readonly retention: port.RetentionStore = {
    set: this.#effect("retention.set", setRetention),
    read: this.#effect("retention.read", readRetention),
    list: this.#effect("retention.list", listRetention),
  };

  readonly transfers: port.TransferStore = {
    read: this.#effect("transfers.read", transfers.readRests),
    identify: this.#effect("transfers.identify", transfers.identifyStore),
    departIfIdle: this.#effect("transfers.departIfIdle", transfers.departRunIfIdle),
    departures: this.#effect("transfers.departures", transfers.listDepartures),
    arrive: this.#effect("transfers.arrive", transfers.arriveRun),
    confirm: this.#effect("transfers.confirm", transfers.confirmDeparture),
  };

  readonly queues: port.QueueStore = {
    setIfRevision: this.#effect("queues.setIfRevision", setQueue),
    list: this.#effect("queues.list", listQueues),
    backlog: this.#effect("queues.backlog", readBacklog),
  };

  readonly namespaces: port.NamespaceStore = {
    allow: this.#effect("namespaces.allow", allowNamespace),
    disallow: this.#effect("namespaces.disallow", disallowNamespace),
    read: this.#effect("namespaces.read", readNamespace),
  };

  readonly asks: port.AskStore = {
    ask: this.#effect("asks.ask", asks.putAsks),
    take: this.#effect("asks.take", asks.takeAsks),
    answer: this.#effect("asks.answer", asks.answerAsks),
    read: this.#effect("asks.read", asks.readAsks),
    forget: this.#effect("asks.forget", asks.forgetAsks),
  };

  readonly payloads: port.PayloadStore = {
    read: this.#effect("payloads.read", readPayloads),
    replaceIfUnchanged: this.#effect("payloads.replaceIfUnchanged", replacePayloads),
  };

  readonly schedules: port.ScheduleStore = {
    putIfRevision: this.#effect("schedules.putIfRevision", schedules.putSchedules),
    due: this.#effect("schedules.due", schedules.dueSchedules),
    read: this.#effect("schedules.read", schedules.readSchedules),
    decisions: this.#effect("schedules.decisions", schedules.readDecisions),
    list: this.#effect("schedules.list", schedules.listSchedules),
    remove: this.#effect("schedules.remove", schedules.removeSchedule),
  };

  readonly capabilities = CAPABILITIES;

  async transact(params: port.TransactParams): Promise<port.TransactResult> {
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

  readClock(): Promise<{ readonly now: number }> {
    return this.#call("readClock", undefined, (now) => ({ now }));
  }

  async close(): Promise<void> {}

  #effect<P, T>(
    method: StoreMethod,
    effect: (state: MemoryState, params: P, now: number) => T,
  ): (params: P) => Promise<T> {
    return (params) => this.#call(method, params, (now) => effect(this.state, params, now));
  }

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
