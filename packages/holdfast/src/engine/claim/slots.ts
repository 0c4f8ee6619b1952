import type { HoldingDelivery } from "../../calls/holding-delivery.ts";
import type { PortsBundle } from "../../calls/ports-bundle.ts";
import { uuidV7 } from "../../model/ids.ts";
import type { DeliverMessage } from "../../ports/store.ts";
import type { WorkflowRegistry } from "../code/workflow-registry.ts";
import type { Lease } from "../lease/lease.ts";
import type { SlotReservation } from "../worker/slot-reservation.ts";
import type { Claimer } from "./claimer.ts";
import { releaseRun } from "./give-up-run.ts";
import type { HeldRuns } from "./held-runs.ts";
import type { SoloRule } from "./solo-rule.ts";
import { TakenByMessages } from "./taken-by-messages.ts";

export interface SlotsParams {
  readonly ports: PortsBundle;
  readonly concurrency: () => number;
  readonly registry: WorkflowRegistry;
  readonly held: HeldRuns;
  readonly lease: Lease;
  readonly claimer: Claimer;
  readonly solo: SoloRule;
}

interface Reserved {
  readonly since: number;
  readonly slots: number;
}

/** How many more runs a worker may hold, and which calls in flight reserve slots: starts, and messages to runs that rest here. */
export class Slots {
  readonly #params: SlotsParams;
  /** Oldest first; by the run that is to be started, or by the claim of the messages. */
  readonly #reserved = new Map<string, Reserved>();
  #reservedSlots = 0;
  /** Under which starts are held here. */
  readonly #claimId: string;

  constructor(params: SlotsParams) {
    this.#params = params;
    this.#claimId = this.#newClaimId();
  }

  #newClaimId(): string {
    const { clock, random } = this.#params.ports;
    return uuidV7(clock.now(), random.bytes(16));
  }

  get free(): number {
    const { solo, concurrency, held } = this.#params;
    return solo.exclusive ? 0 : concurrency() - held.count - this.#reservedSlots;
  }

  get allFree(): boolean {
    return this.#params.held.count === 0 && this.#reserved.size === 0;
  }

  /** Since when the oldest call that may bring us a run has been in flight. */
  get askingSince(): number | undefined {
    const reservation = this.#reserved.values().next().value;
    const claim = this.#params.claimer.askingSince;
    return claim !== undefined && reservation ? Math.min(claim, reservation.since) : (claim ?? reservation?.since);
  }

  /** How many slots may be reserved now. */
  get #room(): number {
    const { lease, claimer } = this.#params;
    return lease.active() ? this.free - claimer.asking : 0;
  }

  #keep(key: string, slots: number): void {
    this.#reserved.set(key, { since: this.#params.ports.clock.monotonic(), slots });
    this.#reservedSlots += slots;
  }

  #giveBack(key: string): void {
    const reserved = this.#reserved.get(key);
    if (!reserved) return;
    this.#reserved.delete(key);
    this.#reservedSlots -= reserved.slots;
  }

  /**
   * A slot for a run that is about to be started here; undefined if none is free. A start can be repeated by whoever cannot know
   * that it was made (children, starts in steps). Only the answer to one of them may bring the run: the other one may be so late
   * that the run has left again, and would be executed from what the answer says, although nobody holds it.
   */
  reserve(runId: string): SlotReservation | undefined {
    const { ports, registry, held, lease, claimer } = this.#params;
    if (this.#room <= 0 || this.#reserved.has(runId) || held.has(runId)) return undefined;
    this.#keep(runId, 1);
    const { workerId } = lease;
    const claimId = this.#claimId;
    return {
      workerId,
      claimId,
      settle: (run, messages = []) => {
        this.#giveBack(runId);
        // The answer to a repeated start may be late: a run that this worker has claimed since may have left it again.
        const ours = run && run.heldBy === workerId && run.claimId === claimId && lease.workerId === workerId;
        if (ours && registry.has(run.workflow, run.version)) return held.activate(run, messages);
        // The store chose a version that this worker does not have.
        if (ours) void releaseRun(ports, workerId, run);
        claimer.slotFreed();
      },
    };
  }

  /** Slots for the runs that these messages wake, as far as they rest here and slots are free. */
  reserveDelivery(messages: readonly DeliverMessage[]): HoldingDelivery | undefined {
    const { ports, held, lease, claimer } = this.#params;
    const room = this.#room;
    if (room <= 0) return undefined;
    const runs = new Map<string, number>();
    const marked = messages.map((message): DeliverMessage => {
      const hold = held.restingFor(message.to);
      if (!hold || (runs.size >= room && !runs.has(hold.runId))) return message;
      runs.set(hold.runId, hold.epoch);
      return { ...message, hold };
    });
    if (runs.size === 0) return undefined;
    const holdBy = { workerId: lease.workerId, claimId: this.#newClaimId() };
    const { claimId } = holdBy;
    this.#keep(claimId, runs.size);
    const taken = new TakenByMessages({ ports, held, lease, holdBy, messages: marked });
    const settle: HoldingDelivery["settle"] = (outcomes) =>
      taken.settle(outcomes, () => {
        this.#giveBack(claimId);
        claimer.slotFreed();
      });
    return { messages: marked, holdBy, settle };
  }
}
