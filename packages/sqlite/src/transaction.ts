import { askTransaction, type Context, type StepInfo, type StepOptions } from "holdfast/adapter";
import type { Tx } from "./tx.ts";

/** Like those of a step; a transaction happens exactly once, so there is nothing to say about crashes. */
export type TransactionOptions<T = unknown> = Omit<StepOptions<T>, "onCrash">;

/**
 * A step whose SQL commits together with its record, in the file that this client is connected to: exactly once. The function does
 * its work at once (no promises); when it throws, nothing has happened.
 */
export function transaction<T>(
  ctx: Context,
  name: string,
  fn: (tx: Tx, step: StepInfo) => T extends PromiseLike<unknown> ? never : T,
  options?: TransactionOptions<T>,
): Promise<T> {
  return askTransaction(ctx, name, { kind: "sqlite", fn }, options as StepOptions<unknown>) as Promise<T>;
}
