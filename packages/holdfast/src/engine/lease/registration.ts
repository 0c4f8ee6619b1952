import type { Lifetime } from "../../calls/lifetime.ts";
import type { PortsBundle } from "../../calls/ports-bundle.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import type { ResolvedWorkerOptions } from "../worker/worker-options.ts";
import type { Lease } from "./lease.ts";
import { signOn } from "./sign-on.ts";
import type { Sweeper } from "./sweeper.ts";

export interface RegistrationParams {
  readonly ports: PortsBundle;
  readonly namespace: string;
  readonly options: ResolvedWorkerOptions;
  readonly storeTime: StoreTime;
  readonly life: Lifetime;
  /** What the worker can run, as `name@version`. */
  readonly workflows: readonly string[];
  readonly lease: Lease;
  readonly sweeper: Sweeper;
}

/** A worker's row in the store: each registration begins a lease under a new id. */
export class Registration {
  readonly #params: RegistrationParams;
  /** The name that the store has for it; another one when a twin has taken its own. */
  #rowName: string;

  constructor(params: RegistrationParams) {
    this.#params = params;
    this.#rowName = params.options.name;
  }

  /** `again`: the worker was declared dead although it lives. */
  async register(again: boolean, unwanted: () => boolean): Promise<void> {
    const { ports, namespace, options, storeTime, life, workflows, lease, sweeper } = this.#params;
    const { queues, labels, leaseMs } = options;
    const row = { namespace, name: this.#rowName, queues, workflows, labels, leaseMs };
    const signedOn = await signOn({ ...ports, life }, row, again, unwanted);
    if (!signedOn) return;
    if (signedOn.tries > 1) sweeper.noteOutage();
    storeTime.observe(signedOn.now, signedOn.askedAt);
    lease.begin(signedOn.workerId, signedOn.sentMonotonic, signedOn.sentWall);
    this.#rowName = signedOn.name;
    if (signedOn.gone.length > 0) await sweeper.bury(signedOn.gone);
  }
}
