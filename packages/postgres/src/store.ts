/** The store on PostgreSQL: every port call is one statement, nearly always one function call (see migrations/). */
import type * as port from "holdfast/adapter";
import * as asks from "./asks.ts";
import type { Server } from "./database/server.ts";
import { queryOf, type ServerCall } from "./database/server-call.ts";
import { payDebts, readDebts } from "./debts/debts.ts";
import { watchRuns } from "./debts/watches.ts";
import { readHistories } from "./histories.ts";
import { DELIVER, deliverMessages, deliverResult, deliveryOf, readInbox } from "./inbox.ts";
import { readLeader } from "./leadership.ts";
import { listLocks, passLocks } from "./locks.ts";
import { allowNamespace, disallowNamespace, readNamespace } from "./namespaces.ts";
import { readPayloads, replacePayloads } from "./payloads.ts";
import { listQueues, readBacklog, setQueue } from "./queues.ts";
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
import { START, startingOf, startResult, startRuns } from "./runs/starts.ts";
import * as schedules from "./schedules.ts";
import { addSegmentsIfCurrent, dropSegments, readSegments } from "./segments.ts";
import { sweepWorkers } from "./sweeps.ts";
import { claimTasks } from "./tasks/claims.ts";
import { finishTasks } from "./tasks/finishes.ts";
import { listTasks, readTasks, taskPosition } from "./tasks/listing.ts";
import { beatTasks, cancelTasks, expiredTasks } from "./tasks/reports.ts";
import { ApplicationTransactions, WHICH_DATABASE } from "./transactions/application-transactions.ts";
import type { TransactionSteps } from "./transactions/transact.ts";
import type { ApplicationConnection } from "./transactions/tx.ts";
import * as transfers from "./transfers.ts";
import * as versions from "./versions.ts";
import { addRates, askToDrain, forgetWorkers, readRates, readWorkerLog } from "./worker-log.ts";
import * as workers from "./workers.ts";

const CAPABILITIES: port.StoreCapabilities = {
  transactions: { kind: "postgres", words: "PostgreSQL. Import transaction from @holdfast/postgres." },
  segments: true,
};

const READ_CLOCK = queryOf<undefined>("read_clock", (at) => `select ${at}.now_ms() as now`, {});

export interface PostgresStoreParams {
  readonly server: Server;
  readonly steps: TransactionSteps;
  /** The database, as errors name it. */
  readonly where: string;
  readonly whenClosed: () => Promise<void>;
}

export class PostgresStore implements port.Store {
  readonly #server: Server;
  readonly #steps: TransactionSteps;
  readonly #applications: ApplicationTransactions;
  readonly #whenClosed: () => Promise<void>;

  constructor({ server, steps, where, whenClosed }: PostgresStoreParams) {
    this.#server = server;
    this.#steps = steps;
    this.#whenClosed = whenClosed;
    this.#applications = new ApplicationTransactions(() => server.run(WHICH_DATABASE, []), where);
  }

  readonly runs: port.RunStore = {
    start: this.#call(startRuns),
    debounce: this.#call(debounceRun),
    claim: this.#call(claimRuns),
    commit: this.#call(commitRuns),
    releaseIfHeld: this.#call(workers.releaseRunsIfHeld),
    holdIfParkedByOtherCode: this.#call(holdRunsIfParkedByOtherCode),
    pauseIfIdle: this.#call(pauseRunIfIdle),
    resumeIfParked: this.#call(resumeRunIfParked),
    restartIfHeld: this.#call(restartRunIfHeld),
    terminate: this.#call(terminateRuns),
    reopenIfFailed: this.#call(reopenRunIfFailed),
    fork: this.#call(forkRun),
    watch: this.#call(watchRuns),
    read: this.#call(readRuns),
    list: this.#call(listRuns),
    count: this.#call(countRuns),
    purge: this.#call(purgeRuns),
  };

