import {
  askTransaction,
  type Context,
  passOver,
  type StepInfo,
  type StepOptions,
  type Stored,
  type Whole,
} from "holdfast/adapter";
import type { Tx } from "./tx.ts";

passOver(import.meta.url, "transactions/transaction");

/** The options of a step, without `onCrash`: a transaction happens exactly once. */
export type TransactionOptions<T = unknown, S extends string = string> = Omit<StepOptions<T, S>, "onCrash">;

/** The work of a transaction step. It may be called more than once; its transaction happens once. */
export type TransactionFunction<T> = (tx: Tx, step: StepInfo) => T extends PromiseLike<unknown> ? never : T;

/**
 * A step whose SQL commits together with its record, in the file that this client is connected to: exactly once. The function
 * is synchronous (no promises). If it throws, its transaction is rolled back.
 */
export function transaction<T, S extends string = string>(
  ctx: Context,
  name: string & Whole<T>,
  fn: TransactionFunction<T>,
  options?: TransactionOptions<Stored<T>, S>,
): Promise<T>;
export function transaction<T, S extends string = string>(
  ctx: Context,
  name: string & Whole<T>,
  fn: TransactionFunction<T>,
  options?: TransactionOptions<T, S>,
): Promise<T>;
export function transaction<T, S extends string = string>(
  ctx: Context,
  name: string,
  fn: TransactionFunction<T>,
  options?: TransactionOptions<Stored<T>, S>,
): Promise<Stored<T>>;
export function transaction(
  ctx: Context,
  name: string,
  fn: TransactionFunction<unknown>,
  options?: TransactionOptions<never>,
): Promise<unknown> {
  return askTransaction(ctx, name, { kind: "sqlite", fn }, options as StepOptions<unknown>);
}
