import { isBusy, MESSAGE_ROWS, START_ROWS, type StartItem, sendMessages, sendStarts } from "../calls/batched-calls.ts";
import { Batcher } from "../calls/batcher.ts";
import { readWholeHistory } from "../calls/history-reader.ts";
import type { ReserveDelivery } from "../calls/holding-delivery.ts";
import type { Lifetime } from "../calls/lifetime.ts";
import { Payer } from "../calls/payer.ts";
import type { PortsBundle } from "../calls/ports-bundle.ts";
import {
  type GiveUp,
  isLasting,
  lockedMs,
  pause,
  rowLocked,
  type StorePatience,
  untilAnswered,
} from "../calls/store-retry.ts";
import { Turns } from "../calls/turns.ts";
import type { ErrorRecord } from "../model/error-record.ts";
import type { HistoryEvent } from "../model/event.ts";
import { newRunId, uuidV7 } from "../model/ids.ts";
import type { LiveRun } from "../model/live-run.ts";
import type { Run } from "../model/run.ts";
import type {
  DeliverMessage,
  DeliverOutcome,
  RefusedStart,
  RunRef,
  StartOutcome,
  Store,
  TerminateOutcome,
} from "../ports/store.ts";
import type { LocalQueries } from "./local-queries.ts";
import { QueryCalls } from "./query-calls.ts";
import { RegisteredStarts } from "./registered-starts.ts";
import type { ResultWaiter } from "./result-waiter.ts";
import type { UpdateWaiter } from "./update-waiter.ts";

/**
 * A call that has been repeated, and for this long, is not sent again. A store may be patient itself, before it reports a failure:
 * by time, and not by the number of failures, the whole call takes about 20 seconds on any store.
 */
const CALL_PATIENCE_MS = 15_000;
const BATCH_SIZE_MAX = 500;

/** What a client and its run handles share. */
export class ClientCore {
  readonly ports: PortsBundle;
  readonly namespace: string;
  readonly waiter: ResultWaiter;
  readonly updates: UpdateWaiter;
  readonly starts: Batcher<StartItem, StartOutcome | RefusedStart>;
  readonly messages: Batcher<DeliverMessage, DeliverOutcome>;
  readonly life: Lifetime;
  /** Changes of a schedule, by its id. */
  readonly scheduleTurns = new Turns();
  /** Pays what runs come to owe to others because of calls of this client, and of its workers. */
  readonly payer: Payer;
  /** What a worker of this client knows about a run that it holds. */
  readonly look: (runId: string) => LiveRun | undefined;
  /** How the workers of this client answer queries. */
  readonly local: LocalQueries | undefined;
  readonly #registered: RegisteredStarts;
  readonly #batching: ConstructorParameters<typeof QueryCalls>[1];
  #queries: QueryCalls | undefined;

  constructor(
    ports: PortsBundle,
    namespace: string,
    waiter: ResultWaiter,
    updates: UpdateWaiter,
    life: Lifetime,
    look: ClientCore["look"] = () => undefined,
    local?: LocalQueries,
    reserve?: ReserveDelivery,
  ) {
    const { clock, random } = ports;
    this.look = look;
    this.local = local;
    this.life = life;
    const sending = reserve ? { ...ports, reserve } : ports;
    this.payer = new Payer(sending, life);
    this.ports = ports;
    this.namespace = namespace;
    this.waiter = waiter;
    this.updates = updates;
    const batching = { clock, random, life, sizeMax: BATCH_SIZE_MAX, giveUp: this.#giveUp };
    this.#batching = batching;
    const versions = (workflow: string) => this.call((store) => store.versions.list({ namespace, workflow }));
    this.#registered = new RegisteredStarts(clock, versions);
    this.starts = new Batcher({
      ...batching,
      send: (items) => sendStarts(ports, items, "bounded"),
      rows: START_ROWS,
    });
    this.messages = new Batcher({ ...batching, send: (items) => sendMessages(sending, items), rows: MESSAGE_ROWS });
  }

  /** What starts by name get. */
  get registered(): RegisteredStarts {
    return this.#registered;
  }

  get queries(): QueryCalls {
    this.#queries ??= new QueryCalls(this.ports.store, this.#batching);
    return this.#queries;
  }

  /** Ends a run, whichever worker holds it. If the run has continued as new, ends the current run of the chain. */
  async terminate(run: RunRef, error: ErrorRecord): Promise<TerminateOutcome> {
    for (let ref = run; ; ) {
      const target = ref;
      const outcome = await this.untilNotBusy(async (store) => {
        const [answer] = await store.runs.terminate({ runs: [target], error });
        return answer as TerminateOutcome;
      });
      if (outcome.owes && outcome.runId !== null) this.payer.note({ namespace: this.namespace, runId: outcome.runId });
      if (outcome.status !== "continued" || outcome.runId === null) return outcome;
      const { runId } = outcome;
      const { namespace } = this;
      const [row] = await this.call((store) => store.runs.read({ runs: [{ namespace, runId }] }));
      if (!row?.continuedAs) return outcome;
      ref = { namespace, runId: row.continuedAs };
    }
  }

  /** For calls that write by themselves. Does nothing but in the core of a client that is part of a transaction. */
  requireNoTransaction(_call: string): void {}

  /** The run id of a new run; `id` is the user's own id, if there is one. */
  newRunId(id: string | undefined): string {
    return newRunId(this.namespace, id, this.ports.clock.now(), this.ports.random.bytes(16));
  }

  /** A new id for anything but a run. */
  newId(): string {
    return uuidV7(this.ports.clock.now(), this.ports.random.bytes(16));
  }

  /** An idempotent store call, repeated while the store is unavailable. */
  async call<T>(send: (store: Store) => Promise<T>): Promise<T> {
    this.life.assertOpen();
    return this.life.during(untilAnswered(this.#patience, () => send(this.ports.store), this.#giveUp));
  }

  /** The same without repetition: the first answer counts, success or failure. */
  async callOnce<T>(send: (store: Store) => Promise<T>): Promise<T> {
    this.life.assertOpen();
    return this.life.during(send(this.ports.store));
  }

  async readHistory(run: Run): Promise<HistoryEvent[]> {
    this.life.assertOpen();
    return this.life.during(readWholeHistory({ ...this.ports, life: this.life }, run, this.#giveUp));
  }

  /** The same for a call about one run whose row another transaction may have locked. */
  async untilNotBusy<R extends { readonly outcome: string }>(send: (store: Store) => Promise<R>): Promise<R> {
    const { clock, random } = this.ports;
    const began = clock.monotonic();
    for (let sends = 1; ; sends++) {
      const result = await this.call(send);
      if (!isBusy(result)) return result;
      const error = rowLocked();
      if (this.#giveUp(sends, error, clock.monotonic() - began)) throw error;
      await pause(this.#patience, lockedMs(random, sends));
    }
  }

  get #patience(): StorePatience {
    return { clock: this.ports.clock, random: this.ports.random, life: this.life };
  }

  // One failure is never the last word: only a repeat tells whether a call without an answer has taken effect.
  readonly #giveUp: GiveUp = (failures, error, waitedMs) =>
    this.life.over || (failures > 1 && waitedMs >= CALL_PATIENCE_MS) || isLasting(error);
}
