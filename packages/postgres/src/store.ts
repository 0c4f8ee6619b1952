/** The store on PostgreSQL: every port call is one statement, nearly always one function call (see migrations/). */
import type * as port from "holdfast/adapter";
import { CLOSED_STATUSES } from "holdfast/adapter";
import { ApplicationTransactions, WHICH_DATABASE } from "./application-transaction.ts";
import * as binary from "./binary-array.ts";
import { type Calls, callsOf } from "./calls.ts";
import { claimResult, claimValues } from "./claims.ts";
import { eventTypeCode, jsonBytes } from "./codes.ts";
import { commitResult, commitValues } from "./commits.ts";
import type { Row } from "./driver.ts";
import { isLockConflict, isRace } from "./errors.ts";
import { readHints } from "./hints.ts";
import { countStatement, type Listing, listStatement } from "./listing.ts";
import type { PostgresNotifier } from "./notifier.ts";
import type { Pool, Statement } from "./pool.ts";
import { eventOf, messageOf, runOf, runRowOf, versionOf, workerOf } from "./run-rows.ts";
import type { Sessions } from "./sessions.ts";
import { startResult, startValues } from "./starts.ts";
import type { TransactionSteps } from "./transact.ts";
import type { ApplicationConnection } from "./tx.ts";

const CAPABILITIES: port.StoreCapabilities = {
  transactions: { kind: "postgres", words: "PostgreSQL. Import transaction from @holdfast/postgres." },
};

export interface PostgresStoreParams {
  readonly pool: Pool;
  readonly sessions: Sessions;
  readonly steps: TransactionSteps;
  readonly notifier: PostgresNotifier;
  readonly schema: string;
  /** As errors name it. */
  readonly where: string;
  /** Tell other processes. */
  readonly notify: boolean;
}

export class PostgresStore implements port.Store {
  readonly #pool: Pool;
  readonly #sessions: Sessions;
  readonly #steps: TransactionSteps;
  readonly #notifier: PostgresNotifier;
  readonly #schema: string;
  readonly #notify: boolean;
  readonly #calls: Calls;
  readonly #applications: ApplicationTransactions;

  constructor({ pool, sessions, steps, notifier, schema, where, notify }: PostgresStoreParams) {
    this.#pool = pool;
    this.#sessions = sessions;
    this.#steps = steps;
    this.#notifier = notifier;
    this.#schema = schema;
    this.#notify = notify;
    this.#calls = callsOf(schema);
    this.#applications = new ApplicationTransactions(() => pool.run(WHICH_DATABASE, []), where);
  }

  readonly runs: port.RunStore = {
    start: async (params: port.StartRunsParams): Promise<port.StartRunsResult> => {
      const send = (races: boolean) => this.#write(this.#calls.start, startValues(params, races, this.#notify));
      try {
        return startResult(params, await send(false));
      } catch (error) {
        // Somebody has taken one of the ids at this very moment: once more, prepared for that.
        if (!isRace(error)) throw error;
        return startResult(params, await send(true));
      }
    },

    claim: async (params: port.ClaimRunsParams): Promise<port.ClaimRunsResult> => {
      return claimResult(params, await this.#write(this.#calls.claim, claimValues(params)));
    },

    commit: async (params: port.CommitRunsParams): Promise<port.CommitRunsResult> => {
      const send = (skip: boolean) => this.#writeOne(this.#calls.commit, commitValues(params, skip, this.#notify));
      try {
        return commitResult(await send(false));
      } catch (error) {
        // A stranger has locked one of the rows: once more without those that are locked.
        if (!isLockConflict(error)) throw error;
        return commitResult(await send(true));
      }
    },

    releaseIfHeld: async ({
      namespace,
      workerId,
      runs,
    }: port.ReleaseRunsParams): Promise<{ readonly released: number }> => {
      const row = await this.#writeOne(this.#calls.release, [
        namespace,
        workerId,
        binary.uuidArray(runs, (run) => run.runId),
        binary.int4Array(runs, (run) => run.epoch),
        this.#notify,
      ]);
      return { released: row.o_released as number };
    },

