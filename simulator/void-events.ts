import { type HistoryEvent, isFailure } from "../packages/holdfast/src/model/event.ts";

/**
 * Events that a retry of the run has made void: the failures that it clears, and everything recorded between them and
 * the retry, which may be their consequence and may be done again.
 */
export function voidEvents(events: readonly HistoryEvent[]): ReadonlySet<HistoryEvent> {
  const none = new Set<HistoryEvent>();
  if (!events.some((event) => event.type === "run_retried")) return none;
  const forgotten = new Set<HistoryEvent>();
  for (const [i, retry] of events.entries()) {
    for (const op of retry.meta?.forgets ?? []) {
      const at = events.findLastIndex(
        (event, k) => k < i && isFailure(event) && event.op === op && !forgotten.has(event),
      );
      if (at < 0) continue;
      forgotten.add(events[at] as HistoryEvent);
      for (const event of events.slice(at, i)) none.add(event);
    }
  }
  return none;
}

/** What was recorded between such a failure and the retry, with the number of the failure. */
export function looseEvents(events: readonly HistoryEvent[]): ReadonlyMap<HistoryEvent, number> {
  const loose = new Map<HistoryEvent, number>();
  const forgotten = new Set<HistoryEvent>();
  for (const [i, retry] of events.entries()) {
    for (const op of retry.meta?.forgets ?? []) {
      const failure = events
        .slice(0, i)
        .findLast((event) => isFailure(event) && event.op === op && !forgotten.has(event));
      if (!failure) continue;
      forgotten.add(failure);
      for (const event of events.slice(events.indexOf(failure) + 1, i))
        loose.set(event, Math.min(failure.seq, loose.get(event) ?? failure.seq));
    }
  }
  return loose;
}

/** Without the failures that a retry of the run has taken back. */
export function withoutForgotten(events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  const forgotten = new Set<HistoryEvent>();
  events.forEach((retry, i) => {
    for (const op of retry.meta?.forgets ?? []) {
      const failure = events
        .slice(0, i)
        .findLast((event) => isFailure(event) && event.op === op && !forgotten.has(event));
      if (failure) forgotten.add(failure);
    }
  });
  return events.filter((event) => !forgotten.has(event));
}
