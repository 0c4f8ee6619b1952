import type { Task, TaskKey } from "../../model/task.ts";
import type { TaskResult } from "../../ports/store.ts";
import type { LocalRun, LocalTask } from "./local-tasks.ts";
import { TaskAttempt, type TaskAttemptHost, type TaskAttemptOwner } from "./task-attempt.ts";

/** The worker's side of a held task. */
export interface HeldTaskOwner extends TaskAttemptOwner {
  /** The result is durable, or nobody wants it. */
  settled(held: HeldTask): void;
  /** The run is gone: the store gets the result. */
  handedBack(held: HeldTask): void;
}

/** A task that this worker holds, and its attempt. */
export class HeldTask implements LocalTask {
  readonly key: string;
  readonly task: Task;
  readonly attempt: TaskAttempt;
  /** The run that waits for it here. */
  readonly run: LocalRun | undefined;
  canceled: boolean;
  /** How the attempt has ended. */
  result: TaskResult | undefined;
  /** The run has the result; its commit is not written yet. */
  taken = false;
  readonly #owner: HeldTaskOwner;

  constructor(task: Task, run: LocalRun | undefined, host: TaskAttemptHost, owner: HeldTaskOwner) {
    this.key = taskKey(task);
    this.task = task;
    this.run = run;
    this.canceled = task.canceled;
    this.#owner = owner;
    this.attempt = new TaskAttempt(task, host, owner);
  }

  settled(): void {
    this.#owner.settled(this);
  }

  handBack(): void {
    this.#owner.handedBack(this);
  }
}

export function taskKey({ runId, seq }: TaskKey): string {
  return `${runId}/${seq}`;
}
