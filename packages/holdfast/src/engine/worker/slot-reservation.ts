import type { Run } from "../../model/run.ts";

/** A slot that is kept free while a start is in flight to the store. */
export interface SlotReservation {
  readonly workerId: string;
  /** The claim under which starts are held for this worker: no other call claims runs under it. */
  readonly claimId: string;
  /** The store's answer, or undefined if there is none. */
  settle(run: Run | undefined): void;
}