    holdIfParkedByOtherCode: async (params: port.TakeUpParams): Promise<port.TakeUpResult> => {
      const { handlers } = params;
      const row = await this.#writeOne(this.#calls.holdParked, [
        params.workerId,
        params.claimId,
        params.namespace,
        binary.textArray(params.queues),
        binary.textArray(handlers, ({ workflow }) => workflow),
        binary.textArray(handlers, ({ version }) => version),
        binary.textArray(handlers, ({ code }) => code),
        params.limit,
      ]);
      return { live: row.o_live as boolean, taken: row.o_taken as number, more: row.o_more as boolean };
    },

    resumeIfParked: async (ref: port.RunRef): Promise<{ readonly status: port.RunStatus | null }> => {
      const row = await this.#writeOne(this.#calls.resume, [...refValue(ref), this.#notify]);
      return { status: row.o_status as port.RunStatus | null };
    },

    terminate: async ({ runs, error }: port.TerminateRunsParams): Promise<readonly port.TerminateOutcome[]> => {
      const values = [...refValues(runs), jsonBytes(error), this.#notify];
      return outcomesOf<port.TerminateOutcome>(await this.#write(this.#calls.terminate, values));
    },

    reopenIfFailed: async ({ run, eventCount, event }: port.ReopenParams): Promise<port.ReopenOutcome> => {
      const row = await this.#writeOne(this.#calls.reopen, [
        ...refValue(run),
        eventCount,
        eventTypeCode(event.type),
        event.op,
        event.payload === undefined ? null : Buffer.from(event.payload),
        event.meta === undefined ? null : jsonBytes(event.meta),
        this.#notify,
      ]);
      return { outcome: row.o_outcome as port.ReopenOutcome["outcome"], status: row.o_status as port.RunStatus | null };
    },

    read: async ({ runs }: { runs: readonly port.RunRef[] }): Promise<readonly (port.Run | null)[]> => {
      const found: (port.Run | null)[] = runs.map(() => null);
      for (const row of await this.#pool.run(this.#calls.readRuns, refValues(runs))) {
        found[(row.i as number) - 1] = runOf(row);
      }
      return found;
    },

    list: async (params: port.ListRunsParams): Promise<readonly port.RunRow[]> => {
      return (await this.#list(listStatement(this.#schema, params))).map(runRowOf);
    },

    count: async (params: port.RunFilter & { readonly atMost: number | null }): Promise<number> => {
      return (await this.#list(countStatement(this.#schema, params)))[0]?.count as number;
    },

    purge: async (params: port.PurgeRunsParams): Promise<port.PurgeRunsResult> => {
      const { namespace, endedBefore, statuses = CLOSED_STATUSES, limit } = params;
      const row = await this.#writeOne(this.#calls.purge, [
        namespace,
        Math.ceil(endedBefore),
        binary.textArray([...new Set(statuses)]),
        limit,
      ]);
      return { purged: row.o_purged as number, more: row.o_more as boolean };
    },
  };

  readonly histories: port.HistoryStore = {
    read: async (params: port.ReadHistoriesParams): Promise<readonly (readonly port.HistoryEvent[])[]> => {
      const { runs, limitPerRun } = params;
      const rows = await this.#pool.run(this.#calls.readHistories, [
        binary.textArray(runs, (run) => run.namespace),
        binary.uuidArray(runs, (run) => run.runId),
        binary.int4Array(runs, (run) => run.afterSeq),
        limitPerRun,
      ]);
      const histories: port.HistoryEvent[][] = runs.map(() => []);
      for (const row of rows) histories[(row.i as number) - 1]?.push(eventOf(row));
      return histories;
    },
  };

  readonly inbox: port.InboxStore = {
    deliver: async (params: port.DeliverMessagesParams): Promise<port.DeliverMessagesResult> => {
      return deliverResult(await this.#write(this.#calls.deliver, deliverValues(params, this.#notify)));
    },

    read: async ({ runs }: port.ReadInboxParams): Promise<readonly port.Message[]> => {
      const rows = await this.#pool.run(this.#calls.readInbox, [
        binary.textArray(runs, (run) => run.namespace),
        binary.uuidArray(runs, (run) => run.runId),
        binary.int4Array(runs, (run) => run.after),
      ]);
      return rows.map(messageOf);
    },
  };

  readonly versions: port.VersionStore = {
    register: async (params: port.RegisterVersionsParams): Promise<readonly (port.VersionRow | null)[]> => {
      const { namespace, versions } = params;
      const rows = await this.#write(this.#calls.registerVersions, [
        namespace,
        binary.textArray(versions, (version) => version.workflow),
        binary.textArray(versions, (version) => version.version),
        binary.textArray(versions, (version) => version.hash),
      ]);
      const before: (port.VersionRow | null)[] = versions.map(() => null);
      for (const row of rows) before[(row.i as number) - 1] = row.version === null ? null : versionOf(row);
      return before;
    },

    updateIfKnown: async (params: port.UpdateVersionParams): Promise<{ readonly known: boolean }> => {
      const { namespace, workflow, version, change } = params;
      const row = await this.#writeOne(this.#calls.updateVersion, [
        namespace,
        workflow,
        version,
        "isDefault" in change,
        "share" in change ? change.share : null,
        "deprecated" in change ? change.deprecated : null,
      ]);
      return { known: row.known as boolean };
    },

    list: async (params: { namespace: string; workflow?: string }): Promise<readonly port.VersionRow[]> => {
      const rows = await this.#pool.run(this.#calls.listVersions, [params.namespace, params.workflow ?? null]);
      return rows.map(versionOf);
    },
  };

  readonly workers: port.WorkerStore = {
    register: async (params: port.RegisterWorkerParams): Promise<port.RegisterWorkerResult> => {
      const row = await this.#writeOne(this.#calls.registerWorker, [
        params.workerId,
        params.namespace,
        params.name,
        params.host ?? null,
        params.pid ?? null,
        binary.textArray(params.queues),
        binary.textArray(params.workflows),
        JSON.stringify(params.labels),
        Math.ceil(params.leaseMs),
      ]);
      const pids = row.o_pids as number[];
      const namesakes = (row.o_namesakes as string[]).map((workerId, i) => ({ workerId, pid: pids[i] as number }));
      return {
        live: row.o_live as boolean,
        now: row.o_now as number,
        ...(params.host === undefined ? {} : { namesakes }),
      };
    },

    heartbeat: async ({
      namespace,
      workerId,
      leaseMs,
      draining,
    }: port.HeartbeatParams): Promise<port.HeartbeatResult> => {
      const row = await this.#writeOne(this.#calls.heartbeat, [namespace, workerId, Math.ceil(leaseMs), draining]);
      return {
        live: row.o_live as boolean,
        now: row.o_now as number,
        heldCount: row.o_held as number,
        behind: row.o_behind as string[],
      };
    },

    readHeld: async ({ namespace, workerId }: port.WorkerRef): Promise<readonly port.HeldRun[]> => {
      const rows = await this.#pool.run(this.#calls.readHeld, [namespace, workerId]);
      return rows.map((row) => ({ runId: row.run_id as string, epoch: row.epoch as number }));
    },

    stop: async ({ namespace, workerId }: port.WorkerRef): Promise<void> => {
      await this.#writeOne(this.#calls.stop, [namespace, workerId, this.#notify]);
    },

    sweep: async (params: port.SweepParams): Promise<port.SweepResult> => {
      const row = await this.#writeOne(this.#calls.sweep, [
        params.suspectAfter,
        params.parkAfter,
        jsonBytes(params.parkError),
        Math.ceil(params.timeoutGraceMs),
        jsonBytes(params.timeoutError),
        params.limit,
        params.gone ? binary.uuidArray(params.gone) : null,
        this.#notify,
      ]);
      return {
        now: row.o_now as number,
        dead: row.o_dead as number,
        returned: row.o_returned as number,
        parked: row.o_parked as number,
        timedOut: row.o_timed_out as number,
        more: row.o_more as boolean,
        nextExpiryAt: row.o_next_expiry_at as number | null,
      };
    },

    list: async ({ namespace }: { namespace: string }): Promise<readonly port.WorkerRow[]> => {
      return (await this.#pool.run(this.#calls.listWorkers, [namespace])).map(workerOf);
    },
  };

  readonly capabilities = CAPABILITIES;

  transact(params: port.TransactParams): Promise<port.TransactResult> {
    return this.#steps.transact(params);
  }

  /** This store as part of a transaction that the application has open. Other processes are told when it commits. */
  join(tx: ApplicationConnection): port.JoinedCalls {
    const { start, deliver } = this.#calls;
    const run = (statement: Statement, values: readonly unknown[]) => this.#applications.run(tx, statement, values);
    return {
      start: async (params) =>
        startResult(params, await run(start, startValues({ ...params, holdBy: null }, true, this.#notify))),
      deliver: async (params) => deliverResult(await run(deliver, deliverValues(params, this.#notify))),
    };
  }

  async readClock(): Promise<{ readonly now: number }> {
    const [row] = await this.#pool.run(this.#calls.readClock, []);
    return { now: row?.now as number };
  }

  async close(): Promise<void> {
    await Promise.all([this.#notifier.close(), this.#sessions.close(), this.#pool.close()]);
  }

  #list({ statement, values }: Listing): Promise<readonly Row[]> {
    return this.#pool.run(statement, values);
  }

  async #writeOne(statement: Statement, values: readonly unknown[]): Promise<Row> {
    return (await this.#write(statement, values))[0] as Row;
  }

  /** What was committed is told to this process at once; the statement itself has told the others. */
  async #write(statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    const rows = await this.#pool.run(statement, values);
    for (const row of rows) this.#notifier.publish(readHints(row.o_hints ?? row.hints));
    return rows;
  }
}

function deliverValues({ messages, inboxMax }: port.DeliverMessagesParams, notify: boolean): unknown[] {
  return [
    ...refValues(messages.map((message) => message.to)),
    binary.textArray(messages, (message) => message.kind),
    binary.textArray(messages, (message) => message.name),
    binary.textArray(messages, (message) => message.messageId),
    binary.byteaArray(messages, (message) => message.payload),
    inboxMax,
    notify,
  ];
}

function deliverResult(rows: readonly Row[]): port.DeliverMessagesResult {
  return { outcomes: outcomesOf<port.DeliverOutcome>(rows) };
}

/** Runs by their run ids, or by namespace and id. */
function refValues(refs: readonly port.RunRef[]): unknown[] {
  return [
    binary.uuidArray(refs, (ref) => ("runId" in ref ? ref.runId : null)),
    binary.textArray(refs, (ref) => ref.namespace),
    binary.textArray(refs, (ref) => ("runId" in ref ? null : ref.id)),
  ];
}

function refValue(ref: port.RunRef): unknown[] {
  if (!("runId" in ref)) return [null, ref.namespace, ref.id];
  return [binary.isUuid(ref.runId) ? ref.runId : null, ref.namespace, null];
}

/** Rows with a position from 1, an outcome, the run and its status; position 0 holds the hints. */
function outcomesOf<T extends { readonly outcome: string }>(rows: readonly Row[]): T[] {
  const outcomes: T[] = [];
  for (const row of rows) {
    if (row.i === 0) continue;
    outcomes[(row.i as number) - 1] = { outcome: row.outcome, runId: row.run_id, status: row.status } as unknown as T;
  }
  return outcomes;
}
