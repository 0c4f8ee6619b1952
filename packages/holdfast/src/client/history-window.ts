import { HoldfastError } from "../errors/holdfast-error.ts";
import { isBoolean, isId, listOf, type OptionChecks, oneOf, wholeNumber } from "../errors/option-checks.ts";
import { EVENT_TYPES, type EventType, type HistoryEvent, isFailed } from "../model/event.ts";
import { RECEIVE_PREFIX } from "../model/ids.ts";
import type { Run } from "../model/run.ts";
import type { Codec } from "../ports/codec.ts";
import type { ClientCore } from "./client-core.ts";
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

/** Reads no more events than asked for, unless there are filters. The start and the end come from the run row. */
export async function readWindow(core: ClientCore, run: Run, options: HistoryOptions): Promise<RawWindow> {
  const { from = 0, limit = WINDOW_DEFAULT } = options;
  const wanted = filterOf(options);
  const { start, end } = rowEvents(run);
  const events: HistoryEvent[] = [];
  let next = from;
  const pass = (event: HistoryEvent): void => {
    if (event.seq !== next) throw gap(run, next);
    next += 1;
    if (wanted?.(event) ?? true) events.push(event);
  };
  if (next === 0) pass(start);
  for (let pages = 0; next <= run.eventCount && events.length < limit; pages++) {
    if (pages === FILTER_PAGES_MAX) return { events, next };
    const most = Math.min(wanted ? FILTER_PAGE : limit - events.length, run.eventCount - next + 1);
    const page = await readPage(core, run, next - 1, most);
    if (page.length === 0) throw gap(run, next);
    for (const event of page) if (events.length < limit) pass(event);
  }
  if (end && next === end.seq && events.length < limit) pass(end);
  return { events, next: next <= (end?.seq ?? run.eventCount) ? next : null };
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
  const wantedOps = ops && new Set(ops.flatMap((op) => [op, ...signalOf(op)]));
  return (event) => {
    if (wantedTypes && !wantedTypes.has(event.type)) return false;
    if (failed && !isFailed(event)) return false;
    if (!wantedOps) return true;
    const op = event.type === "signal_received" ? `${RECEIVE_PREFIX}${event.op}` : event.op;
    return op !== null && wantedOps.has(op);
  };
}

/** Which of several receives has got a signal is not in its event. */
function signalOf(op: string): string[] {
  return op.startsWith(RECEIVE_PREFIX) ? [op.replace(/#\d+$/, "")] : [];
}

function gap({ runId, eventCount }: Run, seq: number): HoldfastError {
  const message = `History of run ${runId} has no event ${seq}, but the run row says that there are ${eventCount}. It may have been purged meanwhile.`;
  return new HoldfastError("invariant_broken", message);
}
