import type { Message } from "../../model/message.ts";
import type { Payload } from "../../model/payload.ts";
import type { TransactParams, TransactResult } from "../../ports/store.ts";
import { appendMessage } from "../inbox.ts";
import { type MemoryState, runIn } from "../state.ts";

/** What a transaction on the memory store receives: there is no database, but there is a moment at which it commits. */
export class MemoryTransaction {
  readonly #callbacks: (() => void)[] = [];

  /** Called when the transaction commits, together with its result message; not called if it does not commit. */
  onCommit(callback: () => void): void {
    this.#callbacks.push(callback);
  }

  commit(): void {
    for (const callback of this.#callbacks) callback();
  }
}

export function recordedOutcome(state: MemoryState, params: TransactParams): Message | undefined {
  const { namespace, runId, messageId } = params;
  if (!runIn(state, namespace, runId)) return undefined;
  return state.inbox.get(runId)?.find((message) => message.messageId === messageId);
}

export function recordOutcome(
  state: MemoryState,
  params: TransactParams,
  tx: MemoryTransaction,
  payload: Payload,
  now: number,
): TransactResult {
  const { namespace, runId, epoch, workerId, op, messageId } = params;
  const row = runIn(state, namespace, runId);
  const earlier = recordedOutcome(state, params);
  if (earlier) return { outcome: "recorded", message: earlier };
  if (!row || row.epoch !== epoch || row.heldBy !== workerId) return { outcome: "lost" };
  appendMessage(state, row, { kind: "outcome", name: op, messageId, payload }, now);
  tx.commit();
  return { outcome: "recorded", message: recordedOutcome(state, params) as Message };
}

/** The work may be waiting for anything; a caller that has given up does not wait for it. */
export function untilAborted<T>(signal: AbortSignal, work: T | Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason);
    const forget = (): void => signal.removeEventListener("abort", giveUp);
    signal.addEventListener("abort", giveUp, { once: true });
    Promise.resolve(work).then(resolve, reject).finally(forget);
  });
}
