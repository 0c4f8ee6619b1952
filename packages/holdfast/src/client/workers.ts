import type { WorkerRow } from "../model/worker-row.ts";
import type { ClientCore } from "./client-core.ts";

/** The workers of a namespace, as the store knows them. */
export class Workers {
  readonly #core: ClientCore;

  constructor(core: ClientCore) {
    this.#core = core;
  }

  /** Also those that are gone, with when and how they went. */
  list(): Promise<readonly WorkerRow[]> {
    return this.#core.call((store) => store.listWorkers({ namespace: this.#core.namespace }));
  }

  async get(workerId: string): Promise<WorkerRow | undefined> {
    return (await this.list()).find((worker) => worker.workerId === workerId);
  }
}
