import type {
  DeliverMessage,
  DeliverMessagesParams,
  DeliverMessagesResult,
  DeliverOutcome,
  Store,
} from "../ports/store.ts";

/** Messages that are about to be sent, and a worker of this process that takes the runs which they wake. */
export interface HoldingDelivery extends Required<Pick<DeliverMessagesParams, "messages" | "holdBy">> {
  /** The answer; undefined if there is none: the call may have taken effect all the same. */
  settle(outcomes: readonly DeliverOutcome[] | undefined): void;
}

/** Keeps slots free for the runs that rest on a worker of this process; undefined if none does, or no slot is free. */
export type ReserveDelivery = (messages: readonly DeliverMessage[]) => HoldingDelivery | undefined;

/** Delivers messages, and has runs that rest here go on at once, without a claim. */
export async function deliverHolding(
  store: Store,
  params: DeliverMessagesParams,
  reserve: ReserveDelivery | undefined,
): Promise<DeliverMessagesResult> {
  const holding = reserve?.(params.messages);
  if (!holding) return store.inbox.deliver(params);
  const { messages, holdBy } = holding;
  let outcomes: readonly DeliverOutcome[] | undefined;
  try {
    const result = await store.inbox.deliver({ ...params, messages, holdBy });
    outcomes = result.outcomes;
    return result;
  } finally {
    holding.settle(outcomes);
  }
}
