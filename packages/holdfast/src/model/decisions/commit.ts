import type { HistoryEvent } from "../event.ts";

/** A run as far as the fence is concerned. */
export interface FencedRun {
  readonly epoch: number;
  readonly commit: number;
  readonly delivered: number;
}

/** A commit as far as the fence is concerned. */
export interface SentCommit {
  readonly epoch: number;
  readonly commit: number;
  readonly consumed: number;
  readonly transition: { readonly type: string; readonly unlessBehind?: boolean };
}

/** The fence's answer to a commit: `again` was written before, `behind` may be written only if no messages wait. */
export function judgeCommit(
  row: FencedRun,
  isHolder: boolean,
  sent: SentCommit,
): "write" | "again" | "behind" | "lost" {
  if (row.epoch !== sent.epoch) return "lost";
  if (row.commit === sent.commit + 1) return "again";
  if (row.commit !== sent.commit || !isHolder) return "lost";
  const { transition } = sent;
  return transition.unlessBehind && isBehind(row, sent) ? "behind" : "write";
}

/** An append: events of a run whose holder changes nothing else. */
export interface SentAppend {
  readonly epoch: number;
  readonly commit: number;
  /** Its first and its last event. */
  readonly firstSeq: number;
  readonly lastSeq: number;
}

/** The fence's answer to an append. `again`: its events are there. `gap`: they neither are nor follow those that are. */
export function judgeAppend(
  row: Pick<FencedRun, "epoch" | "commit"> & { readonly eventCount: number },
  isHolder: boolean,
  sent: SentAppend,
): "write" | "again" | "lost" | "gap" {
  if (row.epoch !== sent.epoch || row.commit !== sent.commit || !isHolder) return "lost";
  if (sent.firstSeq === row.eventCount + 1) return "write";
  return sent.firstSeq >= 1 && sent.lastSeq <= row.eventCount ? "again" : "gap";
}

/** Whether the events that are there are those that were sent: others under the same epoch would be a second writer's. */
export function isSameEvent(
  one: Pick<HistoryEvent, "type" | "op" | "at">,
  other: Pick<HistoryEvent, "type" | "op" | "at">,
): boolean {
  return one.type === other.type && one.op === other.op && one.at === other.at;
}

/** Whether the holder may not know how many events there are: it parks a run after a commit that may have been written or not. */
export function storeCounts(sent: {
  readonly transition: { readonly type: string };
  readonly events: readonly unknown[];
}): boolean {
  return sent.transition.type === "park" && sent.events.length === 0;
}

/** Whether a commit leaves the run to its holder, whatever has been delivered. */
export function keepsHolding({ type }: { readonly type: string }): boolean {
  return type === "hold" || type === "append";
}

/** Whether the run stays held: its holder wants that, or it would be suspended with messages that it has not seen. */
export function staysHeld(
  row: Pick<FencedRun, "delivered">,
  sent: Pick<SentCommit, "consumed" | "transition">,
): boolean {
  const { transition } = sent;
  return keepsHolding(transition) || (transition.type === "suspend" && isBehind(row, sent));
}

function isBehind({ delivered }: Pick<FencedRun, "delivered">, { consumed }: Pick<SentCommit, "consumed">): boolean {
  return delivered !== consumed;
}
