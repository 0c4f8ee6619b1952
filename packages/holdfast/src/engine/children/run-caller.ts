/**
 * The calls that the runs of one worker make because of other runs: starts of children, messages, watches, locks. Many runs at once,
 * few calls of the store.
 */
import {
  isBusy,
  MESSAGE_ROWS,
  START_ROWS,
  type StartItem,
  sendMessages,
  sendStarts,
} from "../../calls/batched-calls.ts";
import { Batcher } from "../../calls/batcher.ts";
import type { ReserveDelivery } from "../../calls/holding-delivery.ts";
import type { Lifetime } from "../../calls/lifetime.ts";
import type { PortsBundle } from "../../calls/ports-bundle.ts";
import { untilAnswered } from "../../calls/store-retry.ts";
import type { Debt } from "../../model/debt.ts";
import { type NewRun, type Run, runOf } from "../../model/run.ts";
import type {
  DeliverMessage,
  DeliverOutcome,
  LockAnswer,
  LockAsk,
  RefusedStart,
  RunRef,
  StartOutcome,
  StartRun,
  Store,
  WatchOutcome,
  WatchRunsParams,
} from "../../ports/store.ts";
import { startLabels } from "../../report/telemetry-labels.ts";
import type { SlotReservation } from "../worker/slot-reservation.ts";

const BATCH_SIZE_MAX = 500;
/** So that the children of one call are executed while the store makes those of the next. */
export const STARTS_MAX = 250;
const STARTS_IN_FLIGHT_MAX = 2;

type Watch = WatchRunsParams["watches"][number];
type StartAnswer = StartOutcome | RefusedStart;

export interface RunCallerParams {
  readonly ports: PortsBundle;
  readonly life: Lifetime;
  /** A slot of a worker of this process for a run that is about to be started; undefined if none is free. */
  readonly reserve: (run: NewRun) => SlotReservation | undefined;
  /** Slots for runs that rest on a worker of this process, for messages that are about to be sent to them. */
  readonly reserveDelivery: ReserveDelivery;
  /** Whether a run of this process is known to have children in the store. */
  readonly hasChildren: (runId: string) => boolean;
  /** A run that no worker of this process holds is due then. */
  readonly onDue: (storeAt: number) => void;
  /** A call has made a run owe something. */
  readonly onOwing: (run: { readonly namespace: string; readonly runId: string }, debt?: Debt) => void;
}

export class RunCaller {
  readonly #params: RunCallerParams;
  readonly #starts: Batcher<StartItem, StartAnswer>;
  readonly #messages: Batcher<DeliverMessage, DeliverOutcome>;
  readonly #watches: Batcher<Watch, WatchOutcome>;
  readonly #locks: Batcher<LockAsk, LockAnswer>;

  constructor(params: RunCallerParams) {
    this.#params = params;
    const { ports, life } = params;
    const { clock, random, store } = ports;
    const batching = { clock, random, life, sizeMax: BATCH_SIZE_MAX, giveUp: () => life.over };
    this.#starts = new Batcher({
      ...batching,
      send: (items) => sendStarts(ports, items),
      rows: { ...START_ROWS, of: (item) => this.#rowOf(item) },
      sizeMax: STARTS_MAX,
      inFlightMax: STARTS_IN_FLIGHT_MAX,
    });
    const sending = { ...ports, reserve: params.reserveDelivery };
    this.#messages = new Batcher({ ...batching, send: (items) => sendMessages(sending, items), rows: MESSAGE_ROWS });
    this.#watches = new Batcher({
      ...batching,
      send: (watches) => store.runs.watch({ watches }),
      rows: { of: ({ run }) => ("runId" in run ? run.runId : run.id), isBusy },
    });
    this.#locks = new Batcher({
      ...batching,
      send: async (asks) => (await store.locks.pass({ asks, givenBackBy: [] })).answers,
      rows: { of: ({ runId, seq }) => `${runId}/${seq}`, isBusy },
    });
  }

  /** The first child of a run is noted in the row of its parent: until then, no two calls may bring children of one parent. */
  #rowOf({ start: { run, parent } }: StartItem): string {
    return parent && !this.#params.hasChildren(parent.parent.runId) ? parent.parent.runId : run.id;
  }

  async start(start: StartRun): Promise<StartAnswer> {
    const { run } = start;
    const slot = this.#params.reserve(run);
    let answer: StartAnswer | undefined;
    try {
      answer = await this.#starts.add({ start: { ...start, hold: slot !== undefined }, holdBy: slot });
    } finally {
      const created = answer?.outcome === "created" ? answer.run : undefined;
      slot?.settle(created && runOf(created, { input: run.input, output: null, error: null }));
      if (created && created.availableAt !== null) this.#params.onDue(created.availableAt);
      if (created) this.#params.ports.telemetry?.count("runs_started", 1, startLabels(created));
    }
    return answer;
  }

  deliver(message: DeliverMessage): Promise<DeliverOutcome> {
    return this.#messages.add(message);
  }

  watch(watch: Watch): Promise<WatchOutcome> {
    return this.#watches.add(watch);
  }

  /** Asks whether a request for a lock is granted, and has the lock passed on. */
  askLock(ask: LockAsk): Promise<LockAnswer> {
    return this.#locks.add(ask);
  }

  /** An idempotent call, repeated until it is answered. */
  call<T>(send: (store: Store) => Promise<T>): Promise<T> {
    const { ports, life } = this.#params;
    const { clock, random, store } = ports;
    return untilAnswered(
      { clock, random, life },
      () => send(store),
      () => life.over,
    );
  }

  /** The run, or the one that it has continued as in the end; null if that is gone. */
  async readLast(ref: RunRef): Promise<Run | null> {
    for (let next = ref; ; ) {
      const target = next;
      const [run = null] = await this.call((store) => store.runs.read({ runs: [target] }));
      if (run?.status !== "continued" || run.continuedAs === null) return run;
      next = { namespace: run.namespace, runId: run.continuedAs };
    }
  }

  /** `debt`: all that it owes, if that is known. */
  owing(run: { readonly namespace: string; readonly runId: string }, debt?: Debt): void {
    this.#params.onOwing(run, debt);
  }
}
