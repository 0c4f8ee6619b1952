import { originalStore } from "../calls/answering-store.ts";
import { Lifetime } from "../calls/lifetime.ts";
import type { PortsBundle } from "../calls/ports-bundle.ts";
import { RunEnds } from "../calls/run-ends.ts";
import { StoreTime } from "../calls/store-time.ts";
import type { AnyWorkflow, OffersOf, OutputOf } from "../define/definitions.ts";
import type { Worker } from "../engine/worker/worker.ts";
import type { WorkerOptions } from "../engine/worker/worker-options.ts";
import { requireId } from "../errors/option-checks.ts";
import { batchNamespace, isBatchNamespace } from "../model/batch.ts";
import { type NewRun, runOf } from "../model/run.ts";
import type { CarriedMessage, StartOutcome, Store } from "../ports/store.ts";
import type { SignalDefinition } from "../replay/context/context.ts";
import type { Answer, UpdateDefinition } from "../replay/context/conversations.ts";
import type { Offering } from "../replay/context/offers.ts";
import { Batch } from "./batches/batch.ts";
import type { BatchResult } from "./batches/batch-result.ts";
import { type BatchClient, Batches, quietPorts } from "./batches/batches.ts";
import { type ByRunId, isByRunId, offering, wantedRun } from "./call-checks.ts";
import type { ClientCore } from "./client-core.ts";
import { ClientInTransaction, type JoinedCalls, JoinedCore, notAClient } from "./client-in-transaction.ts";
import type { CountOptions, ListFilter, ListOptions, PurgeOptions, StartOptions } from "./client-options.ts";
import { debounced } from "./debounce.ts";
import { checkHealth, checkLive, checkReady, type Health, type Readiness } from "./health.ts";
import { countRuns, listRuns, type RunPage } from "./list-runs.ts";
import { firstOf } from "./local-queries.ts";
import { Locks } from "./locks.ts";
import { makeCore } from "./make-core.ts";
import { freeSlot, makeWorker } from "./make-worker.ts";
import { Namespaces } from "./namespaces.ts";
import { isDueAtOnce, type KnownWorkflows, newRun, requireRoom, requireStarted, startOf } from "./new-run.ts";
import { purgeEnded } from "./purge.ts";
import { makeQueues, type Queues } from "./queues.ts";
import { type Rate, type RateOptions, readRates } from "./rates.ts";
import { type ReencodeOptions, type ReencodeProgress, reencodeStored } from "./reencode.ts";
import { RESULT_LOOK_MS } from "./result-waiter.ts";
import { Retention } from "./retention.ts";
import { RunHandle, type StartedRun } from "./run-handle.ts";
import { existing } from "./run-moved.ts";
import type { ScheduleHost } from "./schedules/schedule-handle.ts";
import { Schedules } from "./schedules/schedules.ts";
import { prepareSignal } from "./signals.ts";
import { startMany } from "./start-many.ts";
import type { HandleOf, StartArguments, StartedMany, StartRequest } from "./start-request.ts";
import { Tasks } from "./tasks.ts";
import { type ExportOptions, exportRuns, type ImportOptions, importRuns } from "./transfers/export-runs.ts";
import { type MoveOptions, withTarget } from "./transfers/move-runs.ts";
import type { TransferResult } from "./transfers/transfer-result.ts";
import { UnservedStarts } from "./unserved-starts.ts";
import { Versions } from "./versions.ts";
import { type WatchedEvent, type Watching, type WatchOptions, watchRun } from "./watch.ts";
import { explainRun, type Why } from "./why.ts";
import {
  checkWithStart,
  firstMessages,
  requireDelivered,
  type SignalWithStartOptions,
  type StartedUpdate,
  type UpdateWithStartOptions,
  updateWithStart,
  type WithStartInput,
} from "./with-start.ts";
import { Workers } from "./workers.ts";

