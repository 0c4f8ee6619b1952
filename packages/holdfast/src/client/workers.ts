import { HoldfastError } from "../errors/holdfast-error.ts";
import {
  checkOptions,
  invalidOption,
  isId,
  type OptionChecks,
  requireId,
  wholeNumber,
} from "../errors/option-checks.ts";
import type { WorkerLogRow, WorkerMoment, WorkerRow } from "../model/worker-row.ts";
import type { ClientCore } from "./client-core.ts";

const EVENTS_DEFAULT = 100;
const EVENTS_MAX = 1_000;

/** A moment in a worker's life. `stopping`: it drains. Of its heartbeats, one every ten minutes is kept. */
export interface WorkerEvent {
  readonly workerId: string;
  readonly name: string;
  readonly type: WorkerMoment;
  readonly at: Date;
}

/** One page of what has happened to workers. */
export interface WorkerEventPage {
  readonly events: readonly WorkerEvent[];
  /** Pass it as `cursor` for the next page; null on the last page. */
  readonly cursor: string | null;
}

/** Which moments of workers to list. */
export interface WorkerEventOptions {
  /**
   * Only those of one worker.
   * @defaultValue all workers of the namespace
   */
  readonly workerId?: string;
  /**
   * The cursor of the previous page.
   * @defaultValue the newest
   */
  readonly cursor?: string;
  /**
   * How many in a page, at most 1,000.
   * @defaultValue 100
   */
  readonly limit?: number;
}

const EVENT_OPTIONS: OptionChecks<WorkerEventOptions> = {
  workerId: isId("worker id"),
  cursor: (value, where) => void readCursor(value, where),
  limit: wholeNumber(1, EVENTS_MAX),
};

/** The workers of a namespace, as the store knows them. */
export class Workers {
  readonly #core: ClientCore;

  constructor(core: ClientCore) {
    this.#core = core;
  }

  /** Includes workers that have gone within the last 30 days, with when and how they ended. */
  list(): Promise<readonly WorkerRow[]> {
    return this.#core.call((store) => store.workers.list({ namespace: this.#core.namespace }));
  }

  /** One worker, by its id. */
  async get(workerId: string): Promise<WorkerRow | undefined> {
    requireId(workerId, "worker id");
    return (await this.list()).find((worker) => worker.workerId === workerId);
  }

  /** What has happened to the workers within the last 30 days, newest first, one page at a time. */
  async events(options: WorkerEventOptions = {}): Promise<WorkerEventPage> {
    checkOptions(options, EVENT_OPTIONS, "workers.events");
    this.#core.life.assertOpen();
    const { workerId, cursor, limit = EVENTS_DEFAULT } = options;
    const { namespace } = this.#core;
    const before = cursor === undefined ? null : readCursor(cursor, "workers.events");
    const of = workerId === undefined ? {} : { workerId };
    const rows = isUnknown(workerId)
      ? []
      : await this.#core.call((store) => store.workers.readLog({ namespace, before, limit: limit + 1, ...of }));
    const shown = rows.slice(0, limit);
    return {
      events: shown.map(eventOf),
      cursor: rows.length > limit ? String(shown.at(-1)?.entryNo) : null,
    };
  }

  /**
   * Asks a worker of any process to drain: with its next heartbeat it claims nothing new, lets its steps finish, releases its runs
   * and stops. It does not start again by itself.
   */
  async drain(workerId: string): Promise<void> {
    requireId(workerId, "worker id");
    this.#core.life.assertOpen();
    const { namespace } = this.#core;
    const { outcome } = isUnknown(workerId)
      ? { outcome: "not_found" }
      : await this.#core.call((store) => store.workers.askToDrain({ namespace, workerId }));
    if (outcome === "asked") return;
    const data = { workerId, outcome };
    if (outcome === "offline")
      throw new HoldfastError("worker_not_running", `Worker "${workerId}" has stopped, or died: it cannot drain.`, {
        data,
      });
    throw new HoldfastError("worker_not_found", `Worker "${workerId}" is not known in this namespace.`, { data });
  }
}

/** Ids of workers are UUIDs: anything else is no worker's. */
function isUnknown(workerId: string | undefined): boolean {
  return workerId !== undefined && !/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(workerId);
}

function eventOf({ workerId, name, type, at }: WorkerLogRow): WorkerEvent {
  return { workerId, name, type, at: new Date(at) };
}

function readCursor(cursor: unknown, where: string): number {
  if (typeof cursor === "string" && /^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw invalidOption(where, "the cursor", "was not returned by workers.events()");
}
