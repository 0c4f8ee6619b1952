/**
 * The store on one SQLite file. A call is one transaction (transactions.ts) around one function from the file named after its
 * noun. These functions read like those of the memory store.
 */
import type * as port from "holdfast/adapter";
import * as asks from "./asks.ts";
import type { Call } from "./database/call.ts";
import { payDebts, readDebts } from "./debts/debts.ts";
import { watchRuns } from "./debts/watches.ts";
import { readHistories } from "./histories.ts";
import { deliverMessages, readInbox } from "./inbox.ts";
import { readLeader } from "./leadership.ts";
import { listLocks, passLocks } from "./locks/locks.ts";
import { allowNamespace, disallowNamespace, readNamespace } from "./namespaces.ts";
import { readPayloads, replacePayloads } from "./payloads.ts";
import { readBacklog } from "./queues/due.ts";
import { listQueues, setQueue } from "./queues/queues.ts";
import { readReplies } from "./replies.ts";
import { listRetention, readRetention, setRetention } from "./retention.ts";
import { claimRuns, holdRunsIfParkedByOtherCode, lookForRuns } from "./runs/claims.ts";
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
import { sweepWorkers } from "./sweeps.ts";
import { claimTasks } from "./tasks/claims.ts";
import { finishTasks } from "./tasks/finishes.ts";
import { listTasks, readTasks, taskPosition } from "./tasks/listing.ts";
import { beatTasks, cancelTasks, expiredTasks } from "./tasks/reports.ts";
import type { ApplicationDatabase, ApplicationTransactions } from "./transactions/application-transactions.ts";
import { TransactionSteps } from "./transactions/transact.ts";
import type { Transactions } from "./transactions/transactions.ts";
import { arriveRun } from "./transfers/arrivals.ts";
import { confirmDeparture, departRunIfIdle, identifyStore, listDepartures } from "./transfers/departures.ts";
import { readRests } from "./transfers/rests.ts";
import * as versions from "./versions.ts";
import { addRates, askToDrain, forgetWorkers, readRates, readWorkerLog } from "./worker-log.ts";
import * as workers from "./workers.ts";

const CAPABILITIES: port.StoreCapabilities = {
  transactions: { kind: "sqlite", words: "an SQLite file. Import transaction from @holdfast/sqlite." },
  segments: true,
};

export interface SqliteStoreParams {
  readonly transactions: Transactions;
  readonly clock: port.Clock;
  readonly applications: ApplicationTransactions;
  readonly whenClosed: () => void;
}

export class SqliteStore implements port.Store {
  readonly #transactions: Transactions;
  readonly #steps: TransactionSteps;
  readonly #applications: ApplicationTransactions;
  readonly #whenClosed: () => void;
  #closing: Promise<void> | undefined;

  constructor({ transactions, clock, applications, whenClosed }: SqliteStoreParams) {
    this.#transactions = transactions;
    this.#steps = new TransactionSteps(transactions, clock);
    this.#applications = applications;
    this.#whenClosed = whenClosed;
  }

  /** Store calls that join a transaction that the application has open on the same file. */
  join(db: ApplicationDatabase): port.JoinedCalls {
    return this.#applications.join(db);
  }