/** The entry point: starts runs, finds them, sends them messages, makes workers. Made by `connect`. */
export class Client {
  /** The namespace that this client connected with. */
  readonly namespace: string;
  /** Which version new runs get. */
  readonly versions: Versions;
  /** The workers of the namespace, as the store knows them. */
  readonly workers: Workers;
  /** Tasks: finished from outside by token, looked at, and tried again. */
  readonly tasks: Tasks;
  /** Workflows that are started at certain times. */
  readonly schedules: Schedules;
  /** Locks: who holds them, and who waits. */
  readonly locks: Locks;
  /** How long runs are kept once they have ended. */
  readonly retention: Retention;
  /** Queues: what is in them, and their limits. */
  readonly queues: Queues;
  /** Which other namespaces may reach the runs of this one. */
  readonly namespaces: Namespaces;
  readonly #core: ClientCore;
  readonly #ends = new RunEnds();
  readonly #storeTime: StoreTime;
  readonly #workers: Worker[];
  readonly #unserved: UnservedStarts | undefined;
  readonly #onClose: () => Promise<void>;
  /** Undefined in a client that batches run in. */
  readonly #batches: Batches | undefined;
  readonly #life = new Lifetime();
  readonly #watching: Watching;
  #closing: Promise<void> | undefined;
  #workerCount = 0;

