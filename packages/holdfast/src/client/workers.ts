import { requireId } from "../errors/option-checks.ts";
import type { WorkerRow } from "../model/worker-row.ts";
import type { ClientCore } from "./client-core.ts";

/** A moment in a worker's life. Only the last heartbeat is known; `stopping` is a draining worker. */
export interface WorkerEvent {
  readonly workerId: string;
  readonly name: string;
  readonly type: "started" | "heartbeat" | "stopping" | "stopped" | "died";
  readonly at: Date;
}

/** The workers of a namespace, as the store knows them. */
export class Workers {
  readonly #core: ClientCore;

  constructor(core: ClientCore) {
    this.#core = core;
  }

  /** Includes workers that are gone, with when and how they ended. Labels name their host and process. */
  list(): Promise<readonly WorkerRow[]> {
    return this.#core.call((store) => store.workers.list({ namespace: this.#core.namespace }));
  }

  /** One worker, by its id. */
  async get(workerId: string): Promise<WorkerRow | undefined> {
    requireId(workerId, "worker id");
    return (await this.list()).find((worker) => worker.workerId === workerId);
  }

  /** What is known about the lives of the workers, oldest first. */
  async events(): Promise<WorkerEvent[]> {
    const events = (await this.list()).flatMap(eventsOf);
    return events.sort((a, b) => a.at.getTime() - b.at.getTime());
  }
}

function eventsOf(worker: WorkerRow): WorkerEvent[] {
  const { workerId, name } = worker;
  const event = (type: WorkerEvent["type"], at: number): WorkerEvent => ({ workerId, name, type, at: new Date(at) });
  const events = [event("started", worker.startedAt)];
  if (worker.heartbeatAt > worker.startedAt) events.push(event("heartbeat", worker.heartbeatAt));
  if (worker.status === "draining") events.push(event("stopping", worker.heartbeatAt));
  if (worker.stoppedAt !== null) events.push(event(worker.died ? "died" : "stopped", worker.stoppedAt));
  return events;
}
