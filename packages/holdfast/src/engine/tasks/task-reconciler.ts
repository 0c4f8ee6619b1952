/**
 * Finds differences between the tasks that a worker holds and those that the store thinks it holds: the safety net under every
 * lost answer. A task that the store lists but this worker does not know is released once no claim, and no commit with tasks for
 * this worker, that was in flight when it was first seen can explain it. One that is held here under an epoch that the store does
 * not list was returned: it is dropped. A worker that stops drops what it holds without telling the store, task by task, so from
 * then on it compares nothing: what it does not know may have begun here, and its result may be on its way.
 */
import type { Task } from "../../model/task.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { HeldTask, Store } from "../../ports/store.ts";
import type { Lease } from "../lease/lease.ts";
import type { TaskRunner } from "./task-runner.ts";

export interface TaskReconcilerParams {
  readonly clock: Clock;
  readonly store: Store;
  readonly log: Logger;
  readonly namespace: string;
  readonly lease: Lease;
  readonly runner: TaskRunner;
  /** Since when the oldest call that may bring us a task has been in flight; undefined if none is. */
  readonly askingSince: () => number | undefined;
}

export class TaskReconciler {
  readonly #params: TaskReconcilerParams;
  #unknown = new Map<string, HeldTask & { readonly seenAt: number }>();
  #busy = false;
  #stopped = true;

  constructor(params: TaskReconcilerParams) {
    this.#params = params;
  }

  start(): void {
    this.#stopped = false;
  }

  stop(): void {
    this.#stopped = true;
    this.#unknown.clear();
  }

  async compare(heldCount: number): Promise<void> {
    const { runner, log, lease } = this.#params;
    if (this.#stopped || this.#busy || (heldCount === runner.count && this.#unknown.size === 0)) return;
    this.#busy = true;
    try {
      await this.#compare(lease.workerId);
    } catch (error) {
      log.warn({ workerId: lease.workerId, error: String(error) }, "could not compare held tasks with the store");
    }
    this.#busy = false;
  }

  async #compare(workerId: string): Promise<void> {
    const { runner, store, namespace, lease, clock, askingSince } = this.#params;
    const before = runner.all();
    const listed = await store.workers.readHeldTasks({ namespace, workerId });
    if (this.#stopped || lease.workerId !== workerId) return this.#unknown.clear();
    const epochs = new Map(listed.map((held) => [keyOf(held), held.epoch]));
    for (const task of before) if (epochs.get(keyOf(task)) !== task.epoch) runner.lostIf(task);
    const seenBefore = this.#unknown;
    this.#unknown = new Map();
    for (const held of listed) {
      if (runner.has(held)) continue;
      const known = seenBefore.get(keyOf(held));
      this.#unknown.set(keyOf(held), known?.epoch === held.epoch ? known : { ...held, seenAt: clock.monotonic() });
    }
    const oldest = askingSince() ?? Number.POSITIVE_INFINITY;
    // The store still lists it: it has not just ended here while the list was on its way.
    const again = [...this.#unknown].filter(([key, held]) => seenBefore.get(key) === held).map(([, held]) => held);
    await this.#release(
      workerId,
      again.filter(({ seenAt }) => seenAt < oldest),
    );
  }

  async #release(workerId: string, tasks: readonly HeldTask[]): Promise<void> {
    if (tasks.length === 0) return;
    const { log, store, namespace } = this.#params;
    log.warn(
      { workerId, tasks: tasks.length },
      "the store lists tasks for this worker that it does not know; releasing them",
    );
    const finishes = tasks.map(({ runId, seq, epoch }) => ({
      namespace,
      runId,
      seq,
      epoch,
      by: { type: "holder" as const, workerId },
      result: { type: "release" as const },
    }));
    await store.tasks.finish({ finishes });
    for (const task of tasks) this.#unknown.delete(keyOf(task));
  }
}

function keyOf({ runId, seq }: Pick<Task, "runId" | "seq">): string {
  return `${runId}/${seq}`;
}
