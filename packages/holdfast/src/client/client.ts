import type { AnyWorkflow, InputOf, OutputOf } from "../define/definitions.ts";
import type { PortsBundle } from "../engine/ports-bundle.ts";
import { RunEnds } from "../engine/run-ends.ts";
import type { SlotReservation } from "../engine/slot-reservation.ts";
import { StoreTime } from "../engine/store-time.ts";
import { Worker } from "../engine/worker.ts";
import { resolveWorkerOptions, type WorkerOptions } from "../engine/worker-options.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { CLOSED_STATUSES, type NewRun, RUN_STATUSES, type Run, runOf } from "../model/run.ts";
import type { ListRunsParams, RunFilter, StartOutcome, Store } from "../ports/store.ts";
import { requireDuration } from "../replay/step-options.ts";
import { requireDate, requireOneOf } from "./checks.ts";
import { ClientCore } from "./client-core.ts";
import { ClientInTransaction, type JoinedCalls, joinedStore } from "./client-in-transaction.ts";
import type { ListFilter, ListOptions, PurgeOptions, StartOptions } from "./client-options.ts";
import { checkHealth, type Health } from "./health.ts";
import { newRun, requireStarted } from "./new-run.ts";
import { purgeEnded } from "./purge.ts";
import { ResultWaiter } from "./result-waiter.ts";
import { RunHandle, type StartedRun } from "./run-handle.ts";
import { type RunSummary, summarizeRun } from "./run-view.ts";
import { Versions } from "./versions.ts";
import { explainRun, type Why } from "./why.ts";
import { Workers } from "./workers.ts";

/** How often results that are waited for are looked up, for ends that no hint announced. */
const RESULT_LOOK_MS = 2_000;
const LIST_LIMIT_DEFAULT = 100;
const LIST_LIMIT_MAX = 1_000;

/** Input may be left out where the workflow takes none. */
export type StartArguments<D> =
  undefined extends InputOf<D>
    ? [input?: InputOf<D>, options?: StartOptions]
    : [input: InputOf<D>, options?: StartOptions];

export interface StartRequest<D extends AnyWorkflow = AnyWorkflow> {
  readonly workflow: D | string;
  readonly input?: InputOf<D>;
  readonly options?: StartOptions;
}

export interface RunPage {
  readonly runs: readonly RunSummary[];
  /** Give it back as `cursor` for the next page; null on the last. */
  readonly cursor: string | null;
}

/** The way in: starts runs, finds them, talks to them, makes workers. Made by `connect`. */
export class Client {
  readonly namespace: string;
  readonly versions: Versions;
  readonly workers: Workers;
  readonly #core: ClientCore;
  readonly #ends = new RunEnds();
  readonly #storeTime: StoreTime;
  readonly #workers: Worker[] = [];
  readonly #onClose: () => Promise<void>;
  #workerCount = 0;

