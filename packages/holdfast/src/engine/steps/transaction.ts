/**
 * One attempt of a transaction step: the user's work and its result message commit together, in the store's own database. It
 * ends only when its outcome is certain: recorded, not executed, or the run is lost.
 */

import { backoff, isTransient, type StorePatience } from "../../calls/store-retry.ts";
import { HoldfastError, isHoldfastError } from "../../errors/holdfast-error.ts";
import { outcomeMessageId } from "../../model/ids.ts";
import type { Message } from "../../model/message.ts";
import type { Payload } from "../../model/payload.ts";
import { isPromiseLike } from "../../model/promise-like.ts";
import type { Run } from "../../model/run.ts";
import type { Codec } from "../../ports/codec.ts";
import type { Store, TransactionKind, TransactParams } from "../../ports/store.ts";
import type { StepInfo } from "../../replay/ops/step-options.ts";
import type { TransactionWork } from "../../replay/ops/step-work.ts";

interface TransactionHost extends StorePatience {
  readonly store: Store;
  readonly codec: Codec;
  readonly lease: { active(): boolean };
}

type Hold = Pick<TransactParams, "namespace" | "workerId" | "runId" | "epoch">;

/** The worker that may write to the run, under this epoch. */
export function holdOf({ namespace, heldBy, runId, epoch }: Run): Hold {
  return { namespace, workerId: heldBy as string, runId, epoch };
}

/** It has committed; its result message waits in the inbox and reaches the code like any message. */
export class RecordedOutcome {
  readonly message: Message;
  constructor(message: Message) {
    this.message = message;
  }
}

export const LOST = Symbol("the run is no longer ours");

export async function runTransaction(
  host: TransactionHost,
  hold: Hold,
  op: string,
  { kind, fn }: TransactionWork,
  step: StepInfo,
): Promise<RecordedOutcome | typeof LOST> {
  const { signal } = step;
  const transact = transactOf(host.store, kind, op);
  const encode = (value: unknown): Payload => host.codec.encode(value, `result of step "${op}"`);
  const work = (tx: unknown): Payload | Promise<Payload> => {
    const value = holdfastStepFrameTransaction(() => fn(tx as never, step));
    return isPromiseLike(value) ? holdfastStepFrameTransactionAsync(value).then(encode) : encode(value);
  };
  const messageId = outcomeMessageId(hold.runId, op);
  for (let failures = 0, again = false; ; ) {
    try {
      const result = await transact({ ...hold, op, messageId, again, signal, work });
      return result.outcome === "lost" ? LOST : new RecordedOutcome(result.message);
    } catch (error) {
      // A store outage is not the step's fault and does not count as an attempt.
      if (!isTransient(error)) throw error;
      again ||= isHoldfastError(error, "store_outcome_unknown");
      failures += 1;
      await untilUsable(host, signal, failures);
      if (signal.aborted && !again) throw signal.reason;
    }
  }
}

// The names of these functions show in stacks; see calledInsideStep. The attempt's own frame does not if the store calls the
// function from elsewhere: SQLite executes concurrent transactions together.
function holdfastStepFrameTransaction(fn: () => unknown): unknown {
  return fn();
}

async function holdfastStepFrameTransactionAsync(promise: PromiseLike<unknown>): Promise<unknown> {
  return await promise;
}

/** The store's `transact`, if it accepts work of this kind. */
function transactOf(store: Store, kind: TransactionKind, op: string): NonNullable<Store["transact"]> {
  const { transactions } = store.capabilities;
  if (store.transact && transactions.kind === kind)
    return (params) => (store.transact as NonNullable<Store["transact"]>)(params);
  throw new HoldfastError(
    "not_supported",
    `Step "${op}" is a transaction of @holdfast/${kind}, but this client is connected to ${transactions.words}`,
    { data: { op, kind } },
  );
}

/** Past the lease nothing new may start, but the outcome of an earlier attempt may still be asked for. */
async function untilUsable(host: TransactionHost, signal: AbortSignal, failures: number): Promise<void> {
  do await backoff(host, failures);
  while (!host.lease.active() && !signal.aborted);
}
