import { HoldfastError } from "../errors/holdfast-error.ts";
import { isBoolean, isId, listOf, type OptionChecks, oneOf, wholeNumber } from "../errors/option-checks.ts";
import { EVENT_TYPES, type EventType, type HistoryEvent, isFailed, opOf } from "../model/event.ts";
import { WORKER_NAMED_EVERY } from "../model/event-meta.ts";
import type { Run } from "../model/run.ts";
import type { Codec } from "../ports/codec.ts";
import type { ClientCore } from "./client-core.ts";
import { lacksWorker, withOrigins } from "./op-times.ts";
import { type EventView, rowEvents, viewEvents } from "./run-view.ts";

const WINDOW_DEFAULT = 1_000;
const WINDOW_MAX = 5_000;
/** With filters, so many events are read at a time, and so many times in one call: the rest is for the next call. */
const FILTER_PAGE = 1_000;
const FILTER_PAGES_MAX = 10;

/** Which events `handle.history` returns: those that match every condition given. */
export interface HistoryOptions {
  /**
   * The seq of the first event. The numbers have no gaps, so a place in a history is a seq.
   * @defaultValue `0`, the start of the run
   */
  readonly from?: number;
  /**
   * At most this many events, from 1 to 5,000.
   * @defaultValue `1000`
   */
  readonly limit?: number;
  /**
   * Only events of these types.
   * @defaultValue all
   */
  readonly types?: readonly EventType[];
  /**
   * Only events of these ops, by op id. A signal that was received counts as one of every `receive:<signal>`.
   * @defaultValue all
   */
  readonly ops?: readonly string[];
  /**
   * Only events that tell of a failure: of an attempt, an op, or the run.
   * @defaultValue `false`: all
   */
  readonly failed?: boolean;
}

/** A window of a history, in order. */
export type EventWindow = EventView[] & {
  /**
   * Pass it as `from` for what follows; null if nothing follows so far. With filters, one call looks at no more than 10,000
   * events: a window may have fewer events than asked for, or none, and still say where to go on.
   */
  readonly next: number | null;
};

export const HISTORY_OPTIONS: OptionChecks<HistoryOptions> = {
  from: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  limit: wholeNumber(1, WINDOW_MAX),
  types: listOf(oneOf(...EVENT_TYPES)),
  ops: listOf(isId("op id")),
  failed: isBoolean,
};

export interface RawWindow {
  readonly events: readonly HistoryEvent[];
  readonly next: number | null;
}

/**
 * Reads no more events than asked for, unless there are filters, and what is needed to name the worker of the first. The start and
 * the end come from the run row.
 */
export async function readWindow(core: ClientCore, run: Run, options: HistoryOptions): Promise<RawWindow> {
  const wanted = filterOf(options);
  const { read, next } = await readEvents(core, run, options, wanted);
  const events = withOrigins(read, lacksWorker(read) ? await workerBefore(core, run, read[0]?.seq ?? 0) : undefined);
  return { events: wanted ? events.filter(wanted) : events, next };
}

/** From the first event on, all that were looked at. */
async function readEvents(
  core: ClientCore,
  run: Run,
  { from = 0, limit = WINDOW_DEFAULT }: HistoryOptions,
  wanted: ((event: HistoryEvent) => boolean) | undefined,
): Promise<{ readonly read: readonly HistoryEvent[]; readonly next: number | null }> {
  const read: HistoryEvent[] = [];
  let found = 0;
  let next = from;
  const readNext = (): Promise<readonly HistoryEvent[]> => {
    const most = Math.min(wanted ? FILTER_PAGE : limit - found, run.eventCount - next + 1);
    return readPage(core, run, Math.max(next - 1, 0), most);
  };
  let page = from === 0 && run.eventCount > 0 ? await readNext() : undefined;
  const { start, end } = rowEvents(run, page?.[0]);
  const pass = (event: HistoryEvent): void => {
    if (event.seq !== next) throw gap(run, next);
    next += 1;
    read.push(event);
    if (wanted?.(event) ?? true) found += 1;
  };
  if (next === 0) pass(start);
  for (let pages = 0; next <= run.eventCount && found < limit; pages++) {
    if (pages === FILTER_PAGES_MAX) return { read, next };
    page ??= await readNext();
    if (page.length === 0) throw gap(run, next);
    for (const event of page) if (found < limit) pass(event);
    page = undefined;
  }
  if (end && next === end.seq && found < limit) pass(end);
  return { read, next: next <= (end?.seq ?? run.eventCount) ? next : null };
}

/** Who worked on the run before this event: the last one before it that names a worker says so, and is seldom far away. */
async function workerBefore(core: ClientCore, run: Run, seq: number): Promise<string | undefined> {
  for (let last = seq - 1; last > 0; last -= WORKER_NAMED_EVERY) {
    const from = Math.max(last - WORKER_NAMED_EVERY, 0);
    const named = (await readPage(core, run, from, last - from)).findLast(({ meta }) => meta?.worker !== undefined);
    if (named) return named.meta?.worker;
  }
  return undefined;
}

/** The time of the last event besides the start and the end; null if there is none. Not read if the run has ended. */
export async function lastEventAt(core: ClientCore, run: Run): Promise<number | null> {
  if (run.eventCount === 0 || run.endedAt !== null) return null;
  return (await readPage(core, run, run.eventCount - 1, 1))[0]?.at ?? null;
}

async function readPage(
  core: ClientCore,
  { namespace, runId }: Run,
  afterSeq: number,
  limitPerRun: number,
): Promise<readonly HistoryEvent[]> {
  const runs = [{ namespace, runId, afterSeq }];
  return (await core.call((store) => store.histories.read({ runs, limitPerRun })))[0] ?? [];
}

/** To whoever compares or copies it, the window is the list of its events and nothing more. */
export function viewWindow({ events, next }: RawWindow, codec: Codec): EventWindow {
  return Object.defineProperty(viewEvents(events, codec), "next", { value: next }) as EventWindow;
}

/** Undefined if all events are wanted. */
function filterOf({ types, ops, failed }: HistoryOptions): ((event: HistoryEvent) => boolean) | undefined {
  if (!types && !ops && !failed) return undefined;
  const wantedTypes = types && new Set<string>(types);
  const wantedOps = ops && new Set(ops);
  return (event) => {
    if (wantedTypes && !wantedTypes.has(event.type)) return false;
    if (failed && !isFailed(event)) return false;
    if (!wantedOps) return true;
    const op = opOf(event);
    return op !== null && wantedOps.has(op);
  };
}

function gap({ runId, eventCount }: Run, seq: number): HoldfastError {
  const message = `History of run ${runId} has no event ${seq}, but the run row says that there are ${eventCount}. It may have been purged meanwhile.`;
  return new HoldfastError("invariant_broken", message);
}
