/** Starts and messages of many callers in few calls of the store, as its rules for one call demand. */
import { toErrorRecord } from "../errors/error-record.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { DEFAULT_LIMITS, type Limits } from "../model/limits.ts";
import type {
  DeliverMessage,
  DeliverOutcome,
  RefusedStart,
  StartOutcome,
  StartRun,
  StartRunsParams,
  Store,
} from "../ports/store.ts";
import { deliverHolding, type ReserveDelivery } from "./holding-delivery.ts";

const REPLACED = toErrorRecord(
  new HoldfastError("run_terminated", "replaced by a newer run of the same id", { data: { reason: "replaced" } }),
);

type HoldBy = NonNullable<StartRunsParams["holdBy"]>;

export interface StartItem {
  readonly start: StartRun;
  readonly holdBy: HoldBy | undefined;
}

interface StartGroup {
  readonly items: StartItem[];
  readonly ids: Set<string>;
  /** The worker that claims the runs with a hold. */
  holdBy: HoldBy | null;
}

type StartAnswer = StartOutcome | RefusedStart;

interface Sending {
  readonly store: Store;
  readonly limits?: Limits;
  readonly reserve?: ReserveDelivery;
}

/** One call for all starts, unless several workers claim some of the runs, or an id occurs more than once. */
export async function sendStarts(
  ports: Sending,
  items: readonly StartItem[],
  bounded?: "bounded",
): Promise<readonly StartAnswer[]> {
  const groups: StartGroup[] = [];
  for (const item of items) {
    const group = groups.find((other) => canTake(other, item)) ?? { items: [], ids: new Set(), holdBy: null };
    if (group.items.length === 0) groups.push(group);
    group.items.push(item);
    group.ids.add(idOf(item));
    if (item.holdBy) group.holdBy ??= { workerId: item.holdBy.workerId, claimId: item.holdBy.claimId };
  }
  const outcomes = new Map<StartItem, StartAnswer>();
  for (const group of groups) {
    const { holdBy } = group;
    const starts = group.items.map((item) => item.start);
    const { inboxMax } = ports.limits ?? DEFAULT_LIMITS;
    const rule = bounded ? { bounded: true } : {};
    const limit = starts.some(({ messages }) => messages !== undefined) ? { inboxMax } : {};
    const result = await ports.store.runs.start({ starts, holdBy, replaceError: REPLACED, ...limit, ...rule });
    if (groups.length === 1) return result.outcomes;
    group.items.forEach((item, i) => {
      outcomes.set(item, result.outcomes[i] as StartAnswer);
    });
  }
  return items.map((item) => outcomes.get(item) as StartAnswer);
}

function canTake({ ids, holdBy }: StartGroup, item: StartItem): boolean {
  const { holdBy: wanted } = item;
  return !ids.has(idOf(item)) && (holdBy === null || wanted === undefined || holdBy.workerId === wanted.workerId);
}

function idOf({ start }: StartItem): string {
  return start.run.id;
}

export async function sendMessages(
  ports: Sending,
  messages: readonly DeliverMessage[],
): Promise<readonly DeliverOutcome[]> {
  const { inboxMax } = ports.limits ?? DEFAULT_LIMITS;
  // The same id twice is one message: the second is sent in its own call, so that the store reports it as a
  // duplicate.
  const first = new Map(messages.map((message, i) => [message.messageId, i] as const).reverse());
  const now = messages.filter((message, i) => first.get(message.messageId) === i);
  const later = messages.filter((message, i) => first.get(message.messageId) !== i);
  const { outcomes } = await deliverHolding(ports.store, { messages: now, inboxMax }, ports.reserve);
  if (later.length === 0) return outcomes;
  const told = new Map(now.map((message, i) => [message, outcomes[i] as DeliverOutcome] as const));
  // To a run that was locked, the second would come before what was sent in between.
  const locked = new Map(
    [...told].flatMap(([message, outcome]) => (isBusy(outcome) ? [[rowOf(message), outcome]] : [])),
  );
  const free = later.filter((message) => !locked.has(rowOf(message)));
  const second = free.length > 0 ? await sendMessages(ports, free) : [];
  free.forEach((message, i) => {
    told.set(message, second[i] as DeliverOutcome);
  });
  return messages.map((message) => (told.get(message) ?? locked.get(rowOf(message))) as DeliverOutcome);
}

function rowOf({ to }: DeliverMessage): string {
  return "runId" in to ? to.runId : to.id;
}

export function isBusy({ outcome }: { readonly outcome: string }): boolean {
  return outcome === "busy";
}

/** Which row a start is about, and a message: what is about one row stays in order. */
export const START_ROWS = { of: idOf, isBusy };
export const MESSAGE_ROWS = {
  of: rowOf,
  isBusy,
};
