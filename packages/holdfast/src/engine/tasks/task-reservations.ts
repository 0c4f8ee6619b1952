import type { Task } from "../../model/task.ts";
import type { LocalRun, TaskReservation } from "./local-tasks.ts";

/** What becomes of a reservation: its task starts, or there is none. */
type Use = (reservation: TaskReservation, task?: Task, run?: LocalRun) => void;

/** The slots that are kept for tasks that runs of this process are about to create. */
export class TaskReservations {
  /** The oldest first. */
  readonly #open = new Set<Reservation>();
  #waiters: (() => void)[] = [];

  get count(): number {
    return this.#open.size;
  }

  /** Since when the oldest commit that may bring a task has been under way; undefined if there is none. */
  get since(): number | undefined {
    for (const { since } of this.#open) return since;
    return undefined;
  }

  add(workerId: string, claimId: string, since: number, use: Use): TaskReservation {
    const reservation = new Reservation(workerId, claimId, since, this, use);
    this.#open.add(reservation);
    return reservation;
  }

  untilNone(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** Each is used once. */
  use(reservation: Reservation, task?: Task, run?: LocalRun): void {
    if (!this.#open.delete(reservation)) return;
    reservation.use(reservation, task, run);
    if (this.#open.size === 0) for (const resolve of this.#waiters.splice(0)) resolve();
  }
}

class Reservation implements TaskReservation {
  readonly workerId: string;
  readonly claimId: string;
  readonly since: number;
  readonly use: Use;
  readonly #all: TaskReservations;

  constructor(workerId: string, claimId: string, since: number, all: TaskReservations, use: Use) {
    this.workerId = workerId;
    this.claimId = claimId;
    this.since = since;
    this.use = use;
    this.#all = all;
  }

  start(task: Task, run: LocalRun): void {
    this.#all.use(this, task, run);
  }

  cancel(): void {
    this.#all.use(this);
  }
}
