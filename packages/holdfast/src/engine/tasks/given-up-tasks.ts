import { untilAnswered } from "../../calls/store-retry.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import type { CancelTasksResult } from "../../ports/store.ts";
import type { DrivenOp } from "../../replay/op.ts";
import type { TaskWork } from "../../replay/ops/task-work.ts";
import type { ExecutorHost } from "../execute/executor-host.ts";
import type { HeldRun } from "../execute/held-run.ts";
import type { QueuedDraft } from "../execute/message-draft.ts";

/** The row of a task is locked for moments only. */
const BUSY_MS = 50;

/** The live run that these tasks belong to. */
export interface TaskOwner extends HeldRun {
  push(draft: QueuedDraft): void;
}

/** The tasks that one live run has given up and whose outcome it must still learn: their compensations need it. */
export class GivenUpTasks {
  readonly #host: ExecutorHost;
  readonly #run: TaskOwner;
  /** The store has been asked what became of them, by seq. */
  readonly #asked = new Set<number>();
  /** Given up while the commit that creates them was in flight. */
  #undecided: readonly DrivenOp[] = [];
  /** Questions that are not answered yet. */
  #asking = 0;

  constructor(host: ExecutorHost, run: TaskOwner) {
    this.#host = host;
    this.#run = run;
  }

  /** Whether an answer is still to come. */
  get asking(): boolean {
    return this.#asking > 0;
  }

  /** The commit in flight was answered: those that it was to create exist now, or do not. */
  decide(durableSeq: number): void {
    const ops = this.#undecided;
    this.#undecided = [];
    if (ops.length > 0) this.close(ops, durableSeq, () => false);
  }

  forget(seq: number): void {
    this.#asked.delete(seq);
  }

  clear(): void {
    this.#asked.clear();
    this.#undecided = [];
  }

  /** The code has given these up. `inFlight`: whether the commit that creates a task is on its way to the store. */
  close(ops: readonly DrivenOp[], durableSeq: number, inFlight: (seq: number) => boolean): void {
    const given = ops.filter(({ task, pending }) => task && pending && !this.#asked.has(task.seq));
    const undecided = given.filter(({ task }) => inFlight((task as TaskWork).seq));
    this.#undecided = [...this.#undecided, ...undecided];
    const closing = given.filter((op) => !undecided.includes(op));
    const unborn = closing.filter(({ task }) => (task as TaskWork).lost || (task as TaskWork).seq > durableSeq);
    for (const op of unborn) {
      this.#asked.add((op.task as TaskWork).seq);
      this.#giveUp(op, { neverBegan: true });
    }
    const existing = closing.filter((op) => !unborn.includes(op));
    if (existing.length > 0) void this.#ask(existing);
  }

  /** Asks the store what became of them, until it has answered for each, or the run is no longer here. */
  async #ask(ops: readonly DrivenOp[]): Promise<void> {
    const { epoch } = this.#run.run;
    const gone = (): boolean => !this.#run.here || this.#run.run.epoch !== epoch;
    for (const { task } of ops) this.#asked.add((task as TaskWork).seq);
    this.#asking += 1;
    for (let open = ops; open.length > 0 && !gone(); ) {
      const { outcomes } = await this.#cancel(open, gone);
      for (const [i, op] of gone() ? [] : open.entries()) this.#answered(op, outcomes[i]?.outcome);
      open = open.filter((_, i) => outcomes[i]?.outcome === "busy");
      if (open.length > 0) await new Promise<void>((resolve) => void this.#host.clock.setTimer(BUSY_MS, resolve));
    }
    this.#asking -= 1;
    this.#run.poke();
  }

  async #cancel(ops: readonly DrivenOp[], gone: () => boolean): Promise<CancelTasksResult> {
    const { clock, random, store } = this.#host;
    const { namespace, runId } = this.#run.run;
    const tasks = ops.map(({ task }) => ({ runId, seq: (task as TaskWork).seq }));
    try {
      return await untilAnswered({ clock, random }, () => store.tasks.cancel({ namespace, tasks }), gone);
    } catch {
      return { outcomes: [] };
    }
  }

  #answered(op: DrivenOp, outcome: CancelTasksResult["outcomes"][number]["outcome"] | undefined): void {
    if (!op.pending) return;
    if (outcome === "never_began") this.#giveUp(op, { neverBegan: true });
    else if (outcome === "stopped") this.#giveUp(op, { unknown: true });
  }

  #giveUp({ id, task }: DrivenOp, known: { readonly neverBegan?: true; readonly unknown?: true }): void {
    const { name } = (task as TaskWork).spec;
    const error = new HoldfastError("task_canceled", `The run gave task "${id}" up.`);
    const record = { ...this.#host.record(error, { attempts: 0, op: id }), task: name };
    const meta = { attempt: 0, error: record, withdrawn: true as const, ...known };
    this.#run.push({ type: "task_failed", op: id, meta });
  }
}
