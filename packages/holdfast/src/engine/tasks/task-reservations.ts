import type { Task } from "../../model/task.ts";
import type { LocalRun, TaskReservation } from "./local-tasks.ts";

/** What becomes of a reservation: its task starts, or there is none. */
type Use = (reservation: TaskReservation, task?: Task, run?: LocalRun) => void;

/** The slots that are kept for tasks that runs of this process are about to create. */
export class TaskReservations {
  /** The oldest first. */
  readonly #open = new Set<Reservation>();

  get count(): number {
    return this.#open.size;
  }

  /** Since when the oldest commit that may bring a task has been under way; undefined if there is none. */
  get since(): number | undefined {
    for (const { since } of this.#open) return since;
    return undefined;
  }

  add(workerId: string, claimId: string, since: number, use: Use): TaskReservation {
    const reservation = new Reservation(workerId, claimId, since, this.#open, use);
    this.#open.add(reservation);
    return reservation;
  }
}

class Reservation implements TaskReservation {
  readonly workerId: string;
  readonly claimId: string;
  readonly since: number;
  readonly #open: Set<Reservation>;
  readonly #use: Use;

  constructor(workerId: string, claimId: string, since: number, open: Set<Reservation>, use: Use) {
    this.workerId = workerId;
    this.claimId = claimId;
    this.since = since;
    this.#open = open;
    this.#use = use;
  }

  start(task: Task, run: LocalRun): void {
    if (this.#open.delete(this)) this.#use(this, task, run);
  }

  cancel(): void {
    if (this.#open.delete(this)) this.#use(this);
  }
}
