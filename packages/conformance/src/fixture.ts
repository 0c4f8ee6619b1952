import {
  type ClaimRunsParams,
  type ClaimRunsResult,
  type DeliverMessage,
  type DeliverOutcome,
  type ErrorRecord,
  type HistoryEvent,
  type Message,
  type NewRun,
  type Notifier,
  outcomeMessageId,
  type PauseOutcome,
  type PauseParams,
  type Payload,
  type RegisterWorkerParams,
  type ResumeOutcome,
  type ResumeParams,
  type Run,
  type RunRef,
  resumeNote,
  type StartOutcome,
  type StartRun,
  type Store,
  type SweepParams,
  type SweepResult,
  type TransactParams,
  type TransactResult,
} from "holdfast/adapter";
import { ConversationCalls } from "./conversation-calls.ts";
import { Holder } from "./holder.ts";
import { LockCalls } from "./lock-calls.ts";
import { QueueCalls } from "./queue-calls.ts";
import { bytes, errorRecord, LEASE_MS, newRun, START_MS } from "./sample-data.ts";
import type { OpenStore, StoreUnderTest } from "./store-under-test.ts";
import { TaskCalls } from "./task-calls.ts";
import { TransferCalls } from "./transfer-calls.ts";

/** Thrown if a case needs to set the time and the store has no settable clock: the case is skipped. */
export class NoTestClock extends Error {}

/** Thrown if a case needs a transaction and the store has none: the case is skipped. */
export class NoTransactions extends Error {}

export const SWEEP: SweepParams = {
  suspectAfter: 2,
  parkAfter: 2,
  parkError: errorRecord("it kills its workers"),
  timeoutGraceMs: 1_000,
  timeoutError: errorRecord("no worker claimed it in time"),
  limit: 1_000,
};

/** As a client records a pause. */
export const PAUSED: ErrorRecord = {
  ...errorRecord("paused by ana: a break"),
  code: "paused",
  data: { by: "ana", reason: "a break" },
};

export const REPLACED = errorRecord("replaced by a newer run");

/** What a case works with: an empty store, unique ids, and the calls that most cases make. */
export class Fixture {
  readonly store: Store;
  readonly notifier: Notifier;
  readonly underTest: StoreUnderTest;
  readonly tasks: TaskCalls;
  readonly talks: ConversationCalls;
  readonly locks: LockCalls;
  readonly queues: QueueCalls;
  readonly transfers: TransferCalls;
  #now = START_MS;
  #ids = 0;

  private constructor(underTest: StoreUnderTest) {
    this.underTest = underTest;
    this.store = underTest.store;
    this.notifier = underTest.notifier;
    this.tasks = new TaskCalls(this);
    this.talks = new ConversationCalls(this);
    this.locks = new LockCalls(this);
    this.queues = new QueueCalls(this);
    this.transfers = new TransferCalls(this);
  }

  static async open(open: OpenStore): Promise<Fixture> {
    const fixture = new Fixture(await open());
    await fixture.underTest.setClock?.(START_MS);
    return fixture;
  }

  close(): Promise<void> {
    return this.underTest.close();
  }

  /** The store's time, to the millisecond. */
  get now(): number {
    if (!this.underTest.setClock) throw new NoTestClock();
    return this.#now;
  }

