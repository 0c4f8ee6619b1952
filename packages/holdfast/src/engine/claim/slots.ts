import type { PortsBundle } from "../../calls/ports-bundle.ts";
import { uuidV7 } from "../../model/ids.ts";
import type { WorkflowRegistry } from "../code/workflow-registry.ts";
import type { Lease } from "../lease/lease.ts";
import type { SlotReservation } from "../worker/slot-reservation.ts";
import type { Claimer } from "./claimer.ts";
import { releaseRun } from "./give-up-run.ts";
import type { HeldRuns } from "./held-runs.ts";
import type { SoloRule } from "./solo-rule.ts";

export interface SlotsParams {
  readonly ports: PortsBundle;
  readonly concurrency: number;
  readonly registry: WorkflowRegistry;
  readonly held: HeldRuns;
  readonly lease: Lease;
  readonly claimer: Claimer;
  readonly solo: SoloRule;
}

/** How many more runs a worker may hold, and which starts in flight reserve a slot. */
export class Slots {
  readonly #params: SlotsParams;
  /** Oldest first. */
  readonly #reserved = new Set<{ readonly since: number }>();
  /** Under which starts are held here. */
  readonly #claimId: string;

  constructor(params: SlotsParams) {
    this.#params = params;
    const { clock, random } = params.ports;
    this.#claimId = uuidV7(clock.now(), random.bytes(16));
  }

  get free(): number {
    const { solo, concurrency, held } = this.#params;
    return solo.exclusive ? 0 : concurrency - held.count - this.#reserved.size;
  }

  get allFree(): boolean {
    return this.#params.held.count === 0 && this.#reserved.size === 0;
  }

  /** Since when the oldest claim or start that may bring us a run has been in flight. */
  get askingSince(): number | undefined {
    const [reservation] = this.#reserved;
    const claim = this.#params.claimer.askingSince;
    return claim !== undefined && reservation ? Math.min(claim, reservation.since) : (claim ?? reservation?.since);
  }

  /** A slot for a run that is about to be started here; undefined if none is free. */
  reserve(): SlotReservation | undefined {
    const { ports, registry, held, lease, claimer } = this.#params;
    if (this.free <= claimer.asking || !lease.active()) return undefined;
    const reservation = { since: ports.clock.monotonic() };
    this.#reserved.add(reservation);
    const { workerId } = lease;
    const claimId = this.#claimId;
    return {
      workerId,
      claimId,
      settle: (run, messages = []) => {
        this.#reserved.delete(reservation);
        // The answer to a repeated start may be late: a run that this worker has claimed since may have left it again.
        const ours = run && run.heldBy === workerId && run.claimId === claimId && lease.workerId === workerId;
        if (ours && registry.has(run.workflow, run.version)) return held.activate(run, messages);
        // The store chose a version that this worker does not have.
        if (ours) void releaseRun(ports, workerId, run);
        claimer.slotFreed();
      },
    };
  }
}
