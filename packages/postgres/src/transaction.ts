import { askTransaction, type Context, type StepInfo, type StepOptions } from "holdfast/adapter";
import type { Tx } from "./tx.ts";

/** Like those of a step; a transaction happens exactly once, so there is nothing to say about crashes. */
export type TransactionOptions<T = unknown> = Omit<StepOptions<T>, "onCrash">;

/**
 * A step whose SQL commits together with its record, in the database that this client is connected to: exactly once. When the
 * function throws, nothing has happened.
 */
export function transaction<T>(
  ctx: Context,
  name: string,
  fn: (tx: Tx, step: StepInfo) => T | PromiseLike<T>,
  options?: TransactionOptions<T>,
): Promise<T> {
  return askTransaction(ctx, name, { kind: "postgres", fn }, options as StepOptions<unknown>) as Promise<T>;
}
