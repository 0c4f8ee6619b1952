import type { ClaimRunsParams, NewRun, QueueLimits, QueueState, SetQueueParams } from "holdfast/adapter";
import type { Fixture } from "./fixture.ts";
import { Holder } from "./holder.ts";
import { end } from "./sample-data.ts";

/** The calls about queues with limits that most cases make. */
export class QueueCalls {
  readonly #fixture: Fixture;

  constructor(fixture: Fixture) {
    this.#fixture = fixture;
  }

  /** Whatever limits it has. */
  async set(limits: QueueLimits | null, queue = "default", namespace = "default"): Promise<void> {
    for (let revision: string | null = null; ; ) {
      const params: SetQueueParams = { namespace, queue, limits, revision, next: this.#fixture.newId() };
      const result = await this.#fixture.store.queues.setIfRevision(params);
      if (result.outcome === "written") return;
      revision = result.revision;
    }
  }

  /** Starts runs, each a millisecond after the one before, and returns their run ids. */
  async start(count: number, fields: Partial<NewRun> = {}): Promise<string[]> {
    const runIds: string[] = [];
    for (let i = 0; i < count; i++) {
      const { run } = await this.#fixture.start(fields);
      runIds.push(run.runId);
      await this.#fixture.advance(1);
    }
    return runIds;
  }

  /** The runs that a claim takes, in order. */
  async claim(workerId: string, fields: Partial<ClaimRunsParams> = {}): Promise<Holder[]> {
    const { runs } = await this.#fixture.claim(workerId, fields);
    return runs.map((run) => new Holder(this.#fixture.store, workerId, run));
  }

  async claimed(workerId: string, fields: Partial<ClaimRunsParams> = {}): Promise<string[]> {
    return (await this.claim(workerId, fields)).map(({ runId }) => runId);
  }

  async end(...holders: readonly Holder[]): Promise<void> {
    for (const holder of holders) await holder.commit(end());
  }

  /** The only queue of the namespace, or that one. */
  async read(queue = "default", key?: string): Promise<QueueState> {
    const asked = { namespace: "default", queue, holdersMax: 100, ...(key === undefined ? {} : { key }) };
    const [state] = await this.#fixture.store.queues.list(asked);
    if (!state) throw new Error(`there is no queue "${queue}"`);
    return state;
  }
}
