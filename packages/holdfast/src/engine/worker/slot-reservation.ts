import type { Run } from "../../model/run.ts";

/** A slot that is kept free while a start is in flight to the store. */
export interface SlotReservation {
  readonly workerId: string;
  /** The store's answer, or undefined if there is none. */
  settle(run: Run | undefined): void;
}
