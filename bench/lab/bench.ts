/** One measurement: a fresh store, the processes of one workload on one engine, and the counters around them. */
import { coresBetween, countsBetween, type Snapshot, snapshot } from "./counters.ts";
import type { EngineDefinition, Figures, OwnServer, Size } from "./engine.ts";
import { type Job, runInside } from "./inside.ts";
import { Seat } from "./seat.ts";
import type { FreshStore, Stores } from "./stores.ts";
import type { Workload } from "./workload.ts";

export interface BenchParams {
  readonly stores: Stores;
  readonly workload: Workload;
  readonly definition: EngineDefinition;
  readonly size: Size;
  readonly sources: boolean;
  /** Runs workloads of one process in this process: for tests, which have no time for many processes. */
  readonly inProcess: boolean;
}

const SHORT_MS = 500;

export interface Measured {
  readonly figures: Figures;
  /** Cores used by everything else on the machine meanwhile. */
  readonly othersCores: number;
}

export async function measure(params: BenchParams): Promise<Measured> {
  const { workload, definition, stores } = params;
  const store = await stores.fresh(definition.store);
  let server: OwnServer | undefined;
  const bench = new Bench(params, store);
  try {
    server = await definition.prepare?.(store.folder, workload.name);
    bench.ownServerPid = server?.pid;
    await bench.note("open");
    const figures = await (workload.measure ? workload.measure(bench) : bench.one());
    await bench.note("end");
    return bench.summary(figures);
  } finally {
    await bench.end();
    await server?.stop();
    await store.remove();
  }
}

export class Bench {
  readonly snapshots = new Map<string, Snapshot>();
  readonly size: Size;
  readonly definition: EngineDefinition;
  readonly url: string;
  ownServerPid: number | undefined;
  readonly #params: BenchParams;
  readonly #store: FreshStore;
  readonly #seats: Seat[] = [];

  constructor(params: BenchParams, store: FreshStore) {
    this.#params = params;
    this.#store = store;
    this.size = params.size;
    this.definition = params.definition;
    this.url = store.url;
  }

  /** The usual case: everything in one process. */
  async one(extra: Partial<Job> = {}): Promise<Figures> {
    const { workload, inProcess } = this.#params;
    const part = workload.parts["main"];
    if (!inProcess || !part) return this.start("main", extra).figures;
    const mark = (name: string): Promise<void> => this.note(name);
    return runInside({ job: this.#job("main", extra), definition: this.definition, part, mark });
  }

  /** A process with one part of the workload. */
  start(part: string, extra: Partial<Job> = {}): Seat {
    const { definition, sources } = this.#params;
    const job = this.#job(part, extra);
    const seat = new Seat({ job, definition, sources, onMark: (name) => this.note(name) });
    this.#seats.push(seat);
    return seat;
  }

  /** Reads all counters now; the first snapshot under a name stays. */
  async note(name: string): Promise<void> {
    if (this.snapshots.has(name)) return;
    const { stores, definition } = this.#params;
    const database = definition.store === "postgres" ? new URL(this.url).pathname.slice(1) : undefined;
    const pids = this.#seats.length > 0 ? this.#seats.map((seat) => seat.pid) : [process.pid];
    this.snapshots.set(name, await snapshot({ stores, database, pids, ownServerPid: this.ownServerPid }));
  }

  summary(figures: Figures): Measured {
    const { workload, definition } = this.#params;
    const [open, end] = [this.snapshots.get("open"), this.snapshots.get("end")] as [Snapshot, Snapshot];
    const from = this.snapshots.get("begin") ?? open;
    const to = this.snapshots.get("finish") ?? end;
    const { allocatedBytes, nodeCpuSeconds, ...own } = figures;
    const units = figures["steps"] ?? figures["runs"];
    const counts = units === undefined || workload.counted ? {} : countsBetween(from, to, units);
    const counted = workload.counted?.(this.snapshots, figures, definition) ?? {};
    // The kernel counts processor time in hundredths of a second, too coarse for a short measurement.
    const short = to.at - from.at < SHORT_MS;
    const cores = short ? coresBetween(open, end) : coresBetween(from, to);
    const node =
      nodeCpuSeconds === undefined || short ? {} : { nodeCores: (nodeCpuSeconds * 1000) / (to.at - from.at) };
    const server = short ? {} : { serverCores: cores.serverCores };
    const heap = !units || allocatedBytes === undefined ? {} : { allocatedBytesPerStep: allocatedBytes / units };
    return { figures: { ...own, ...heap, ...node, ...server, ...counts, ...counted }, othersCores: cores.othersCores };
  }

  async end(): Promise<void> {
    await Promise.all(this.#seats.map((seat) => seat.end()));
  }

  #job(part: string, extra: Partial<Job>): Job {
    const { workload, definition, size } = this.#params;
    const { url, folder } = this.#store;
    return { workload: workload.name, part, engine: definition.name, url, folder, size, ...extra };
  }
}
