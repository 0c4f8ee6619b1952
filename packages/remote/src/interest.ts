/** Which hints this client wants from its server: told when a session opens, and then what changes. */
import { create } from "@bufbuild/protobuf";
import { type StoreInterest, StoreInterestSchema, StoreWorkerSchema } from "@holdfast/protocol/store";

/** A message with names is no larger than this and one worker: the server takes no message that is larger than a part of a call. */
const MESSAGE_NAME_BYTES = 64 * 1024;
/** What a name of a run takes, with what is around it. */
const RUN_BYTES = 40;

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

/** The same in messages that no server refuses, however many runs somebody waits for. */
export function interestParts(interest: StoreInterest): readonly StoreInterest[] {
  const { runs, notRuns, workers, notWorkers, namespaces, anew } = interest;
  const parts: StoreInterest[] = [create(StoreInterestSchema, { anew, namespaces })];
  let bytes = 0;
  const roomFor = (more: number): StoreInterest => {
    if (bytes > 0 && bytes + more > MESSAGE_NAME_BYTES) {
      parts.push(create(StoreInterestSchema, {}));
      bytes = 0;
    }
    bytes += more;
    return parts.at(-1) as StoreInterest;
  };
  for (const runId of notRuns) roomFor(RUN_BYTES).notRuns.push(runId);
  for (const workerId of notWorkers) roomFor(RUN_BYTES).notWorkers.push(workerId);
  for (const worker of workers)
    roomFor(worker.queues.reduce((sum, queue) => sum + 4 * queue.length, RUN_BYTES)).workers.push(worker);
  for (const runId of runs) roomFor(RUN_BYTES).runs.push(runId);
  return parts;
}

function workerOf({ workerId, namespace, queues }: InterestedWorker) {
  return create(StoreWorkerSchema, { workerId, namespace, queues: [...queues] });
}
