/**
 * Tasks that a worker holds without knowing: the answer of its poll was lost. A worker that lists its tasks with its heartbeats gets
 * rid of them; otherwise it would hold them for as long as it lives.
 */
import { type Clock, readToken, type Store, type TaskHold } from "holdfast/adapter";
import { POLL_MS_MAX } from "./long-poll.ts";

/** Longer than a poll: its answer may be on its way. */
export const FORGOTTEN_MS = POLL_MS_MAX + 10_000;

const WORKERS_MAX = 10_000;

export interface ForgottenTasksParams {
  readonly store: {
    readonly workers: Pick<Store["workers"], "readHeldTasks">;
    readonly tasks: Pick<Store["tasks"], "finish">;
  };
  readonly clock: Clock;
}

export class ForgottenTasks {
  readonly #params: ForgottenTasksParams;
  /** By worker: since when each task was not named. */
  readonly #missing = new Map<string, ReadonlyMap<string, number>>();

  constructor(params: ForgottenTasksParams) {
    this.#params = params;
  }

  /** The worker works on the tasks of these tokens, and on no other. Answers how many it had to give back. */
  async compare(
    worker: { readonly namespace: string; readonly workerId: string },
    tokens: readonly string[],
  ): Promise<number> {
    const { store, clock } = this.#params;
    const { namespace, workerId } = worker;
    const named = new Set(tokens.flatMap((token) => keyOf(readToken(token))));
    const held = await store.workers.readHeldTasks({ namespace, workerId });
    const unnamed = held.filter((task) => !named.has(keyOf(task)[0] as string));
    const before = this.#missing.get(workerId);
    const now = clock.monotonic();
    const since = (task: TaskHold): number => before?.get(keyOf(task)[0] as string) ?? now;
    const forgotten = unnamed.filter((task) => now - since(task) >= FORGOTTEN_MS);
    const waiting = unnamed.filter((task) => !forgotten.includes(task));
    // Workers that die do not say so; what is forgotten here is only noticed later.
    if (this.#missing.size >= WORKERS_MAX) this.#missing.clear();
    if (waiting.length === 0) this.#missing.delete(workerId);
    else this.#missing.set(workerId, new Map(waiting.map((task) => [keyOf(task)[0] as string, since(task)])));
    if (forgotten.length > 0) {
      const by = { type: "holder", workerId } as const;
      const finishes = forgotten.map(({ runId, seq, epoch }) => ({
        namespace,
        runId,
        seq,
        epoch,
        by,
        result: { type: "release" as const },
      }));
      await store.tasks.finish({ finishes });
    }
    return forgotten.length;
  }

  forget(workerId: string): void {
    this.#missing.delete(workerId);
  }
}

function keyOf(hold: TaskHold | undefined): string[] {
  return hold ? [`${hold.runId} ${hold.seq} ${hold.epoch}`] : [];
}
