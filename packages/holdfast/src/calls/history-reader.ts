import { HoldfastError } from "../errors/holdfast-error.ts";
import type { HistoryEvent } from "../model/event.ts";
import type { Run } from "../model/run.ts";
import type { Store } from "../ports/store.ts";
import { Batcher } from "./batcher.ts";
import type { PortsBundle } from "./ports-bundle.ts";
import { type GiveUp, type StorePatience, untilAnswered } from "./store-retry.ts";

const EVENTS_PER_PAGE = 5_000;
const RUNS_PER_CALL = 100;
/** Several, so that one long history, or an answer that does not come, does not delay the others. */
const CALLS_IN_FLIGHT_MAX = 4;

interface Page {
  readonly namespace: string;
  readonly runId: string;
  readonly afterSeq: number;
}

/** Reads histories for many claimed runs at once: while one call is in flight, the next one fills. */
export class HistoryReader {
  readonly #pages: Batcher<Page, readonly HistoryEvent[]>;

  constructor({ clock, random, store }: PortsBundle, giveUp: () => boolean) {
    const send = (runs: readonly Page[]) => store.histories.read({ runs, limitPerRun: EVENTS_PER_PAGE });
    this.#pages = new Batcher({
      clock,
      random,
      sizeMax: RUNS_PER_CALL,
      inFlightMax: CALLS_IN_FLIGHT_MAX,
      giveUp,
      send,
    });
  }

  read(run: Run): Promise<HistoryEvent[]> {
    return allEvents(run, (page) => this.#pages.add(page));
  }
}

/** The events of one run. */
export function readWholeHistory(
  ports: StorePatience & { readonly store: Store },
  run: Pick<Run, "namespace" | "runId" | "eventCount">,
  giveUp: GiveUp = () => ports.life?.over ?? false,
): Promise<HistoryEvent[]> {
  return allEvents(run, async (page) => {
    const call = () => ports.store.histories.read({ runs: [page], limitPerRun: EVENTS_PER_PAGE });
    return (await untilAnswered(ports, call, giveUp))[0] ?? [];
  });
}

/** Page by page, and checked for gaps. */
async function allEvents(
  run: Pick<Run, "namespace" | "runId" | "eventCount">,
  read: (page: Page) => Promise<readonly HistoryEvent[]>,
): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  while (events.length < run.eventCount) {
    const before = events.length;
    for (const event of await read({ namespace: run.namespace, runId: run.runId, afterSeq: before })) {
      // The run may have continued since its row was read: newer events are left for the next reader.
      if (event.seq !== events.length + 1 || events.length === run.eventCount) break;
      events.push(event);
    }
    if (events.length === before) break;
  }
  if (events.length === run.eventCount) return events;
  const message = `History of run ${run.runId} has ${events.length} consecutive events, but the run row says ${run.eventCount}.`;
  throw new HoldfastError("invariant_broken", message);
}
