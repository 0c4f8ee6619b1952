/**
 * The store on one SQLite file. A call is one transaction (transactions.ts) around one function of the file that is named for
 * its noun; these read as the memory store's do.
 */
import type * as port from "holdfast/adapter";
import type { ApplicationDatabase, ApplicationTransactions } from "./application-transactions.ts";
import { claimRuns, holdRunsIfParkedByOtherCode } from "./claims.ts";
import { commitRuns } from "./commits.ts";
import { readHistories } from "./histories.ts";
import { deliverMessages, readInbox } from "./inbox.ts";
import { reopenRunIfFailed, resumeRunIfParked, terminateRuns } from "./interventions.ts";
import { countRuns, listRuns, readRuns } from "./listing.ts";
import { purgeRuns } from "./retention.ts";
import { startRuns } from "./starts.ts";
import { sweepWorkers } from "./sweeps.ts";
import { TransactionSteps } from "./transact.ts";
import type { Transactions } from "./transactions.ts";
import * as versions from "./versions.ts";
import * as workers from "./workers.ts";

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

  /** This store as part of a transaction that the application has open on the same file. */
  join(db: ApplicationDatabase): Pick<port.Store, "startRuns" | "deliverMessages"> {
    return this.#applications.join(db);
  }

  startRuns(params: port.StartRunsParams) {
    return this.#transactions.write((call) => startRuns(call, params));
  }
  claimRuns(params: port.ClaimRunsParams) {
    return this.#transactions.write((call) => claimRuns(call, params));
  }
  commitRuns(params: port.CommitRunsParams) {
    return this.#transactions.write((call) => commitRuns(call, params));
  }
  deliverMessages(params: port.DeliverMessagesParams) {
    return this.#transactions.write((call) => deliverMessages(call, params));
  }
  transact(params: port.TransactParams) {
    return this.#steps.transact(params);
  }
  readInbox(params: port.ReadInboxParams) {
    return this.#transactions.read((call) => readInbox(call, params));
  }
  readHistories(params: port.ReadHistoriesParams) {
    return this.#transactions.read((call) => readHistories(call, params));
  }
  terminateRuns(params: port.TerminateRunsParams) {
    return this.#transactions.write((call) => terminateRuns(call, params));
  }
  resumeRunIfParked(params: port.RunRef) {
    return this.#transactions.write((call) => resumeRunIfParked(call, params));
  }
  holdRunsIfParkedByOtherCode(params: port.TakeUpParams) {
    return this.#transactions.write((call) => holdRunsIfParkedByOtherCode(call, params));
  }
  reopenRunIfFailed(params: port.ReopenParams) {
    return this.#transactions.write((call) => reopenRunIfFailed(call, params));
  }
  purgeRuns(params: port.PurgeRunsParams) {
    return this.#transactions.write((call) => purgeRuns(call, params));
  }
  registerVersions(params: port.RegisterVersionsParams) {
    return this.#transactions.write((call) => versions.registerVersions(call, params));
  }
  updateVersionIfKnown(params: port.UpdateVersionParams) {
    return this.#transactions.write((call) => versions.updateVersionIfKnown(call, params));
  }
  listVersions(params: { readonly namespace: string; readonly workflow?: string }) {
    return this.#transactions.read((call) => versions.listVersions(call, params));
  }
  registerWorker(params: port.RegisterWorkerParams) {
    return this.#transactions.write((call) => workers.registerWorker(call, params));
  }
  heartbeatWorker(params: port.HeartbeatParams) {
    return this.#transactions.write((call) => workers.heartbeatWorker(call, params));
  }
  readHeld(params: { readonly workerId: string }) {
    return this.#transactions.read((call) => workers.readHeld(call, params));
  }
  releaseRunsIfHeld(params: port.ReleaseRunsParams) {
    return this.#transactions.write((call) => workers.releaseRunsIfHeld(call, params));
  }
  stopWorker(params: { readonly workerId: string }) {
    return this.#transactions.write((call) => workers.stopWorker(call, params));
  }
  sweepWorkers(params: port.SweepParams) {
    return this.#transactions.write((call) => sweepWorkers(call, params));
  }
  listWorkers(params: { readonly namespace: string }) {
    return this.#transactions.read((call) => workers.listWorkers(call, params));
  }
  readClock() {
    return this.#transactions.read(({ now }) => ({ now }));
  }
  readRuns(params: { readonly runs: readonly port.RunRef[] }) {
    return this.#transactions.read((call) => readRuns(call, params));
  }
  listRuns(params: port.ListRunsParams) {
    return this.#transactions.read((call) => listRuns(call, params));
  }
  countRuns(params: port.RunFilter & { readonly atMost: number | null }) {
    return this.#transactions.read((call) => countRuns(call, params));
  }

  close(): Promise<void> {
    this.#closing ??= this.#transactions.close().then(this.#whenClosed);
    return this.#closing;
  }
}
