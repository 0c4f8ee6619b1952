import { lockedMs, pause, untilAnswered } from "../../calls/store-retry.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import type { HistoryEvent } from "../../model/event.ts";
import { NONE } from "../../model/short-list.ts";
import type { CancelTasksResult } from "../../ports/store.ts";
import type { DrivenOp } from "../../replay/op.ts";
import type { TaskWork } from "../../replay/ops/task-work.ts";
import type { ExecutorHost } from "../execute/executor-host.ts";
import type { HeldRun } from "../execute/held-run.ts";
import type { QueuedDraft } from "../execute/message-draft.ts";

/** How far a task came that was given up; neither: it failed. */
interface Known {
  readonly neverBegan?: true;
  readonly unknown?: true;
}

/** The live run that these tasks belong to. */
export interface TaskOwner extends HeldRun {
  push(draft: QueuedDraft): void;
}

/** How far the history of the run is durable. */
export interface Written {
  readonly durableSeq: number;
}

/** The tasks that one live run has given up and whose outcome it must still learn: their compensations need it. */
export class GivenUpTasks {
  readonly #host: ExecutorHost;
  readonly #run: TaskOwner;
  /** The store has been asked what became of them, by seq. */
  readonly #asked = new Set<number>();
  /** A commit that is in flight, or still to be sent, creates them; and somebody may take them at once. */
  #unborn: readonly DrivenOp[] = NONE;
  /** Answers to earlier questions do not count. */
  #generation = 0;
  /** Questions that are not answered yet. */
  #asking = 0;

  constructor(host: ExecutorHost, run: TaskOwner) {
    this.#host = host;
    this.#run = run;
  }

  /** Whether an answer is still to come. */
  get asking(): boolean {
    return this.#asking > 0 || this.#unborn.length > 0;
  }

  forget(seq: number): void {
    this.#asked.delete(seq);
  }

  /** All of them are asked about again, if the code still gives them up. */
  clear(): void {
    this.#generation += 1;
    this.#asked.clear();
    this.#unborn = NONE;
  }

  /** The code has given these up. */
  close(ops: readonly DrivenOp[], { durableSeq }: Written): void {
    const closing = ops.filter(({ task, pending }) => task && pending && !this.#asked.has(task.seq));
    for (const op of closing) {
      const task = op.task as TaskWork;
      if (!task.lost) continue;
      this.#asked.add(task.seq);
      this.#giveUp(op, lastKnown(this.#run.machine.recorded, op.id));
    }
    const sent = closing.filter(({ task }) => !(task as TaskWork).lost);
    const existing = sent.filter(({ task }) => (task as TaskWork).seq <= durableSeq);
    const unborn = sent.filter((op) => !existing.includes(op));
    if (unborn.length > 0) this.#unborn = [...this.#unborn, ...unborn];
    if (existing.length > 0) void this.#ask(existing);
  }

  /** A commit was answered: what it created can be asked about. */
  born(written: Written): void {
    const ops = this.#unborn;
    if (ops.length === 0) return;
    this.#unborn = NONE;
    this.close(ops, written);
  }

  /** Asks the store what became of them, until it has answered for each, or the run is no longer here. */
  async #ask(ops: readonly DrivenOp[]): Promise<void> {
    const generation = this.#generation;
    const gone = (): boolean => !this.#run.here || this.#generation !== generation;
    for (const { task } of ops) this.#asked.add((task as TaskWork).seq);
    this.#asking += 1;
    for (let open = ops, sends = 1; open.length > 0 && !gone(); sends++) {
      const { outcomes } = await this.#cancel(open, gone);
      for (const [i, op] of gone() ? [] : open.entries()) this.#answered(op, outcomes[i]?.outcome);
      open = open.filter((_, i) => outcomes[i]?.outcome === "busy");
      if (open.length > 0) await pause(this.#host, lockedMs(this.#host.random, sends));
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

  #giveUp({ id, task }: DrivenOp, known: Known): void {
    const { name } = (task as TaskWork).spec;
    const error = new HoldfastError("task_canceled", `The run gave task "${id}" up.`);
    const record = { ...this.#host.record(error, { attempts: 0, op: id }), task: name };
    const meta = { attempt: 0, error: record, withdrawn: true as const, ...known };
    this.#run.push({ type: "task_failed", op: id, meta });
  }
}

/** A task that does not exist any more, because the run was tried again: what its last failure says, or nothing if it was taken back. */
function lastKnown(recorded: readonly HistoryEvent[], op: string): Known {
  const last = recorded.findLast((event) => event.op === op && LAST_WORDS.has(event.type));
  if (last?.type !== "task_failed") return { unknown: true };
  const { neverBegan, unknown } = last.meta ?? {};
  return { ...(neverBegan ? { neverBegan } : {}), ...(unknown ? { unknown: true } : {}) };
}

const LAST_WORDS: ReadonlySet<string> = new Set(["task_failed", "op_canceled", "op_rescheduled"]);
