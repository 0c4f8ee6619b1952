/**
 * The engine's worker that holds the runs of some workflows for guests: one for each namespace, queue and list of workflows that guests
 * ask for. It claims a run only while a guest waits for one.
 */
import {
  type Client,
  type Clock,
  type GuestHost,
  type GuestRun,
  type GuestWorker,
  guestWorker,
  guestWorkflow,
  type RunDeparture,
} from "holdfast/adapter";

/** A run that came too late for the guest that waited is kept for the next one this long. */
const OFFER_MS = 2_000;

export interface LaneKey {
  readonly namespace: string;
  readonly queue: string;
  /** As `type@version`, sorted. */
  readonly workflows: readonly string[];
}

export interface GuestLaneParams extends LaneKey {
  readonly client: Client;
  readonly clock: Clock;
  readonly onLeft: (run: GuestRun, how: RunDeparture) => void;
}

interface Poll {
  readonly take: (run: GuestRun) => void;
}

export class GuestLane implements GuestHost {
  readonly key: LaneKey;
  readonly #params: GuestLaneParams;
  readonly #worker: ReturnType<Client["worker"]>;
  readonly #guests: GuestWorker;
  readonly #starting: Promise<void>;
  readonly #polls = new Set<Poll>();
  readonly #offers = new Set<GuestRun>();
  readonly #taken = new Set<GuestRun>();
  /** When a guest last asked, or left. */
  #usedAt: number;

  constructor(params: GuestLaneParams) {
    const { client, clock, namespace, queue, workflows } = params;
    this.#params = params;
    this.key = { namespace, queue, workflows };
    this.#usedAt = clock.monotonic();
    this.#worker = client.worker({
      workflows: workflows.map((named) => guestWorkflow({ ...readNamed(named), queue, guests: this })),
      queues: [queue],
      // What a guest has not asked for again must not start: every hold begins with the history.
      cacheSize: 0,
      coordinate: false,
      watchdog: false,
    });
    this.#guests = guestWorker(this.#worker);
    this.#starting = this.#worker.start();
    this.#starting.catch(() => {});
  }

  capacity(): number {
    return this.#taken.size + this.#polls.size;
  }

  offer(run: GuestRun): void {
    this.#taken.delete(run);
    const [poll] = this.#polls;
    if (poll) return poll.take(run);
    this.#offers.add(run);
    this.#params.clock.setTimer(OFFER_MS, () => this.#offers.delete(run) && run.leave()).unref?.();
  }

  left(run: GuestRun, how: RunDeparture): void {
    this.#offers.delete(run);
    this.#taken.delete(run);
    this.#usedAt = this.#params.clock.monotonic();
    this.#params.onLeft(run, how);
  }

  stopped(run: GuestRun, name: string, dueInMs: number): void {
    const due = (): void => {
      if (this.#taken.has(run) && run.isStoppedAt(name)) void this.giveBack(run);
    };
    this.#params.clock.setTimer(dueInMs, due).unref?.();
  }

  /** Whether the store says that a run is held here if it says this worker. */
  isHolder(workerId: string): boolean {
    return this.#guests.workerId === workerId;
  }

  /** The next run; undefined once `over` resolves. */
  async next(over: Promise<void>): Promise<GuestRun | undefined> {
    await this.#starting;
    this.#usedAt = this.#params.clock.monotonic();
    const [offered] = this.#offers;
    if (offered) return this.#take(offered);
    let taken: GuestRun | undefined;
    let poll: Poll | undefined;
    const came = new Promise<void>((resolve) => {
      poll = {
        take: (run) => {
          this.#polls.delete(poll as Poll);
          taken = this.#take(run);
          resolve();
        },
      };
      this.#polls.add(poll);
    });
    this.#guests.poke();
    await Promise.race([came, over]);
    this.#polls.delete(poll as Poll);
    // Also if it came at the last moment: nobody else knows of it.
    return taken;
  }

  /** The guest that it was for has gone before it knew of it. */
  putBack(run: GuestRun): void {
    this.offer(run);
  }

  /** Its guest has gone: what is in progress is given up. */
  giveBack(run: GuestRun, died?: { readonly alone: boolean }): Promise<void> {
    return this.#guests.giveBack(run.run.runId, died);
  }

  /** For how long nobody has asked for anything; 0 while somebody works or waits. */
  get idleMs(): number {
    const { clock } = this.#params;
    return this.#polls.size + this.#offers.size + this.#taken.size > 0 ? 0 : clock.monotonic() - this.#usedAt;
  }

  /** Its runs are given back at once. */
  async close(): Promise<void> {
    await this.#starting.catch(() => {});
    await this.#worker.stop();
  }

  #take(run: GuestRun): GuestRun {
    this.#offers.delete(run);
    this.#taken.add(run);
    return run;
  }
}

function readNamed(named: string): { readonly name: string; readonly version: string } {
  const at = named.lastIndexOf("@");
  return { name: named.slice(0, at), version: named.slice(at + 1) };
}
