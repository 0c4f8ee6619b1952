/** Starts what a schedule would have started in a span of time: batch after batch, each written together with its starts. */
import { timesBetween } from "../../calendar/index.ts";
import { putOf } from "../../calls/scheduled-runs.ts";
import { pause } from "../../calls/store-retry.ts";
import { invalidOption, requireOptions } from "../../errors/option-checks.ts";
import { judgeTimes } from "../../model/decisions/schedule.ts";
import { BUFFERED_MAX, type OverlapPolicy, type Schedule, scheduledId } from "../../model/schedule.ts";
import type { ClientCore } from "../client-core.ts";
import { changeSchedule, readSchedule, storeNow } from "./schedule-change.ts";
import { BACKFILL_OPTIONS, type BackfillOptions, type BackfillProgress } from "./schedule-options.ts";

const BATCH_SIZE = 50;
/** How often to look whether buffered times have made room for more. */
const FULL_MS = 1_000;

export async function backfillSchedule(
  core: ClientCore,
  id: string,
  options: BackfillOptions,
): Promise<BackfillProgress> {
  const where = "schedules.backfill";
  requireOptions(options, BACKFILL_OPTIONS, where);
  for (const option of ["from", "to"] as const)
    if (options[option] === undefined) throw invalidOption(where, option, "is missing: say from when to when");
  if (options.to.getTime() < options.from.getTime()) throw invalidOption(where, "to", "is before from");
  // Times to come are the leader's.
  const to = Math.min(options.to.getTime(), await storeNow(core));
  const { definition } = await readSchedule(core, id);
  const overlap = options.overlap ?? (definition.overlap === "allow" ? "allow" : "buffer-all");
  let progress: BackfillProgress = { times: 0, started: 0, buffered: 0, skipped: 0, at: null };
  for (let after = options.from.getTime() - 1; ; ) {
    const times = timesBetween(definition.spec, after, to, BATCH_SIZE);
    const last = times.at(-1);
    if (last === undefined) return progress;
    progress = added(progress, await fill(core, id, times, overlap));
    await options.onProgress?.(progress);
    after = last;
  }
}

/** Times that have a run are left out: of those that are purged nobody knows that they have had one. */
async function fill(
  core: ClientCore,
  id: string,
  times: readonly number[],
  overlap: OverlapPolicy,
): Promise<BackfillProgress> {
  const { namespace } = core;
  for (;;) {
    const runs = times.map((at) => ({ namespace, id: scheduledId(id, at) }));
    const known = await core.call((store) => store.runs.read({ runs }));
    let filled: BackfillProgress | undefined;
    await changeSchedule(core, id, (schedule) => {
      filled = undefined;
      const { buffered } = schedule.state;
      if (overlap === "buffer-all" && buffered.length + times.length > BUFFERED_MAX) return undefined;
      const missing = times.filter((at, i) => !known[i] && !buffered.includes(at));
      const judged = judgeTimes(schedule, missing, overlap);
      filled = counted(schedule, times, missing, judged);
      if (missing.length === 0) return undefined;
      return putOf(schedule, judged, core.newId(), core.ports.random);
    });
    if (filled) return filled;
    await pause({ ...core.ports, life: core.life }, FULL_MS);
    core.life.assertOpen();
  }
}

function counted(
  { state }: Schedule,
  times: readonly number[],
  missing: readonly number[],
  { starts, state: after }: ReturnType<typeof judgeTimes>,
): BackfillProgress {
  const started = missing.filter((at) => starts.includes(at)).length;
  const buffered = missing.filter((at) => after.buffered.includes(at) && !state.buffered.includes(at)).length;
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
