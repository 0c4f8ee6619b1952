import { HoldfastError } from "../errors/holdfast-error.ts";
import type { HistoryEvent } from "../model/event.ts";
import type { Run } from "../model/run.ts";
import type { Store } from "../ports/store.ts";
import { type StorePatience, untilAnswered } from "./store-retry.ts";

const EVENTS_PER_PAGE = 5_000;

/** All events of a claimed run, checked to be without a gap. */
export async function readWholeHistory(
  ports: StorePatience & { readonly store: Store },
  run: Run,
  giveUp: () => boolean,
): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  while (events.length < run.eventCount) {
    const runs = [{ runId: run.runId, afterSeq: events.length }];
    const [page = []] = await untilAnswered(
      ports,
      () => ports.store.readHistories({ runs, limitPerRun: EVENTS_PER_PAGE }),
      giveUp,
    );
    const before = events.length;
    for (const event of page) {
      // The run may have gone on since its row was read: what is newer than the row is left for the next reader.
      if (event.seq !== events.length + 1 || events.length === run.eventCount) break;
      events.push(event);
    }
    if (events.length === before) break;
  }
  if (events.length !== run.eventCount) {
    throw new HoldfastError(
      "invariant_broken",
      `History of run ${run.runId} has ${events.length} consecutive events, but the run row says ${run.eventCount}.`,
    );
  }
  return events;
}
