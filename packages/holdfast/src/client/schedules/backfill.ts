/**
 * Starts what a schedule would have started in a span of time: batch after batch, each written together with its starts. Times that
 * have not come yet are left to the schedule.
 */
import { CALENDAR_END_MS, CALENDAR_START_MS, timesBetween } from "../../calendar/index.ts";
import { putOf, takenTimes } from "../../calls/scheduled-runs.ts";
import { pause } from "../../calls/store-retry.ts";
import { invalidOption, requireOptions } from "../../errors/option-checks.ts";
import { isOpen, type JudgedTimes, judgeTimes } from "../../model/decisions/schedule.ts";
import { BUFFERED_MAX, type IdOwner, type OverlapPolicy, type Schedule } from "../../model/schedule.ts";
import type { ClientCore } from "../client-core.ts";
import { changeSchedule, readSchedule, storeNow } from "./schedule-change.ts";
import { BACKFILL_OPTIONS, type BackfillOptions, type BackfillProgress } from "./schedule-options.ts";

const BATCH_SIZE = 50;
/** How often to look whether buffered times have made room for more. */
const FULL_MS = 1_000;
const WHERE = "schedules.backfill";

export async function backfillSchedule(
  core: ClientCore,
  id: string,
  options: BackfillOptions,
): Promise<BackfillProgress> {
  const { from, to } = rangeOf(options);
  const until = Math.min(to, await storeNow(core));
  const { definition } = await readSchedule(core, id);
  const overlap = options.overlap ?? (definition.overlap === "allow" ? "allow" : "buffer-all");
  let progress: BackfillProgress = { times: 0, started: 0, buffered: 0, skipped: 0, at: null };
  for (let after = from - 1; ; ) {
    const times = timesBetween(definition.spec, after, until, BATCH_SIZE);
    if (times.length === 0) return progress;
    const filled = await fill(core, id, times, overlap);
    if (filled) {
      progress = added(progress, filled);
      after = (filled.at as Date).getTime();
    }
    await options.onProgress?.(progress);
    if (filled) continue;
    await pause({ ...core.ports, life: core.life }, FULL_MS);
    core.life.assertOpen();
  }
}

function rangeOf(options: BackfillOptions): { readonly from: number; readonly to: number } {
  requireOptions(options, BACKFILL_OPTIONS, WHERE);
  for (const option of ["from", "to"] as const) {
    if (options[option] === undefined) throw invalidOption(WHERE, option, "is missing: say from when to when");
    const at = options[option].getTime();
    if (at < CALENDAR_START_MS || at > CALENDAR_END_MS)
      throw invalidOption(WHERE, option, "is not between the years 1900 and 9999");
  }
  const [from, to] = [options.from.getTime(), options.to.getTime()];
  if (to < from) throw invalidOption(WHERE, "to", "is before from");
  return { from, to };
}

/**
 * The first of these times for which there is room: undefined if there is none now. Times that have a run are skipped: of runs that
 * are purged nobody knows.
 */
async function fill(
  core: ClientCore,
  id: string,
  times: readonly number[],
  overlap: OverlapPolicy,
): Promise<BackfillProgress | undefined> {
  const { namespace } = core;
  const ownersOf = (some: readonly number[]) => core.call((store) => takenTimes(store, { namespace, id }, some));
  for (let taken = await ownersOf(times); ; ) {
    let starts: readonly number[] = [];
    let filled: BackfillProgress | undefined;
    const put = await changeSchedule(core, id, (schedule) => {
      const fitting = overlap === "buffer-all" ? withRoom(schedule, times, taken) : times;
      filled = undefined;
      if (fitting.length === 0) return undefined;
      const judged = judgeTimes(schedule, fitting, { overlap, taken });
      starts = judged.starts;
      filled = counted(schedule, fitting, judged);
      return putOf(schedule, judged, core.newId(), core.ports);
    });
    // Somebody else has started one of them since we looked.
    if (put?.outcome !== "taken") return filled;
    taken = new Map([...taken, ...(await ownersOf(starts))]);
  }
}

/** The first times that can be buffered, with those among them that need not be. */
function withRoom(
  { definition, state, open }: Schedule,
  times: readonly number[],
  taken: ReadonlyMap<number, IdOwner>,
): readonly number[] {
  const { buffered } = state;
  let room = BUFFERED_MAX - buffered.length + (isOpen(open) ? 0 : 1);
  const end = times.findIndex((at) => !taken.has(at) && !buffered.includes(at) && --room < 0);
  if (end === 0 && definition.paused) {
    const fault = `has to wait: ${buffered.length} times are buffered already, the most there can be, and none of them starts while the schedule is paused`;
    throw invalidOption(WHERE, "overlap", `is "buffer-all", and the next time ${fault}. Resume the schedule first`);
  }
  return end === -1 ? times : times.slice(0, end);
}

function counted(
  { state }: Schedule,
  times: readonly number[],
  { starts, state: after }: JudgedTimes,
): BackfillProgress {
  const started = times.filter((at) => starts.includes(at) && !state.buffered.includes(at)).length;
  const buffered = times.filter((at) => after.buffered.includes(at) && !state.buffered.includes(at)).length;
  const at = new Date(times.at(-1) as number);
  return { times: times.length, started, buffered, skipped: times.length - started - buffered, at };
}

function added(a: BackfillProgress, b: BackfillProgress): BackfillProgress {
  return {
    times: a.times + b.times,
    started: a.started + b.started,
    buffered: a.buffered + b.buffered,
    skipped: a.skipped + b.skipped,
    at: b.at,
  };
}
