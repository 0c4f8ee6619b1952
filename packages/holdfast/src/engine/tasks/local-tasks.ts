/**
 * Schedule-and-hold: a task whose worker is in the process that schedules it is created already held by that worker, and starts
 * with the answer to the commit. Its result goes straight to the run, if that is still here.
 */

import type { Payload } from "../../model/payload.ts";
import type { NewTask, Task, TaskKey } from "../../model/task.ts";

/** A slot that a worker of this process keeps for a task that is about to be created. */
export interface TaskReservation {
  readonly workerId: string;
  readonly claimId: string;
  /** The task exists, and is held by this worker. */
  start(task: Task, run: LocalRun): void;
  /** It was not created, or not held. */
  cancel(): void;
}

/** A task that this process executes for a run that it holds. */
export interface LocalTask {
  readonly task: Task;
  /** The result is durable, or nobody wants it: the store has no such task any more. */
  settled(): void;
  /** The run is not here any more: report the result to the store. */
  handBack(): void;
}

/** The run that has scheduled a local task. */
export interface LocalRun {
  /** Takes the result; false if the run is no longer here. */
  take(local: LocalTask, payload: Payload, ms: number): boolean;
  /** The attempt has ended without a result for the run: whatever comes of it comes through the inbox. */
  released(task: Task): void;
}

/** The workers of this process that execute tasks. */
export interface LocalTasks {
  /** Undefined if none of them can do the task, or not now. */
  reserve(task: Pick<NewTask, "name" | "queue" | "requires">): TaskReservation | undefined;
  /** The run has taken it back: the store has no such task any more. */
  takenBack(task: TaskKey): void;
}

type Use = (reservation: Reservation, task?: Task, run?: LocalRun) => void;

/** A slot is kept until the task that it is for starts, or is not created after all. */
export class Reservation implements TaskReservation {
  readonly workerId: string;
  readonly claimId: string;
  readonly since: number;
  #use: Use | undefined;

  constructor(workerId: string, claimId: string, since: number, use: Use) {
    this.workerId = workerId;
    this.claimId = claimId;
    this.since = since;
    this.#use = use;
  }

  start(task: Task, run: LocalRun): void {
    this.#end(task, run);
  }

  cancel(): void {
    this.#end();
  }

  #end(task?: Task, run?: LocalRun): void {
    const use = this.#use;
    this.#use = undefined;
    use?.(this, task, run);
  }
}