  readonly runs: port.RunStore = {
    start: this.#write(startRuns),
    debounce: this.#write(debounceRun),
    claim: (params) =>
      this.#transactions.writeIfNeeded(
        (call) => claimRuns(call, params),
        (call) => lookForRuns(call, params),
      ),
    commit: this.#write(commitRuns),
    releaseIfHeld: this.#write(workers.releaseRunsIfHeld),
    restartIfHeld: this.#write(restartRunIfHeld),
    holdIfParkedByOtherCode: this.#write(holdRunsIfParkedByOtherCode),
    pauseIfIdle: this.#write(pauseRunIfIdle),
    resumeIfParked: this.#write(resumeRunIfParked),
    terminate: this.#write(terminateRuns),
    reopenIfFailed: this.#write(reopenRunIfFailed),
    fork: this.#write(forkRun),
    watch: this.#write(watchRuns),
    read: this.#read(readRuns),
    list: this.#read(listRuns),
    count: this.#read(countRuns),
    purge: this.#write(purgeRuns),
  };

  readonly histories: port.HistoryStore = { read: this.#read(readHistories) };

  readonly segments: port.SegmentStore = {
    read: this.#read(readSegments),
    addIfCurrent: this.#write(addSegmentsIfCurrent),
    drop: this.#write(dropSegments),
  };

  readonly inbox: port.InboxStore = {
    deliver: this.#write(deliverMessages),
    read: this.#read(readInbox),
    replies: this.#read(readReplies),
  };

  readonly tasks: port.TaskStore = {
    claim: this.#write(claimTasks),
    finish: this.#write(finishTasks),
    beat: this.#write(beatTasks),
    cancel: this.#write(cancelTasks),
    expired: this.#read(expiredTasks),
    read: this.#read(readTasks),
    list: this.#read(listTasks),
    position: this.#read(taskPosition),
  };

  readonly versions: port.VersionStore = {
    register: this.#write(versions.registerVersions),
    updateIfKnown: this.#write(versions.updateVersionIfKnown),
    list: this.#read(versions.listVersions),
  };

  readonly workers: port.WorkerStore = {
    register: this.#write(workers.registerWorker),
    heartbeat: this.#write(workers.heartbeatWorker),
    readHeld: this.#read(workers.readHeld),
    readHeldTasks: this.#read(workers.readHeldTasks),
    stop: this.#write(workers.stopWorker),
    sweep: this.#write(sweepWorkers),
    list: this.#read(workers.listWorkers),
    askToDrain: this.#write(askToDrain),
    readLog: this.#read(readWorkerLog),
    addRates: this.#write(addRates),
    readRates: this.#read(readRates),
    forget: this.#write(forgetWorkers),
    readLeader: this.#read(readLeader),
  };

  readonly queues: port.QueueStore = {
    setIfRevision: this.#write(setQueue),
    list: this.#read(listQueues),
    backlog: this.#read(readBacklog),
  };

  readonly locks: port.LockStore = { pass: this.#write(passLocks), list: this.#read(listLocks) };
  readonly debts: port.DebtStore = { read: this.#read(readDebts), pay: this.#write(payDebts) };

  readonly retention: port.RetentionStore = {
    set: this.#write(setRetention),
    read: this.#read(readRetention),
    list: this.#read(listRetention),
  };

  readonly transfers: port.TransferStore = {
    identify: this.#write(identifyStore),
    read: this.#read(readRests),
    departIfIdle: this.#write(departRunIfIdle),
    departures: this.#read(listDepartures),
    arrive: this.#write(arriveRun),
    confirm: this.#write(confirmDeparture),
  };

  readonly namespaces: port.NamespaceStore = {
    allow: this.#write(allowNamespace),
    disallow: this.#write(disallowNamespace),
    read: this.#read(readNamespace),
  };

  readonly asks: port.AskStore = {
    ask: this.#write(asks.putAsks),
    take: this.#write(asks.takeAsks),
    answer: this.#write(asks.answerAsks),
    read: this.#read(asks.readAsks),
    forget: this.#write(asks.forgetAsks),
  };

  readonly payloads: port.PayloadStore = {
    read: this.#read(readPayloads),
    replaceIfUnchanged: this.#write(replacePayloads),
  };

  readonly schedules: port.ScheduleStore = {
    putIfRevision: this.#write(schedules.putSchedules),
    due: this.#read(schedules.dueSchedules),
    read: this.#read(schedules.readSchedules),
    decisions: this.#read(schedules.readDecisions),
    list: this.#read(schedules.listSchedules),
    remove: this.#write(schedules.removeSchedule),
  };

  readonly capabilities = CAPABILITIES;

  transact(params: port.TransactParams): Promise<port.TransactResult> {
    return this.#steps.transact(params);
  }

  readClock(): Promise<{ readonly now: number }> {
    return this.#transactions.read(({ now }) => ({ now }));
  }

  close(): Promise<void> {
    this.#closing ??= this.#transactions.close().then(this.#whenClosed);
    return this.#closing;
  }

  #write<P, T>(body: (call: Call, params: P) => T): (params: P) => Promise<T> {
    return (params) => this.#transactions.write((call) => body(call, params));
  }

  #read<P, T>(body: (call: Call, params: P) => T): (params: P) => Promise<T> {
    return (params) => this.#transactions.read((call) => body(call, params));
  }
}
