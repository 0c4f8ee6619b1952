import {
  type AnyWorkflow,
  DEFAULT_QUEUE,
  DEFAULT_VERSION,
  type InputOf,
  type OutputOf,
  requireName,
  requirePriority,
  requireWorkflow,
} from "../define/definitions.ts";
import { invalidValue, validateWith } from "../define/standard-schema.ts";
import type { PortsBundle } from "../engine/ports-bundle.ts";
import { RunEnds } from "../engine/run-ends.ts";
import type { SlotReservation } from "../engine/slot-reservation.ts";
import { StoreTime } from "../engine/store-time.ts";
import { Worker } from "../engine/worker.ts";
import { resolveWorkerOptions, type WorkerOptions } from "../engine/worker-options.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { idFault } from "../model/names.ts";
import { CLOSED_STATUSES, type NewRun, RUN_STATUSES, type Run } from "../model/run.ts";
import type { ListRunsParams, RunFilter, StartOutcome } from "../ports/store.ts";
import { assertAttributes } from "../replay/context.ts";
import { requireDuration } from "../replay/step-options.ts";
import { ClientCore } from "./client-core.ts";
import type { ListFilter, ListOptions, PurgeOptions, StartOptions } from "./client-options.ts";
import { checkHealth, type Health } from "./health.ts";
import { purgeEnded } from "./purge.ts";
import { RunHandle } from "./run-handle.ts";
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
    this.#core = new ClientCore(ports, namespace, this.#ends, {
      lookMs,
      isHeldHere: (runId) => this.#workers.some((worker) => worker.holds(runId)),
    });
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
    const run = await this.#newRun(workflow, input, options);
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
      slot?.settle(
        outcome?.outcome === "created" ? { ...outcome.run, input: run.input, output: null, error: null } : undefined,
      );
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
    const resolved = resolveWorkerOptions(options, `worker-${process.pid}-${this.#workerCount}`);
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
  #known(name: string, version: string | undefined): AnyWorkflow | undefined {
    for (const worker of this.#workers) {
      const found = worker.workflows.find((w) => w.name === name && (version === undefined || w.version === version));
      if (found) return found;
    }
    return undefined;
  }

  /** The test engine makes handles whose waiting moves its clock. */
  protected makeHandle(core: ClientCore, id: string, runId: string | undefined): RunHandle {
    return new RunHandle(core, id, runId);
  }

  async #newRun(workflow: AnyWorkflow | string, input: unknown, options: StartOptions): Promise<NewRun> {
    if (typeof workflow !== "string") requireWorkflow(workflow, "start: the first argument");
    const definition = typeof workflow === "string" ? this.#known(workflow, options.version) : workflow;
    const name = typeof workflow === "string" ? workflow : workflow.name;
    const where = `start of workflow "${name}"`;
    if (!definition) requireName(name, "workflow name");
    const queue = options.queue ?? definition?.queue ?? DEFAULT_QUEUE;
    const version = options.version ?? definition?.version ?? DEFAULT_VERSION;
    requireName(queue, "queue name");
    requireName(version, "version");
    const runId = this.#core.newId();
    const id = options.id ?? runId;
    const fault = idFault(id);
    if (fault) throw new HoldfastError("invalid_name", `The run id ${JSON.stringify(id)} ${fault}.`, { data: { id } });
    const attributes = options.attributes ?? {};
    assertAttributes(attributes, where);
    const priority = options.priority ?? definition?.priority ?? 0;
    requirePriority(priority, where);
    requireDate(options.startAt, where, "startAt");
    requireOneOf(options.ifRunning, ["return", "fail", "replace"], where, "ifRunning");
    requireOneOf(options.ifClosed, ["return", "start", "fail"], where, "ifClosed");
    const timeoutMs =
      options.timeout === undefined ? definition?.timeoutMs : requireDuration(options.timeout, where, "timeout");
    const checked = definition?.inputSchema ? await checkInput(definition, input) : input;
    return {
      namespace: this.namespace,
      runId,
      id,
      workflow: name,
      version,
      queue,
      priority,
      input: this.#core.ports.codec.encode(checked, `input of workflow "${name}"`),
      seed: runId,
      attributes,
      ...(options.delay === undefined ? {} : { startDelayMs: requireDuration(options.delay, where, "delay") }),
      ...(options.startAt === undefined ? {} : { startAt: options.startAt.getTime() }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    };
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
    this.#core.noteWorkflow(run);
    const { availableAt } = run;
    if (availableAt !== null) for (const worker of this.#workers) worker.noteDueAt(availableAt);
    if (outcome.outcome === "created") this.#core.ports.telemetry?.count("runs_started", 1, { workflow: run.workflow });
    if (run.workflow !== workflow) {
      const message = `The id "${run.id}" belongs to a run of workflow "${run.workflow}", not of "${workflow}". Choose another id.`;
      throw new HoldfastError("run_already_exists", message, {
        data: { id: run.id, runId: run.runId, workflow: run.workflow },
      });
    }
    if (outcome.outcome === "exists") {
      throw new HoldfastError("run_already_exists", `Run "${run.id}" exists already and is ${run.status}.`, {
        data: { id: run.id, runId: run.runId, status: run.status },
      });
    }
    return this.makeHandle(this.#core, run.id, run.runId) as RunHandle<never>;
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

function requireDate(date: Date | undefined, where: string, option: string): void {
  if (date === undefined || (date instanceof Date && !Number.isNaN(date.getTime()))) return;
  throw new HoldfastError("invalid_option", `${where}: ${option} is not a valid Date.`, { data: { option } });
}

function requireOneOf(value: string | undefined, known: readonly string[], where: string, option: string): void {
  if (value === undefined || known.includes(value)) return;
  const choices = known.map((one) => JSON.stringify(one)).join(", ");
  throw new HoldfastError("invalid_option", `${where}: ${option} is ${JSON.stringify(value)}; it may be ${choices}.`, {
    data: { option },
  });
}

/** Refuses bad input before anything is written, with the path of every fault. */
async function checkInput(definition: AnyWorkflow, input: unknown): Promise<unknown> {
  const result = await validateWith(definition.inputSchema as NonNullable<AnyWorkflow["inputSchema"]>, input);
  if (result.ok) return result.value;
  throw invalidValue("invalid_input", `input of workflow "${definition.name}"`, result.issues);
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
