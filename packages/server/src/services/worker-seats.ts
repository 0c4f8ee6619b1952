/**
 * Workers in other languages, as this server knows them: rows of the store like any worker's, renewed by calls instead of a
 * connection. What is remembered here can be read again from the store: any server will do for the next call.
 */
import { type Clock, HoldfastError, type Random, type Store, uuidV7 } from "holdfast/adapter";
import { patiently } from "../patience.ts";

const SEATS_MAX = 10_000;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** What a poll and a heartbeat need of a worker. */
export interface Seat {
  readonly namespace: string;
  readonly workerId: string;
  readonly leaseMs: number;
  readonly queues: readonly string[];
  readonly tasks: readonly string[];
  readonly workflows: readonly string[];
  /** As tasks require them: see `offeredLabels`. */
  readonly labels: readonly string[];
  draining: boolean;
  /** When its lease was last known to be renewed, by the monotonic clock. */
  seenAt: number;
}

export interface NewSeat extends Omit<Seat, "workerId" | "labels" | "draining" | "seenAt"> {
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly version: string;
}

export interface WorkerSeatsParams {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

export class WorkerSeats {
  readonly #params: WorkerSeatsParams;
  readonly #seats = new Map<string, Seat>();

  constructor(params: WorkerSeatsParams) {
    this.#params = params;
  }

  async register({ name, host, pid, version, labels, ...given }: NewSeat): Promise<Seat> {
    const { store, clock, random } = this.#params;
    const workerId = uuidV7(clock.now(), random.bytes(16));
    const { namespace, queues, workflows, tasks, leaseMs } = given;
    const row = {
      namespace,
      workerId,
      name: name || `guest-${workerId.slice(-8)}`,
      queues,
      workflows,
      tasks,
      labels,
      leaseMs,
      about: { options: { guest: true }, ...(version === "" ? {} : { program: version }) },
      ...(host === "" ? {} : { host, pid }),
    };
    // The id is new, and the same each time: repeated, it is the same worker.
    const { live } = await patiently(clock, () => store.workers.register(row));
    if (!live) throw seatLost(workerId);
    const seat: Seat = { ...given, workerId, labels: offered(labels), draining: false, seenAt: clock.monotonic() };
    this.#keep(seat);
    return seat;
  }

  /** Throws `worker_not_found` for one of another namespace, or that is gone. */
  async find(namespace: string, workerId: string): Promise<Seat> {
    const known = this.#seats.get(workerId);
    if (known && known.namespace === namespace) return known;
    const rows = UUID.test(workerId) ? await this.#params.store.workers.list({ namespace }) : [];
    const row = rows.find((one) => one.workerId === workerId && one.status !== "offline");
    if (!row) throw seatLost(workerId);
    const { leaseMs, queues, workflows, tasks = [], labels, status } = row;
    const [draining, seenAt] = [status === "draining", Number.NEGATIVE_INFINITY];
    const offers = { queues, workflows, tasks, labels: offered(labels) };
    const seat: Seat = { namespace, workerId, leaseMs, ...offers, draining, seenAt };
    this.#keep(seat);
    return seat;
  }

  /** One that may get work. */
  async findLive(namespace: string, workerId: string): Promise<Seat> {
    const seat = await this.find(namespace, workerId);
    await this.requireLive(seat);
    return seat;
  }

  /** Throws `worker_not_found` for one whose lease has expired. Its heartbeats may have gone to another server. */
  async requireLive(seat: Seat): Promise<void> {
    const { store, clock } = this.#params;
    const { namespace, workerId, leaseMs } = seat;
    if (clock.monotonic() - seat.seenAt <= leaseMs) return;
    const [rows, { now }] = await Promise.all([store.workers.list({ namespace }), store.readClock()]);
    const row = rows.find((one) => one.workerId === workerId);
    if (!row || row.status === "offline" || row.leaseExpiresAt <= now) {
      this.forget(workerId);
      throw seatLost(workerId);
    }
    seat.seenAt = clock.monotonic() - (leaseMs - (row.leaseExpiresAt - now));
  }

  forget(workerId: string): void {
    this.#seats.delete(workerId);
  }

  #keep(seat: Seat): void {
    if (this.#seats.size >= SEATS_MAX) this.#seats.delete(this.#seats.keys().next().value as string);
    this.#seats.set(seat.workerId, seat);
  }
}

export function seatLost(workerId: string): HoldfastError {
  const id = workerId.slice(0, 100);
  const message = `There is no worker "${id}" any more, or it never was in this namespace. Register again.`;
  return new HoldfastError("worker_not_found", message, { data: { workerId: id } });
}

function offered(labels: Readonly<Record<string, string>>): string[] {
  return Object.entries(labels).flatMap(([name, value]) => (value === "" ? [name] : [name, `${name}=${value}`]));
}
