/**
 * Batches, as a client carries them out: it starts their runs, executes them while a caller waits here, and while it has workers
 * also those that others have left behind.
 *
 * The worker for batches is apart from those of the application: it stands in the namespace of batches, and exists only while there
 * is something for it to do. So the claims of other workers are what they would be without batches.
 */
import { isDeepStrictEqual } from "node:util";
import type { PortsBundle } from "../../calls/ports-bundle.ts";
import { pause } from "../../calls/store-retry.ts";
import type { Worker } from "../../engine/worker/worker.ts";
import type { WorkerOptions } from "../../engine/worker/worker-options.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import { batchNamespace } from "../../model/batch.ts";
import { OPEN_STATUSES } from "../../model/run-status.ts";
import type { Timer } from "../../ports/clock.ts";
import type { Codec } from "../../ports/codec.ts";
import type { Logger } from "../../ports/logger.ts";
import type { ClientCore } from "../client-core.ts";
import type { StartOptions } from "../client-options.ts";
import type { RunHandle } from "../run-handle.ts";
import type { BatchOptions } from "./batch.ts";
import type { BatchResult } from "./batch-result.ts";
import { type BatchInput, type BatchWorkflow, batchProgress, batchWorkflow } from "./batch-workflow.ts";

/** How often a process with workers looks for batches that no hint announced: first, and then. */
const FIRST_LOOK_MS = 1_000;
const LOOK_MS = 60_000;
const PROGRESS_MS = 500;
/** Batches that this process executes at once. */
const CONCURRENCY = 10;
const CLAIM_FALLBACK_MS = 5_000;
/** The same on a host: one that has died is then replaced at once, without waiting for its lease. */
const WORKER_NAME = "batches";

/** A client of the namespace in which batches run. */
export interface BatchClient {
  readonly client: {
    start(workflow: BatchWorkflow, input: BatchInput, options: StartOptions): Promise<RunHandle<BatchResult>>;
    worker(options: WorkerOptions): Worker;
    close(): Promise<void>;
  };
  readonly core: ClientCore;
}

interface Opened extends BatchClient {
  readonly workflow: BatchWorkflow;
  /** Started and stopped as needed. */
  readonly worker: Worker;
}

/** The worker for batches comes and goes, which is of no interest. What goes wrong is logged. */
export function quietPorts(ports: PortsBundle): PortsBundle {
  const { log } = ports;
  const warn: Logger["warn"] = (fields, message) => log.warn(fields, message);
  const error: Logger["error"] = (fields, message) => log.error(fields, message);
  return { ...ports, log: { debug() {}, info() {}, warn, error } };
}

export class Batches {
  readonly #core: ClientCore;
  readonly #connect: () => BatchClient;
  /** The shortest time between two looks: forever in tests. */
  readonly #lookMs: number;
  #opened: Opened | undefined;
  /** How many callers wait for a batch here. */
  #callers = 0;
  /** How many workers with workflows are running here. */
  #serving = 0;
  #unsubscribe: (() => void) | undefined;
  #timer: Timer | undefined;

  constructor(core: ClientCore, connect: () => BatchClient, lookMs: number) {
    this.#core = core;
    this.#connect = connect;
    this.#lookMs = lookMs;
  }

