/**
 * Debts: what runs owe to other runs. A debt is written in the same transaction as what caused it, paid by calls that are
 * idempotent, and then deleted. The promises of every call are in store.ts.
 */
import type { Debt, ResultReceiver } from "../model/debt.ts";
import type { HeldRun } from "./runs.ts";

export interface DebtStore {
  /**
   * Debts with everything that paying them takes, oldest first, at most `limit`; of the watchers, the children and the answers of one debt at most `DEBT_PAGE`.
   * `runs`: only what these owe; otherwise those of all namespaces. Read only.
   * A `close` debt lists the children that the run has given up (`closes` of a commit) and, if it is closed, all open ones whose
   * policy is not `abandon`; a child that has ended is not listed, one that has continued is listed with the run that is open now. A `reply` debt lists the updates with a `replyTo` that were answered and, if the run is closed, those that never will be; not
   * those that it has handed on to its successor. A debt may have nothing left to be done: paying deletes it.
   */
  read(params: ReadDebtsParams): Promise<readonly Debt[]>;

  /**
   * Notes what has been paid: watchers that were told are forgotten, children that were closed are not listed again, nor are answers that were told. A debt of
   * which nothing is left is deleted; a `result` debt once its parent was told and no watchers are left, a `lock` debt once all that was given back was passed on (`locks.pass`).
   * Atomic per debt. Idempotence: a debt, a watcher or a child that is gone is left alone. No errors but those of every call.
   */
  pay(params: PayDebtsParams): Promise<{ readonly paid: number }>;
}

export interface ReadDebtsParams {
  readonly runs?: readonly { readonly namespace: string; readonly runId: string }[];
  readonly limit: number;
}

export interface PaidDebt extends Pick<HeldRun, "runId"> {
  readonly namespace: string;
  readonly debtNo: number;
  /** Of a `result` debt: those that were told besides the parent. */
  readonly watchers?: readonly ResultReceiver[];
  /** Of a `close` debt: the run ids of the children that were closed, as they were listed; not of those that had ended by themselves. */
  readonly children?: readonly string[];
  /** Of a `reply` debt: the message ids of the updates whose senders were told. */
  readonly replies?: readonly string[];
}

export interface PayDebtsParams {
  readonly debts: readonly PaidDebt[];
}
