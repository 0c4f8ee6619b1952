import type { Message } from "../../model/message.ts";
import type { Run } from "../../model/run.ts";

/** A slot that is kept free while a start is in flight to the store. */
export interface SlotReservation {
  readonly workerId: string;
  /** The claim under which starts are held for this worker: no other call claims runs under it. */
  readonly claimId: string;
  /** The store's answer, or undefined if there is none; and the messages that came with the start. */
  settle(run: Run | undefined, messages?: readonly Message[]): void;
}