  readonly histories: port.HistoryStore = { read: this.#call(readHistories) };

  readonly segments: port.SegmentStore = {
    read: this.#call(readSegments),
    addIfCurrent: this.#call(addSegmentsIfCurrent),
    drop: this.#call(dropSegments),
  };

  readonly inbox: port.InboxStore = {
    deliver: this.#call(deliverMessages),
    read: this.#call(readInbox),
    replies: this.#call(readReplies),
  };

  readonly tasks: port.TaskStore = {
    claim: this.#call(claimTasks),
    finish: this.#call(finishTasks),
    beat: this.#call(beatTasks),
    cancel: this.#call(cancelTasks),
    expired: this.#call(expiredTasks),
    read: this.#call(readTasks),
    list: this.#call(listTasks),
    position: this.#call(taskPosition),
  };

  readonly versions: port.VersionStore = {
    register: this.#call(versions.registerVersions),
    updateIfKnown: this.#call(versions.updateVersionIfKnown),
    list: this.#call(versions.listVersions),
  };

  readonly workers: port.WorkerStore = {
    register: this.#call(workers.registerWorker),
    heartbeat: this.#call(workers.heartbeatWorker),
    readHeld: this.#call(workers.readHeld),
    readHeldTasks: this.#call(workers.readHeldTasks),
    stop: this.#call(workers.stopWorker),
    sweep: this.#call(sweepWorkers),
    list: this.#call(workers.listWorkers),
    askToDrain: this.#call(askToDrain),
    readLog: this.#call(readWorkerLog),
    addRates: this.#call(addRates),
    readRates: this.#call(readRates),
    forget: this.#call(forgetWorkers),
    readLeader: this.#call(readLeader),
  };

  readonly debts: port.DebtStore = { read: this.#call(readDebts), pay: this.#call(payDebts) };

  readonly queues: port.QueueStore = {
    setIfRevision: this.#call(setQueue),
    list: this.#call(listQueues),
    backlog: this.#call(readBacklog),
  };

  readonly locks: port.LockStore = { pass: this.#call(passLocks), list: this.#call(listLocks) };

  readonly retention: port.RetentionStore = {
    set: this.#call(setRetention),
    read: this.#call(readRetention),
    list: this.#call(listRetention),
  };

  readonly transfers: port.TransferStore = {
    identify: this.#call(transfers.identifyStore),
    read: this.#call(transfers.readRests),
    departIfIdle: this.#call(transfers.departRunIfIdle),
    departures: this.#call(transfers.listDepartures),
    arrive: this.#call(transfers.arriveRun),
    confirm: this.#call(transfers.confirmDeparture),
  };

  readonly namespaces: port.NamespaceStore = {
    allow: this.#call(allowNamespace),
    disallow: this.#call(disallowNamespace),
    read: this.#call(readNamespace),
  };

  readonly asks: port.AskStore = {
    ask: this.#call(asks.putAsks),
    take: this.#call(asks.takeAsks),
    answer: this.#call(asks.answerAsks),
    read: this.#call(asks.readAsks),
    forget: this.#call(asks.forgetAsks),
  };

  readonly payloads: port.PayloadStore = {
    read: this.#call(readPayloads),
    replaceIfUnchanged: this.#call(replacePayloads),
  };

  readonly schedules: port.ScheduleStore = {
    putIfRevision: this.#call(schedules.putSchedules),
    due: this.#call(schedules.dueSchedules),
    read: this.#call(schedules.readSchedules),
    decisions: this.#call(schedules.readDecisions),
    list: this.#call(schedules.listSchedules),
    remove: this.#call(schedules.removeSchedule),
  };

  readonly capabilities = CAPABILITIES;

  transact(params: port.TransactParams): Promise<port.TransactResult> {
    return this.#steps.transact(params);
  }

  /** Store calls that join a transaction that the application has open. Other processes are notified when it commits. */
  join(tx: ApplicationConnection): port.JoinedCalls {
    const { notify } = this.#server;
    const run = <T>(call: ServerCall<T>, about: T) =>
      this.#applications.run(tx, this.#server.statementOf(call), call.values(about));
    return {
      start: async (params) =>
        startResult(params, await run(START, startingOf({ ...params, holdBy: null }, true, notify))),
      deliver: async (params) => deliverResult(await run(DELIVER, deliveryOf(params, notify))),
    };
  }

  async readClock(): Promise<{ readonly now: number }> {
    const [row] = await this.#server.read(READ_CLOCK, undefined);
    return { now: row?.now as number };
  }

  close(): Promise<void> {
    return this.#whenClosed();
  }

  #call<P, T>(body: (server: Server, params: P) => Promise<T>): (params: P) => Promise<T> {
    return (params) => body(this.#server, params);
  }
}