  async advance(ms: number): Promise<void> {
    this.#now = this.now + ms;
    await this.underTest.setClock?.(this.#now);
  }

  /** Another connection to the same data, or the first one if the store has only one. */
  async second(): Promise<Store> {
    return (await this.underTest.openSecond?.())?.store ?? this.store;
  }

  /** A version 7 UUID; later ones are greater. */
  newId(): string {
    this.#ids += 1;
    return uuidOf(this.#ids);
  }

  newRun(fields: Partial<NewRun> = {}): NewRun {
    return newRun(fields.runId ?? this.newId(), fields);
  }

  async start(fields: Partial<NewRun> = {}, options: StartOptions = {}): Promise<StartOutcome> {
    const { holdBy, ...policies } = options;
    const start = aStart(this.newRun(fields), { hold: holdBy !== undefined, ...policies });
    const result = await this.store.runs.start({ starts: [start], holdBy: holdBy ?? null, replaceError: REPLACED });
    return result.outcomes[0] as StartOutcome;
  }

  /** Starts runs without a holder, in one call. */
  async startMany(runs: readonly NewRun[]): Promise<readonly StartOutcome[]> {
    const starts = runs.map((run) => aStart(run));
    const { outcomes } = await this.store.runs.start({ starts, holdBy: null, replaceError: REPLACED });
    return outcomes as readonly StartOutcome[];
  }

  /** Registers a worker. */
  async worker(fields: Partial<RegisterWorkerParams> = {}): Promise<string> {
    const workerId = fields.workerId ?? this.newId();
    await this.store.workers.register({
      workerId,
      namespace: "default",
      name: "a worker",
      queues: ["default"],
      workflows: ["order"],
      labels: {},
      leaseMs: LEASE_MS,
      ...fields,
    });
    return workerId;
  }

  claimParams(workerId: string, fields: Partial<ClaimRunsParams> = {}): ClaimRunsParams {
    return {
      workerId,
      claimId: this.newId(),
      again: false,
      namespace: "default",
      queues: ["default"],
      handlers: [{ workflow: "order", version: "1" }],
      limit: 100,
      solo: false,
      ...fields,
    };
  }

  claim(workerId: string, fields: Partial<ClaimRunsParams> = {}): Promise<ClaimRunsResult> {
    return this.store.runs.claim(this.claimParams(workerId, fields));
  }

  /** A new run, held by a new worker or by the given one, through start-and-hold. */
  async held(fields: Partial<NewRun> = {}, workerId?: string): Promise<Holder> {
    const holdBy = {
      workerId: workerId ?? (await this.worker(fields.namespace === undefined ? {} : { namespace: fields.namespace })),
      claimId: this.newId(),
    };
    const { run } = await this.start(fields, { holdBy });
    if (run.heldBy !== holdBy.workerId) throw new Error(`after start-and-hold, the run is held by ${run.heldBy}`);
    return new Holder(this.store, holdBy.workerId, run);
  }

  /** Claims what is due for a worker and expects exactly one run. */
  async claimOne(workerId: string, fields: Partial<ClaimRunsParams> = {}): Promise<Holder> {
    const { runs } = await this.claim(workerId, fields);
    const run = runs[0];
    if (!run || runs.length > 1) throw new Error(`the claim took ${runs.length} runs instead of one`);
    return new Holder(this.store, workerId, run);
  }

  /** A run of the namespace that most cases use. */
  ref(runId: string): RunRef {
    return { namespace: "default", runId };
  }

  newMessage(to: RunRef, fields: Partial<DeliverMessage> = {}): DeliverMessage {
    return { to, kind: "signal", name: "approved", messageId: this.newId(), payload: bytes("true"), ...fields };
  }

  async deliver(to: RunRef, fields: Partial<DeliverMessage> = {}, inboxMax = 1_000): Promise<DeliverOutcome> {
    const messages = [this.newMessage(to, fields)];
    return (await this.store.inbox.deliver({ messages, inboxMax })).outcomes[0] as DeliverOutcome;
  }

  /** Resumes a run as it is now. */
  async resume(ref: RunRef, fields: Partial<ResumeParams> = {}): Promise<ResumeOutcome> {
    const [row] = await this.store.runs.read({ runs: [ref] });
    const event = resumeNote({ by: "ana" });
    return this.store.runs.resumeIfParked({ run: ref, epoch: row?.epoch ?? 0, event, dueAt: null, ...fields });
  }

  /** Pauses a run as it is now. */
  async pause(ref: RunRef, fields: Partial<PauseParams> = {}): Promise<PauseOutcome> {
    const [row] = await this.store.runs.read({ runs: [ref] });
    return this.store.runs.pauseIfIdle({ run: ref, epoch: row?.epoch ?? 0, error: PAUSED, ...fields });
  }

  /** One attempt of a transaction step: the application writes a text, and the payload is the result. */
  transact(holder: Holder, fields: TransactFields = {}, store = this.store): Promise<TransactResult> {
    const { op = "move", text = op, payload = bytes("true"), ...rest } = fields;
    const { application } = this.underTest;
    if (!store.transact) throw new NoTransactions();
    return store.transact({
      namespace: holder.namespace,
      workerId: holder.workerId,
      runId: holder.runId,
      epoch: holder.epoch,
      op,
      messageId: outcomeMessageId(holder.runId, op),
      again: false,
      signal: new AbortController().signal,
      work: (tx) => {
        const writing = application.write(tx, text);
        return writing instanceof Promise ? writing.then(() => payload) : payload;
      },
      ...rest,
    });
  }

  async written(): Promise<readonly string[]> {
    return [...(await this.underTest.application.written())].sort();
  }

  sweep(fields: Partial<SweepParams> = {}): Promise<SweepResult> {
    return this.store.workers.sweep({ ...SWEEP, ...fields });
  }

  /** The run as stored now; it must exist. */
  async run(ref: string | RunRef): Promise<Run> {
    const [run] = await this.store.runs.read({ runs: [typeof ref === "string" ? this.ref(ref) : ref] });
    if (!run) throw new Error(`there is no run ${JSON.stringify(ref)}`);
    return run;
  }

  async history(runId: string, namespace = "default"): Promise<readonly HistoryEvent[]> {
    const [events] = await this.store.histories.read({
      runs: [{ namespace, runId, afterSeq: 0 }],
      limitPerRun: 100_000,
    });
    return events ?? [];
  }

  inbox(runId: string, after = 0): Promise<readonly Message[]> {
    return this.store.inbox.read({ runs: [{ namespace: "default", runId, after }] });
  }
}

export interface TransactFields extends Partial<TransactParams> {
  readonly text?: string;
  readonly payload?: Payload;
}

export interface StartOptions {
  readonly ifRunning?: StartRun["ifRunning"];
  readonly ifClosed?: StartRun["ifClosed"];
  readonly pick?: number;
  readonly holdBy?: { readonly workerId: string; readonly claimId: string };
}

/** A start that expects no other run of its id, and leaves the run to the next claim. */
export function aStart(run: NewRun, fields: Partial<StartRun> = {}): StartRun {
  return { run, ifRunning: "fail", ifClosed: "fail", hold: false, pick: null, ...fields };
}

/** Version 7, with the number in place of the time: ids are ordered by creation. */
export function uuidOf(n: number): string {
  const hex = n.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-0000000000aa`;
}
