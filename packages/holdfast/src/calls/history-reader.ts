import { HoldfastError } from "../errors/holdfast-error.ts";
import type { HistoryEvent } from "../model/event.ts";
import type { Run } from "../model/run.ts";
import type { Store } from "../ports/store.ts";
import { Batcher } from "./batcher.ts";
import type { PortsBundle } from "./ports-bundle.ts";
import type { ReadHistory } from "./segments/segment-packer.ts";
import {
  type LongRun,
  readSegments,
  type SegmentReports,
  type SegmentSize,
  type SegmentsRead,
  segmentSize,
} from "./segments/segmented-history.ts";
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
  readonly #ports: PortsBundle;
  readonly #giveUp: () => boolean;
  readonly #pages: Batcher<Page, readonly HistoryEvent[]>;

  constructor(ports: PortsBundle, giveUp: () => boolean) {
    const { clock, random, store } = ports;
    const send = (runs: readonly Page[]) => store.histories.read({ runs, limitPerRun: EVENTS_PER_PAGE });
    this.#ports = ports;
    this.#giveUp = giveUp;
    this.#pages = new Batcher({
      clock,
      random,
      sizeMax: RUNS_PER_CALL,
      inFlightMax: CALLS_IN_FLIGHT_MAX,
      giveUp,
      send,
    });
  }

  async read(run: Run): Promise<ReadHistory> {
    const read = (page: Page) => this.#pages.add(page);
    if (!mayBePacked(this.#ports, run)) return { ...NOTHING_PACKED, events: await allEvents(run, [], read) };
    const packed = await packedEvents(this.#ports, run, this.#giveUp);
    const { length } = packed.events;
    return { ...packed, events: await allEvents(run, packed.events, read), packed: length };
  }
}

/** The events of one run. */
export async function readWholeHistory(
  ports: StorePatience & SegmentReports & SegmentSize & { readonly store: Store },
  run: LongRun,
  giveUp: GiveUp = () => ports.life?.over ?? false,
): Promise<HistoryEvent[]> {
  const events = mayBePacked(ports, run) ? (await packedEvents(ports, run, giveUp)).events : [];
  return allEvents(run, events, async (page) => {
    const call = () => ports.store.histories.read({ runs: [page], limitPerRun: EVENTS_PER_PAGE });
    return (await untilAnswered(ports, call, giveUp))[0] ?? [];
  });
}

const NOTHING_PACKED: Omit<ReadHistory, "events"> = { packed: 0, edition: 0, damaged: false };

function mayBePacked(ports: SegmentSize & { readonly store: Store }, { eventCount }: LongRun): boolean {
  return eventCount > segmentSize(ports) && ports.store.capabilities.segments;
}

/** The beginning of a long history, as far as it is in segments. */
function packedEvents(
  ports: StorePatience & SegmentReports & { readonly store: Store },
  run: LongRun,
  giveUp: GiveUp,
): Promise<SegmentsRead> {
  const { namespace, runId } = run;
  const read = async (afterSeq: number, limitPerRun: number) => {
    const call = () => ports.store.segments.read({ runs: [{ namespace, runId, afterSeq }], limitPerRun });
    return (await untilAnswered(ports, call, giveUp))[0] ?? { edition: 0, segments: [] };
  };
  return readSegments(run, read, ports);
}

/** What follows `events`, page by page, and checked for gaps. */
async function allEvents(
  run: LongRun,
  events: HistoryEvent[],
  read: (page: Page) => Promise<readonly HistoryEvent[]>,
): Promise<HistoryEvent[]> {
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