  constructor(
    ports: PortsBundle,
    namespace: string,
    onClose: () => Promise<void>,
    lookMs = RESULT_LOOK_MS,
    watchStarts = false,
    workers: Worker[] = [],
  ) {
    this.namespace = namespace;
    this.#workers = workers;
    this.#core = makeCore(ports, { namespace, ends: this.#ends, life: this.#life, workers, lookMs });
    this.versions = new Versions(this.#core);
    this.workers = new Workers(this.#core);
    this.tasks = new Tasks(this.#core);
    this.locks = new Locks(this.#core);
    this.retention = new Retention(this.#core);
    this.queues = makeQueues(this.#core);
    this.namespaces = new Namespaces(this.#core);
    const core = this.#core;
    const during = <R>(waiting: Promise<R>): Promise<R> => this.during(waiting);
    this.#watching = { core, ends: this.#ends, lookMs: lookMs / 2, during };
    const handle: ScheduleHost["handle"] = (id, run) => this.makeHandle(core, id, run);
    this.schedules = new Schedules({ core, known: (...asked) => this.#known(...asked), handle, during });
    this.#storeTime = new StoreTime(ports.clock);
    this.#unserved = watchStarts ? new UnservedStarts(this.#core) : undefined;
    this.#onClose = onClose;
    const connectBatches = (): BatchClient => {
      const client = new Client(quietPorts(ports), batchNamespace(namespace), async () => {}, lookMs);
      return { client, core: client.#core };
    };
    if (!isBatchNamespace(namespace)) this.#batches = new Batches(this.#core, connectBatches, lookMs);
  }

  /** Resolves when the start is durable. `created` of the handle says whether the run is new or already existed. */
  start<D extends AnyWorkflow | string, S extends string = string>(
    workflow: D,
    // No overloads: of several, the compiler often explains the wrong one. Its messages show this name.
    ...inputAndOptions: StartArguments<D, S>
  ): Promise<HandleOf<D>>;
  async start(workflow: AnyWorkflow | string, input?: unknown, options: StartOptions = {}): Promise<RunHandle<never>> {
    this.#life.assertOpen();
    const made = newRun(this.#core, this.#known, { workflow, input, options });
    const run = made instanceof Promise ? await made : made;
    return this.#handleFor(await (debounced(this.#core, run, options) ?? this.#start(run, options)), workflow);
  }

  async #send(run: NewRun, options: StartOptions, workflow: AnyWorkflow | string): Promise<RunHandle<never>> {
    const outcome = await (debounced(this.#core, run, options) ?? this.#start(run, options));
    return this.#handleFor(outcome, workflow);
  }

  async #start(run: NewRun, options: StartOptions, messages?: readonly CarriedMessage[]): Promise<StartOutcome> {
    const slot = freeSlot(this.#workers, run);
    let outcome: StartOutcome | undefined;
    try {
      const start = startOf(this.#core, run, options, slot !== undefined, messages);
      outcome = requireRoom(run, await this.#core.starts.add({ start, holdBy: slot }));
      return outcome.outcome === "created" ? outcome : await existing(this.#core, outcome);
    } finally {
      const created = outcome?.outcome === "created" ? outcome.run : undefined;
      const first = created && messages && firstMessages(created, messages);
      slot?.settle(created && runOf(created, { input: run.input, output: null, error: null }), first);
      if (created && !slot && isDueAtOnce(run)) this.#unserved?.started(created);
      if (outcome?.owes) this.#core.payer.note({ namespace: run.namespace, runId: outcome.owes.runId });
    }
  }

  /**
   * Sends a signal to the open run of `options.id`, or starts that run with it: one atomic call. After a closed run a new one
   * starts. A run that ends before its code has received the signal takes it along.
   */
  signalWithStart<D extends AnyWorkflow | string, T, P, S extends string = string>(
    workflow: D,
    input: WithStartInput<D>,
    signal: SignalDefinition<T, P> & OffersOf<D>["signals"],
    payload: NoInfer<P>,
    options: SignalWithStartOptions<S>,
  ): Promise<HandleOf<D>>;
  async signalWithStart(
    workflow: AnyWorkflow | string,
    input: unknown,
    signal: SignalDefinition<never, never>,
    payload: unknown,
    options: SignalWithStartOptions,
  ): Promise<RunHandle<never>> {
    checkWithStart(options, "signalWithStart");
    const { signalId, ...start } = options;
    const id = signalId === undefined ? undefined : { id: signalId };
    const message = await prepareSignal(this.#core, signal, payload, id, offering(workflow), options.id);
    return (await this.#startWith(workflow, input, start, message)).run;
  }

  /**
   * Sends an update to the open run of `options.id`, or starts that run with it: one atomic call. After a closed run a new one
   * starts, unless that run has had this update. If the open run ends before it has looked at the update, that goes to the next
   * run. Resolves with the answer of the handler.
   */
  updateWithStart<D extends AnyWorkflow | string, In, Out, Sent, S extends string = string>(
    workflow: D,
    input: WithStartInput<D>,
    update: UpdateDefinition<In, Out, Sent> & OffersOf<D>["updates"],
    argument: NoInfer<Sent>,
    options: UpdateWithStartOptions<S>,
  ): Promise<StartedUpdate<OutputOf<D>, Answer<Out>, OffersOf<D>, WithStartInput<D>>>;
  async updateWithStart(
    workflow: AnyWorkflow | string,
    input: unknown,
    update: UpdateDefinition<never, never, never>,
    argument: unknown,
    options: UpdateWithStartOptions,
  ): Promise<StartedUpdate<never, never>> {
    checkWithStart(options, "updateWithStart");
    const asked = { workflow, update, argument, options };
    const start = (given: StartOptions, message: CarriedMessage) => this.#startWith(workflow, input, given, message);
    return updateWithStart(this.#core, asked, start, (answer) => this.during(answer));
  }

  async #startWith(workflow: AnyWorkflow | string, input: unknown, given: StartOptions, message: CarriedMessage) {
    this.#life.assertOpen();
    const options: StartOptions = { ifClosed: "start", ...given };
    const made = await newRun(this.#core, this.#known, { workflow, input, options });
    const outcome = await this.#start(made, options, [message]);
    const { runId, status } = outcome.run;
    return { run: this.#handleFor(outcome, workflow), runId, status, delivered: requireDelivered(outcome) };
  }

  /** The test engine advances its clock while a caller waits. */
  protected during<R>(waiting: Promise<R>): Promise<R> {
    return waiting;
  }

  /**
   * Many starts in few round trips; the handles are in the order of the requests. If a request is not valid, nothing is started
   * (`data.index`). If the store refuses some (an id is taken, a queue is full), `data.outcomes` of the error has the outcome of each.
   */
  startMany<const T extends readonly (AnyWorkflow | string)[], S extends string = string>(
    requests: {
      readonly [K in keyof T]: StartRequest<T[K], S>;
    },
  ): Promise<StartedMany<T>>;
  async startMany(requests: readonly StartRequest[]): Promise<never> {
    this.#life.assertOpen();
    return startMany(requests, {
      prepare: ({ workflow, input, options = {} }) => newRun(this.#core, this.#known, { workflow, input, options }),
      send: (...sent) => this.#send(...sent),
    }) as Promise<never>;
  }

  /** Starts a run and waits for its result. */
  run<D extends AnyWorkflow | string, S extends string = string>(
    workflow: D,
    ...inputAndOptions: StartArguments<D, S>
  ): Promise<OutputOf<D>>;
  async run(workflow: AnyWorkflow | string, input?: unknown, options?: StartOptions): Promise<never> {
    return (await (await this.start(workflow as string, input, options)).result()) as never;
  }

  /** The newest run of this id; or one run, by its run id (`{ runId }`). Nothing is read until you use the handle. */
  get(id: string | ByRunId): RunHandle;
  get<D extends AnyWorkflow>(workflow: D, id: string): HandleOf<D>;
  get(idOrWorkflow: string | ByRunId | AnyWorkflow, id?: string): RunHandle<never> {
    this.#life.assertOpen();
    if (isByRunId(idOrWorkflow)) {
      const { runId } = idOrWorkflow;
      requireId(runId, "run id");
      return this.makeHandle(this.#core, runId, { runId, workflow: "", created: false }) as RunHandle<never>;
    }
    const [wanted, workflow] = wantedRun(idOrWorkflow, id);
    return this.makeHandle(this.#core, wanted, undefined, workflow) as RunHandle<never>;
  }

  /** Runs that match the filter, newest first, one page at a time. */
  async list(options: ListOptions = {}): Promise<RunPage> {
    return listRuns(this.#core, options);
  }

  /** How many runs match the filter. */
  async count(filter: CountOptions = {}): Promise<number> {
    return countRuns(this.#core, filter);
  }

  /** Actions on all runs that match the filter: `hf.batch({ workflow: "order", status: "parked" }).resume()`. */
  batch(filter: ListFilter): Batch {
    return new Batch(this.#core, filter, (...call) => this.during((this.#batches as Batches).carryOut(...call)));
  }

  /** The run of a batch: its status and result, and a way to pause, resume or cancel the batch itself. */
  batchRun(id: string): RunHandle<BatchResult> {
    this.#life.assertOpen();
    requireId(id, "id of the batch");
    return this.makeHandle(this.#batches?.runs as ClientCore, id, undefined) as RunHandle<BatchResult>;
  }

  /** Deletes runs that ended longer ago than `olderThan`, with their histories and messages, and returns how many. Open runs are never touched. Ages are measured by the store's clock. */
  async purge<S extends string = string>(options: PurgeOptions<S>): Promise<number> {
    return purgeEnded(this.#core, options);
  }

  /** Writes stored values again as the codec of this client writes them, until none needs an old key. Workers may go on meanwhile. */
  async reencode(options: ReencodeOptions = {}): Promise<ReencodeProgress> {
    return reencodeStored(this.#core, options);
  }

  /** Writes finished runs as JSON lines, with their histories: to a file, or to a stream. */
  export(options: ExportOptions): Promise<TransferResult> {
    return exportRuns(this.#core, options);
  }

  /** Stores the runs of an export. Run ids that exist are skipped, so an import can be repeated. */
  import(options: ImportOptions): Promise<TransferResult> {
    return importRuns(this.#core, options);
  }

  /** Takes open runs to another store, each exactly once, whatever dies in between. Held runs are awaited. Repeat a call that was cut off. */
  move(options: MoveOptions<Client>): Promise<TransferResult> {
    return withTarget(this.#core, options, (client) => client.#core);
  }

  /** Whether the store answers, and how fast; the state of each worker by the age of its heartbeat; what waits in queues, late timers; what keeps schedules. */
  health(): Promise<Health> {
    return checkHealth(this.#core);
  }

  /** Whether the store answers within five seconds: for a liveness probe. */
  live(): Promise<boolean> {
    return checkLive(this.#core);
  }

  /** Whether the store answers and the workers of this client take work, those that have left on purpose aside: for a readiness probe. */
  ready(): Promise<Readiness> {
    return checkReady(this.#core, this.#workers);
  }

  /** What happened to runs, per workflow: by the minute up to a day, otherwise by the hour. Kept for 30 days. */
  rates(options: RateOptions): Promise<Rate[]> {
    return readRates(this.#core, options);
  }

  /** What a run is waiting for, in words for the person on call. */
  async why(run: string | ByRunId): Promise<Why> {
    return explainRun(this.#core, run);
  }

  /** The events of the newest run of this id, or of one run, as they are recorded, until it has ended. Follows continue-as-new. */
  watch(run: string | ByRunId, options: WatchOptions = {}): AsyncGenerator<WatchedEvent, void> {
    return watchRun(this.#watching, run, options);
  }

  /** Makes a worker that executes workflows and tasks in this process once it is started. */
  worker<S extends string = string>(options: WorkerOptions<S>): Worker {
    this.#life.assertOpen();
    this.#workerCount += 1;
    const [core, batches, siblings] = [this.#core, this.#batches, (): readonly Worker[] => this.#workers];
    const shared = { core, batches, siblings, storeTime: this.#storeTime, ends: this.#ends, life: this.#life };
    const worker = makeWorker(shared, options, this.#workerCount);
    this.#workers.push(worker);
    return worker;
  }

  /** Stops its workers and closes its connection. From then on every call fails with `client_closed`, also those in flight. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#life.end();
    await Promise.all([this.#batches?.close(), ...this.#workers.map((worker) => worker.stop())]);
    this.#unserved?.close();
    await this.#onClose();
  }

  /** A workflow offered by a worker of this client: a start by name gets its schema, queue and version from it. */
  readonly #known: KnownWorkflows = (name, version) =>
    firstOf(this.#workers, ({ workflows }) =>
      workflows.find((one) => one.name === name && (version === undefined || one.version === version)),
    );

  /** @internal For an adapter's `inTransaction`: `join` returns the calls of its store that are part of the transaction. */
  static inTransaction(client: Client, join: (store: Store) => JoinedCalls): ClientInTransaction {
    const { core, known } = Client.inside(client);
    return new ClientInTransaction(new JoinedCore(core, join(originalStore(core.ports.store))), known);
  }

  /** @internal For what is made of a client: see `client-on.ts`. */
  static inside(client: Client): { core: ClientCore; workers: Worker[]; known: KnownWorkflows } {
    if (typeof client !== "object" || client === null || !(#core in client)) throw notAClient(client);
    client.#life.assertOpen();
    return { core: client.#core, workers: client.#workers, known: client.#known };
  }

  /** The test engine makes handles that advance its clock while they wait. */
  protected makeHandle(core: ClientCore, id: string, run: StartedRun | undefined, workflow?: Offering): RunHandle {
    return new RunHandle(core, id, run, workflow);
  }

  #handleFor(outcome: StartOutcome, workflow: AnyWorkflow | string): RunHandle<never> {
    const { run } = outcome;
    if (run.availableAt !== null) for (const worker of this.#workers) worker.noteDueAt(run.availableAt);
    const started = requireStarted(this.#core, outcome, offering(workflow)?.name ?? (workflow as string));
    return this.makeHandle(this.#core, run.id, started, offering(workflow)) as RunHandle<never>;
  }
}
