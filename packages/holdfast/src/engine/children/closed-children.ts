import type { HistoryEvent } from "../../model/event.ts";
import { appended, NONE } from "../../model/short-list.ts";

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
