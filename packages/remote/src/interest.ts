/** Which hints this client wants from its server: told when a session opens, and then what changes. */
import { create } from "@bufbuild/protobuf";
import { type StoreInterest, StoreInterestSchema, StoreWorkerSchema } from "@holdfast/protocol/store";

export interface InterestedWorker {
  readonly workerId: string;
  readonly namespace: string;
  readonly queues: readonly string[];
  readonly leaseMs: number;
}

export class Interest {
  /** How many want the hints of each run. */
  readonly #runs = new Map<string, number>();
  readonly #workers = new Map<string, InterestedWorker>();
  readonly #namespaces: readonly string[];
  readonly #onChange: (change: StoreInterest) => void;
  #added = new Set<string>();
  #removed = new Set<string>();
  #scheduled = false;

  /** `namespaces`: those of which all hints are wanted. */
  constructor(namespaces: readonly string[], onChange: (change: StoreInterest) => void) {
    this.#namespaces = namespaces;
    this.#onChange = onChange;
  }

  watch(runIds: readonly string[]): () => void {
    for (const runId of runIds) this.#add(runId);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      for (const runId of runIds) this.#remove(runId);
    };
  }

  addWorker(worker: InterestedWorker): void {
    this.#workers.set(worker.workerId, worker);
    this.#onChange(create(StoreInterestSchema, { workers: [workerOf(worker)] }));
  }

  removeWorker(workerId: string): void {
    if (this.#workers.delete(workerId)) this.#onChange(create(StoreInterestSchema, { notWorkers: [workerId] }));
  }

  get runs(): Iterable<string> {
    return this.#runs.keys();
  }

  get workers(): Iterable<InterestedWorker> {
    return this.#workers.values();
  }

  /** All of it, for a new session. */
  whole(): StoreInterest {
    return create(StoreInterestSchema, {
      anew: true,
      runs: [...this.#runs.keys()],
      workers: [...this.#workers.values()].map(workerOf),
      namespaces: [...this.#namespaces],
    });
  }

  #add(runId: string): void {
    const count = this.#runs.get(runId) ?? 0;
    this.#runs.set(runId, count + 1);
    if (count > 0) return;
    if (!this.#removed.delete(runId)) this.#added.add(runId);
    this.#tell();
  }

  #remove(runId: string): void {
    const count = this.#runs.get(runId) ?? 0;
    if (count > 1) return void this.#runs.set(runId, count - 1);
    this.#runs.delete(runId);
    if (!this.#added.delete(runId)) this.#removed.add(runId);
    this.#tell();
  }

  /** A thousand waits that begin together are one message, ahead of what their callers send after it. */
  #tell(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    void Promise.resolve().then(() => {
      this.#scheduled = false;
      if (this.#added.size + this.#removed.size === 0) return;
      const change = { runs: [...this.#added], notRuns: [...this.#removed] };
      this.#added = new Set();
      this.#removed = new Set();
      this.#onChange(create(StoreInterestSchema, change));
    });
  }
}

function workerOf({ workerId, namespace, queues }: InterestedWorker) {
  return create(StoreWorkerSchema, { workerId, namespace, queues: [...queues] });
}
