import type { Lifetime } from "../../calls/lifetime.ts";
import type { PortsBundle } from "../../calls/ports-bundle.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import type { WorkerAbout } from "../../model/worker-row.ts";
import type { Leader } from "../lead/leader.ts";
import type { ResolvedWorkerOptions } from "../worker/worker-options.ts";
import type { Lease } from "./lease.ts";
import { registerWorker } from "./sign-on.ts";
import type { Sweeper } from "./sweeper.ts";

export interface RegistrationParams {
  readonly ports: PortsBundle;
  readonly namespace: string;
  readonly options: ResolvedWorkerOptions;
  readonly storeTime: StoreTime;
  readonly life: Lifetime;
  /** What the worker can run, as `name@version`. */
  readonly workflows: readonly string[];
  /** The names of the tasks that it executes. */
  readonly tasks: readonly string[];
  readonly lease: Lease;
  readonly sweeper: Sweeper;
  readonly leader: Leader;
}

/** A worker's row in the store: each registration begins a lease under a new id. */
export class Registration {
  readonly #params: RegistrationParams;
  /** The worker's name in the store; differs from its own if another live worker has that. */
  #rowName: string;
  readonly #formerIds = new Set<string>();

  constructor(params: RegistrationParams) {
    this.#params = params;
    this.#rowName = params.options.name;
  }

  /** `again`: the worker was declared dead although it is alive. */
  async register(again: boolean, unwanted: () => boolean): Promise<void> {
    const { ports, namespace, options, storeTime, life, workflows, tasks, lease, sweeper, leader } = this.#params;
    const { queues, labels, leaseMs } = options;
    const row = {
      namespace,
      name: this.#rowName,
      queues,
      workflows,
      tasks,
      labels,
      about: aboutOf(ports, options),
      leaseMs,
      coordinates: options.coordinate,
    };
    const registered = await registerWorker({ ...ports, life }, row, { again, formerIds: this.#formerIds }, unwanted);
    if (!registered) return;
    this.#formerIds.add(registered.workerId);
    if (registered.tries > 1) sweeper.noteOutage();
    storeTime.observe(registered.now, registered.askedAt);
    lease.begin(registered.workerId, registered.sentMonotonic, registered.sentWall);
    this.#rowName = registered.name;
    leader.told(registered.leads);
    if (registered.gone.length === 0) return;
    await sweeper.bury(registered.gone);
    // The leader may be among them, and hints reach a worker only once it has started.
    if (options.coordinate && !registered.leads) lease.report();
  }
}

/** What it says of itself, for people. */
function aboutOf({ environment }: PortsBundle, options: ResolvedWorkerOptions): WorkerAbout {
  const { concurrency, taskConcurrency, cacheSize, leaseMs, drainTimeoutMs, coordinate, handleSignals } = options;
  const pool = options.pool ? { processes: options.pool.processes } : {};
  const { watchdog } = options;
  const watching = watchdog && !watchdog.standard ? { watchdogRules: watchdog.rules.length } : {};
  const shown = {
    concurrency,
    taskConcurrency,
    cacheSize,
    leaseMs,
    drainTimeoutMs,
    coordinate,
    handleSignals,
    ...pool,
    ...watching,
  };
  return { ...environment?.about?.(), options: shown };
}