  readonly carryOut = async (input: BatchInput, options: BatchOptions): Promise<BatchResult> => {
    const id = options.id ?? this.#core.newId();
    if (options.dryRun) {
      const { namespace } = this.#core;
      const matched = await this.#core.call((store) => store.runs.count({ ...input.filter, namespace, atMost: null }));
      return { id, matched, done: 0, skipped: [], skippedCount: 0 };
    }
    // A server that does not let this client purge says so now, and not to a batch that is repeated until it does.
    if (input.action.name === "purge") await purgeNothing(this.#core);
    this.#callers += 1;
    try {
      const { client, workflow, worker } = this.#open();
      await worker.start();
      const run = await client.start(workflow, input, { id });
      if (!run.created) await requireSame(run, input, this.#core.ports.codec);
      return await this.#awaited(run, options.onProgress);
    } finally {
      this.#callers -= 1;
      this.#restIfIdle();
    }
  };

  /** A worker with workflows is running here: from now on, batches are gone on with. Returns the function that ends that. */
  serve(): () => void {
    this.#serving += 1;
    if (this.#serving === 1) {
      const namespace = batchNamespace(this.#core.namespace);
      this.#unsubscribe = this.#core.ports.notifier.subscribe((hint) => {
        if (hint.type === "due" && hint.namespace === namespace) this.#help();
      });
      this.#lookIn(FIRST_LOOK_MS);
    }
    return () => {
      this.#serving -= 1;
      if (this.#serving > 0) return;
      this.#unsubscribe?.();
      this.#timer?.cancel();
      this.#restIfIdle();
    };
  }

  /** The process is about to end on a signal: batches are left to others, and a wait for one does not keep it alive. */
  leave(): void {
    this.#opened?.core.waiter.leave();
    this.#rest();
  }

  async close(): Promise<void> {
    this.#unsubscribe?.();
    this.#timer?.cancel();
    await this.#opened?.client.close();
  }

  /** What handles of the runs of batches need. */
  get runs(): ClientCore {
    return this.#open().core;
  }

  #open(): Opened {
    if (this.#opened) return this.#opened;
    const { client, core } = this.#connect();
    const workflow = batchWorkflow(this.#core);
    const tuning = { claimFallbackMs: Math.max(CLAIM_FALLBACK_MS, this.#lookMs) };
    const worker = client.worker({
      workflows: [workflow],
      concurrency: CONCURRENCY,
      name: WORKER_NAME,
      tuning,
      coordinate: false,
    });
    this.#opened = { client, core, workflow, worker };
    return this.#opened;
  }

  #help(): void {
    if (this.#core.life.over) return;
    const { log } = this.#core.ports;
    const failed = (error: unknown): void => {
      if (!this.#core.life.over)
        log.error({ error: String(error) }, "the worker for batches did not start; trying again later");
    };
    this.#open().worker.start().catch(failed);
  }

  #lookIn(ms: number): void {
    this.#timer = this.#core.ports.clock.setTimer(Math.max(ms, this.#lookMs), () => void this.#look());
    this.#timer.unref?.();
  }

  async #look(): Promise<void> {
    const open = { namespace: batchNamespace(this.#core.namespace), statuses: OPEN_STATUSES, atMost: 1 };
    try {
      const count = await this.#core.callOnce((store) => store.runs.count(open));
      if (this.#serving === 0) return;
      if (count > 0) this.#help();
      else if (this.#callers === 0) this.#rest();
    } catch {
      // The store does not answer: whoever needs it reports that.
    }
    if (this.#serving > 0 && !this.#core.life.over) this.#lookIn(LOOK_MS);
  }

  /** Workers go on until a look finds nothing; a process without any has no business with the batches of others. */
  #restIfIdle(): void {
    if (this.#callers === 0 && this.#serving === 0) this.#rest();
  }

  #rest(): void {
    if (!this.#core.life.over) void this.#opened?.worker.stop().catch(() => {});
  }

  async #awaited(run: RunHandle<BatchResult>, onProgress: BatchOptions["onProgress"]): Promise<BatchResult> {
    if (!onProgress) return run.result();
    const progress = new Progress(onProgress, this.#core.ports.log);
    const ended = run.result();
    let over = false;
    const end = (): void => {
      over = true;
    };
    void ended.then(end, end);
    while (!over) {
      await Promise.race([ended.catch(() => {}), pause({ ...this.#core.ports, life: this.#core.life }, PROGRESS_MS)]);
      // What cannot be asked now is asked the next time.
      if (!over) await Promise.race([ended, run.query(batchProgress).then((at) => progress.tell(at))]).catch(() => {});
    }
    const result = await ended;
    progress.tell(result);
    return result;
  }
}

/** Calls the function whenever there is something new. */
class Progress {
  readonly #onProgress: NonNullable<BatchOptions["onProgress"]>;
  readonly #log: Logger;
  #told = -1;

  constructor(onProgress: NonNullable<BatchOptions["onProgress"]>, log: Logger) {
    this.#onProgress = onProgress;
    this.#log = log;
  }

  tell(at: BatchResult): void {
    if (at.matched <= this.#told) return;
    this.#told = at.matched;
    const failed = (error: unknown): void =>
      this.#log.warn({ batch: at.id, error: String(error) }, "onProgress of a batch has thrown; the batch goes on");
    try {
      Promise.resolve(this.#onProgress(at)).catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}

async function purgeNothing(core: ClientCore): Promise<void> {
  const { namespace } = core;
  await core.call((store) => store.runs.purge({ namespace, endedBefore: 0, runIds: [], limit: 1 }));
}

/** An id stands for one batch: a call that means another one must not take its result for its own. */
async function requireSame(run: RunHandle<BatchResult>, input: BatchInput, codec: Codec): Promise<void> {
  const known = (await run.describe()).input as BatchInput;
  // As it would be read back.
  const { filter, action } = codec.decode(codec.encode(input, `batch "${run.id}"`)) as BatchInput;
  const same = isDeepStrictEqual(known.action.signal?.payload, action.signal?.payload);
  if (same && aim(known.filter, known.action) === aim(filter, action)) return;
  const message = `Batch "${run.id}" exists, and is another one: its action, its payload or its filter differs. Choose another id.`;
  throw new HoldfastError("batch_id_taken", message, { data: { id: run.id, action: known.action.name } });
}

function aim(filter: BatchInput["filter"], { name, signal }: BatchInput["action"]): string {
  return JSON.stringify([name, signal?.name, sorted(filter)]);
}

function sorted(value: object): unknown {
  return Object.entries(value)
    .map(
      ([key, one]) =>
        [key, typeof one === "object" && one !== null && !Array.isArray(one) ? sorted(one) : one] as const,
    )
    .sort(([a], [b]) => (a < b ? -1 : 1));
}
