import type { ClosePolicy } from "../../model/child.ts";
import type { DebtKind, ResultReceiver } from "../../model/debt.ts";

/** A child, as the list of its parent has it; or a start that the parent does not want any more (`open` false from the beginning). */
export interface ChildRecord {
  readonly namespace: string;
  readonly runId: string;
  readonly policy: ClosePolicy;
  /** It has not ended, and the close policy has not reached it. */
  open: boolean;
  /** The parent has given it up. */
  givenUp: boolean;
}

/** An op of another run that is told of the end of a run. */
export type Watch = ResultReceiver;

export interface DebtRecord {
  readonly debtNo: number;
  readonly kind: DebtKind;
  readonly namespace: string;
  readonly runId: string;
  readonly at: number;
}
