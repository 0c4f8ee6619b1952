import { closeReason } from "../../calls/close-reason.ts";
import { isHoldfastError } from "../../errors/holdfast-error.ts";
import type { HistoryEvent } from "../../model/event.ts";
import { appended, NONE } from "../../model/short-list.ts";
import type { Machine } from "../../replay/machine.ts";

/** The child that the event gives up. */
export function canceledRunId({ type, meta }: HistoryEvent): string | undefined {
  return type === "op_canceled" ? meta?.child?.runId : undefined;
}

/** The children that these events give up: the commit with them closes those. */
export function closedBy(events: readonly HistoryEvent[]): readonly string[] {
  let closes: readonly string[] = NONE;
  for (const event of events) {
    const runId = canceledRunId(event);
    if (runId !== undefined) closes = appended(closes, runId);
  }
  return closes;
}

/** Why the run is being wound up from outside, as its children are told; undefined if it is not. */
export function windUpReason({ run, cancelCause, cancellation }: Machine): string | undefined {
  if (cancelCause === undefined || !isHoldfastError(cancellation)) return undefined;
  return closeReason(run.id, cancelCause === "deadline" ? "timed_out" : "canceled", cancellation.data["reason"]);
}