  constructor(ports: PortsBundle, namespace: string, onClose: () => Promise<void>, lookMs = RESULT_LOOK_MS) {
    this.namespace = namespace;
    const isHeldHere = (runId: string): boolean => this.#workers.some((worker) => worker.holds(runId));
    const waiter = new ResultWaiter({ ...ports, ends: this.#ends, lookMs, isHeldHere });
    this.#core = new ClientCore(ports, namespace, waiter);
    this.versions = new Versions(this.#core);
    this.workers = new Workers(this.#core);
    this.#storeTime = new StoreTime(ports.clock);
    this.#onClose = onClose;
  }

  /** Resolves when the start is durable. */
  start<D extends AnyWorkflow>(workflow: D, ...rest: StartArguments<D>): Promise<RunHandle<OutputOf<D>>>;
  start(workflow: string, input?: unknown, options?: StartOptions): Promise<RunHandle>;
  async start(workflow: AnyWorkflow | string, input?: unknown, options: StartOptions = {}): Promise<RunHandle<never>> {
    this.#core.assertOpen();
    const made = newRun(this.#core, this.#known, { workflow, input, options });
    const run = made instanceof Promise ? await made : made;
    const slot = this.#reserveSlot(run);
    let outcome: StartOutcome | undefined;
    try {
      outcome = await this.#core.starts.add({
        start: {
          run,
          ifRunning: options.ifRunning ?? "return",
          ifClosed: options.ifClosed ?? "return",
          hold: slot !== undefined,
          pick: options.version === undefined ? this.#core.ports.random.next() : null,
        },
        holdBy: slot?.workerId,
      });
    } finally {
      const created = outcome?.outcome === "created" ? outcome.run : undefined;
      slot?.settle(created && runOf(created, { input: run.input, output: null, error: null }));
    }
    return this.#handleFor(outcome, run.workflow);
  }

  /** Many starts in few round trips. The handles are in the order of the requests. */
  startMany<D extends AnyWorkflow>(requests: readonly StartRequest<D>[]): Promise<RunHandle<OutputOf<D>>[]> {
    return Promise.all(
      requests.map(({ workflow, input, options }) => this.start(workflow as string, input, options)),
    ) as Promise<never>;
  }

  /** Start and result in one. */
  run<D extends AnyWorkflow>(workflow: D, ...rest: StartArguments<D>): Promise<OutputOf<D>>;
  run(workflow: string, input?: unknown, options?: StartOptions): Promise<unknown>;
  async run(workflow: AnyWorkflow | string, input?: unknown, options?: StartOptions): Promise<never> {
    const handle = await this.start(workflow as string, input, options);
    return (await handle.result()) as never;
  }

  /** The newest run of that id; nothing is read before you ask the handle. */
  get(id: string): RunHandle;
  get<D extends AnyWorkflow>(workflow: D, id: string): RunHandle<OutputOf<D>>;
  get(idOrWorkflow: string | AnyWorkflow, id?: string): RunHandle<never> {
    this.#core.assertOpen();
    const wanted = typeof idOrWorkflow === "string" ? idOrWorkflow : (id as string);
    return this.makeHandle(this.#core, wanted, undefined) as RunHandle<never>;
  }

  /** Newest first. */
  async list(options: ListOptions = {}): Promise<RunPage> {
    const limit = options.limit ?? LIST_LIMIT_DEFAULT;
    if (!Number.isInteger(limit) || limit < 1 || limit > LIST_LIMIT_MAX) {
      throw new HoldfastError(
        "invalid_option",
        `list: limit is ${limit}; it must be a whole number from 1 to ${LIST_LIMIT_MAX}.`,
      );
    }
    const params: ListRunsParams = {
      ...this.#filter(options),
      limit: limit + 1,
      ...(options.cursor === undefined ? {} : { before: readCursor(options.cursor) }),
    };
    const rows = await this.#core.call((store) => store.listRuns(params));
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return {
      runs: page.map(summarizeRun),
      cursor: rows.length > limit && last ? writeCursor(last) : null,
    };
  }

  count(filter: ListFilter = {}): Promise<number> {
    return this.#core.call((store) => store.countRuns({ ...this.#filter(filter), atMost: null }));
  }

  /**
   * Deletes runs that ended longer ago than that, with their histories and messages; answers how many. Open runs are never
   * touched. The time is the store's, as far as the workers of this client know it, else that of this machine.
   */
  async purge(options: PurgeOptions): Promise<number> {
    const olderThanMs = requireDuration(options.olderThan, "purge", "olderThan");
    for (const one of options.statuses ?? []) requireOneOf(one, CLOSED_STATUSES, "purge", "statuses");
    return purgeEnded(this.#core, this.#storeTime.now() - olderThanMs, options);
  }

  /** Is everything well: the store, and each worker by the age of its heartbeat. */
  health(): Promise<Health> {
    return checkHealth(this.#core);
  }

  /** What a run is waiting for, in words for people on call. */
  why(id: string): Promise<Why> {
    return explainRun(this.#core, id);
  }

  worker(options: WorkerOptions): Worker {
    this.#core.assertOpen();
    this.#workerCount += 1;
    const { environment } = this.#core.ports;
    const name = options.name ?? environment?.workerName() ?? `worker-${process.pid}-${this.#workerCount}`;
    const resolved = resolveWorkerOptions(options, name);
    const worker = new Worker({
      ports: this.#core.ports,
      namespace: this.namespace,
      options: resolved,
      storeTime: this.#storeTime,
      ends: this.#ends,
    });
    this.#workers.push(worker);
    return worker;
  }

  /** Stops the workers that were made here and lets go of the store. */
  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.stop()));
    this.#core.close();
    await this.#onClose();
  }

  /** A workflow that a worker made here offers: a start by name gets its schema, queue and version from it. */
  readonly #known = (name: string, version: string | undefined): AnyWorkflow | undefined => {
    for (const worker of this.#workers) {
      const found = worker.workflows.find((w) => w.name === name && (version === undefined || w.version === version));
      if (found) return found;
    }
    return undefined;
  };

  /** For `inTransaction` of an adapter: `join` gives the calls of its store that are part of the transaction. */
  static inTransaction(client: Client, join: (store: Store) => JoinedCalls): ClientInTransaction {
    client.#core.assertOpen();
    const { ports, namespace, waiter } = client.#core;
    const store = joinedStore(ports.store, join(ports.store));
    const core = new ClientCore({ ...ports, store }, namespace, waiter);
    return new ClientInTransaction(core, client.#known);
  }

  /** The test engine makes handles whose waiting moves its clock. */
  protected makeHandle(core: ClientCore, id: string, run: StartedRun | undefined): RunHandle {
    return new RunHandle(core, id, run);
  }

  /** A worker of this process with a free slot gets the run already claimed. */
  #reserveSlot(run: NewRun): SlotReservation | undefined {
    if (run.startAt !== undefined || run.startDelayMs !== undefined) return undefined;
    for (const worker of this.#workers) {
      const slot = worker.reserve(run.workflow, run.version, run.queue);
      if (slot) return slot;
    }
    return undefined;
  }

  #handleFor(outcome: StartOutcome, workflow: string): RunHandle<never> {
    const { run } = outcome;
    const { availableAt } = run;
    if (availableAt !== null) for (const worker of this.#workers) worker.noteDueAt(availableAt);
    requireStarted(this.#core, outcome, workflow);
    return this.makeHandle(this.#core, run.id, run) as RunHandle<never>;
  }

  #filter(filter: ListFilter): RunFilter {
    const { workflow, version, id, queue, attributes, status, createdAfter, createdBefore } = filter;
    requireDate(createdAfter, "list", "createdAfter");
    requireDate(createdBefore, "list", "createdBefore");
    for (const one of typeof status === "string" ? [status] : (status ?? []))
      requireOneOf(one, RUN_STATUSES, "list", "status");
    return {
      namespace: this.namespace,
      ...(workflow === undefined ? {} : { workflow }),
      ...(version === undefined ? {} : { version }),
      ...(id === undefined ? {} : { id }),
      ...(queue === undefined ? {} : { queue }),
      ...(attributes === undefined ? {} : { attributes }),
      ...(status === undefined ? {} : { statuses: typeof status === "string" ? [status] : status }),
      ...(createdAfter === undefined ? {} : { createdAfter: createdAfter.getTime() }),
      ...(createdBefore === undefined ? {} : { createdBefore: createdBefore.getTime() }),
    };
  }
}

function writeCursor(run: Pick<Run, "createdAt" | "runId">): string {
  return Buffer.from(JSON.stringify([run.createdAt, run.runId])).toString("base64url");
}

function readCursor(cursor: string): { createdAt: number; runId: string } {
  try {
    const [createdAt, runId] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as [unknown, unknown];
    if (typeof createdAt === "number" && typeof runId === "string") return { createdAt, runId };
  } catch {
    // falls through to the error below
  }
  throw new HoldfastError("invalid_option", "list: the cursor is not one that list() has returned.");
}
