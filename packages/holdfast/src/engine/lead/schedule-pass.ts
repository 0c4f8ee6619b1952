/**
 * One pass over the schedules that are due: reads them, judges their times, and writes what was judged together with the starts.
 * It goes through all of them, page by page: those that nothing can be done about keep nobody behind them waiting.
 *
 * Invariants
 *  S1. One run for each (schedule, time), even with several leaders: a change names the revision that it was judged by, and the
 *      run id follows from the schedule and the time.
 *  S2. Whatever was not written is still due: a pass that dies, or whose answer is lost, is repeated by the next one.
 *  S3. A run that somebody else has started under the id of a time's run is none of the schedule's: it neither counts as its open
 *      run, nor is it stopped. The store writes nothing if an id is taken, and the times are judged again.
 *  S4. A run that is to make way for a buffered time is stopped after the time is buffered. If the time was not buffered after all,
 *      because somebody has changed the schedule or deleted it, the run is left alone; and so it is if another run has the id of the time,
 *      which could not be started then. A run that is terminated ends in the same change that starts the next one: both, or neither.
 *      A run that is canceled is told again by later passes until it has ended; an id that is taken meanwhile cannot be foreseen.
 *  S5. A schedule that cannot be fired keeps no other from being fired.
 */
import { dueTimes, putOf, takenTimes, takenTimesOfAll } from "../../calls/scheduled-runs.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import { toErrorRecord } from "../../errors/error-record.ts";
import { HoldfastError, isHoldfastError } from "../../errors/holdfast-error.ts";
import { judgeTimes, stopPolicy } from "../../model/decisions/schedule.ts";
import { sentMessageId, uuidV7 } from "../../model/ids.ts";
import { DEFAULT_LIMITS, type Limits } from "../../model/limits.ts";
import { messageFrom } from "../../model/operator-notes.ts";
import { type IdOwner, type Schedule, scheduleOf } from "../../model/schedule.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { Random } from "../../ports/random.ts";
import type { DuePosition, DueSchedulesResult, PutSchedule, ScheduleOutlook, Store } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { startLabels } from "../../report/telemetry-labels.ts";

/** How many schedules one call reads, and how many starts one call writes. */
export const SCHEDULES_PER_CALL_MAX = 500;
const STARTS_PER_CALL_MAX = 500;

export interface SchedulePassParams {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  readonly storeTime: StoreTime;
  readonly log: Logger;
  readonly limits?: Limits;
  readonly telemetry?: Telemetry;
  /** A run that was terminated owes something to others. */
  readonly onOwing: (run: { readonly namespace: string; readonly runId: string }) => void;
}

export interface PassResult extends ScheduleOutlook {
  /** Runs have made way for one of several buffered times: another pass at once deals with the others. */
  readonly more: boolean;
  /** Somebody else was faster, or has locked something: those schedules may still be due (S2). */
  readonly left: boolean;
  /** The run ids of runs for whose end a buffered time waits, as far as this pass knows. */
  readonly awaited: readonly string[];
}

interface Turn {
  readonly schedule: Schedule;
  readonly now: number;
  /** The times whose ids others were found to have, when it was judged. */
  readonly taken: ReadonlyMap<number, IdOwner>;
  readonly starts: readonly number[];
  readonly put: PutSchedule;
}

/** Schedules that were read together, and what is to become of them. */
interface Page {
  readonly due: DueSchedulesResult;
  readonly turns: readonly Turn[];
}

/**
 * It ends early if `goesOn` says no: this worker does not lead any more. While a page is written the next one is read and judged: the
 * schedules of a page are due behind those of the page before it, so what is written about these changes nothing for them.
 */
export async function passSchedules(params: SchedulePassParams, goesOn: () => boolean): Promise<PassResult> {
  const results: PassResult[] = [];
  let page: Page | undefined = await readPage(params);
  const beganAt = page.due.now;
  while (page) {
    const writing = carryOut(params, page);
    const after = behind(page.due, beganAt);
    const reading = after && goesOn() ? readPage(params, after) : undefined;
    // If the page cannot be written, nobody is told that the next one could not be read either.
    reading?.catch(() => {});
    results.push(await writing);
    const next: Page | undefined = await reading;
    page = goesOn() ? next : undefined;
  }
  return {
    nextAt: earliest(results.map(({ nextAt }) => nextAt)),
    waiting: results.some(({ waiting }) => waiting),
    awaited: results.flatMap(({ awaited }) => awaited),
    more: results.some(({ more }) => more),
    left: results.some(({ left }) => left),
  };
}

async function readPage(params: SchedulePassParams, after?: DuePosition): Promise<Page> {
  const sentAt = params.clock.monotonic();
  const due = await params.store.schedules.due({ limit: SCHEDULES_PER_CALL_MAX, ...(after ? { after } : {}) });
  params.storeTime.observe(due.now, sentAt);
  return { due, turns: due.schedules.flatMap((schedule) => turnOf(params, schedule, due.now) ?? []) };
}

/** In the order of `due` the first position of those that wait: no schedule has an empty id. */
const FIRST_WAITING: DuePosition = { dueAt: null, namespace: "", id: "" };

/**
 * Where to go on; undefined: that was all. What has become due since the pass began is left to the next one: if it came faster than it
 * can be fired, those that wait would never have their turn.
 */
function behind({ schedules, more, now }: DueSchedulesResult, beganAt: number): DuePosition | undefined {
  const last = schedules.at(-1);
  if (!last || !more) return undefined;
  const { namespace, id, state } = last;
  const dueAt = state.nextAt !== null && state.nextAt <= now ? state.nextAt : null;
  return dueAt !== null && dueAt > beganAt ? FIRST_WAITING : { dueAt, namespace, id };
}

async function carryOut(params: SchedulePassParams, { due, turns }: Page): Promise<PassResult> {
  const { turns: written, left } = await writeAll(params, turns);
  const after = written.map(({ schedule, put }) => ({ ...schedule, revision: put.next, state: put.state }));
  const touched = new Set(turns.map(({ schedule }) => schedule));
  const untouched = due.schedules.filter((one) => !touched.has(one));
  const stopped = await stopOthers(params, [...after, ...untouched], due.now);
  const awaited = [...due.awaited, ...[...written, ...stopped.turns].flatMap(awaitedAfter)];
  const waiting = due.waiting || after.some(({ state }) => state.waits !== "no");
  const nextAt = earliest([due.nextAt, ...after.map(({ state }) => state.nextAt)]);
  const more = stopped.turns.some(({ put }) => put.state.waits === "look");
  return { nextAt, waiting, awaited, more, left: left || stopped.left };
}

/** The run for whose end the buffered times of the schedule wait from now on. */
function awaitedAfter({ schedule, put }: Turn): string[] {
  const runId = put.starts.at(-1)?.run.runId ?? schedule.open?.runId;
  return put.state.waits === "no" || runId === undefined ? [] : [runId];
}

function earliest(times: readonly (number | null)[]): number | null {
  const known = times.filter((at) => at !== null);
  return known.length === 0 ? null : Math.min(...known);
}

/** Undefined if nothing changes, or if this code cannot read the schedule. */
function turnOf(
  params: SchedulePassParams,
  schedule: Schedule,
  now: number,
  taken: Turn["taken"] = new Map(),
): Turn | undefined {
  return ifReadable(params, schedule, () => {
    const { times, missed, nextAt } = dueTimes(schedule, now);
    const judged = judgeTimes({ ...schedule, state: { ...schedule.state, nextAt } }, times, { taken });
    const decided = [...missed, ...judged.decided];
    if (decided.length === 0 && nextAt === schedule.state.nextAt) return undefined;
    const put = putOf(schedule, { ...judged, decided }, newRevision(params), params);
    return { schedule, now, taken, starts: judged.starts, put };
  });
}

function ifReadable<T>({ log }: SchedulePassParams, schedule: Schedule, judge: () => T): T | undefined {
  try {
    return judge();
  } catch (error) {
    const { namespace, id } = schedule;
    log.error({ namespace, schedule: id, error: String(error) }, "the times of a schedule cannot be computed here");
    return undefined;
  }
}

function newRevision({ clock, random }: SchedulePassParams): string {
  return uuidV7(clock.now(), random.bytes(16));
}

function* batches(turns: readonly Turn[]): Generator<readonly Turn[]> {
  let batch: Turn[] = [];
  let starts = 0;
  for (const turn of turns) {
    const count = turn.put.starts.length;
    if (batch.length > 0 && starts + count > STARTS_PER_CALL_MAX) {
      yield batch;
      batch = [];
      starts = 0;
    }
    batch.push(turn);
    starts += count;
  }
  if (batch.length > 0) yield batch;
}

interface Written {
  readonly turns: readonly Turn[];
  /** Somebody else was faster, or has locked some of them: those may still be due. */
  readonly left: boolean;
}

async function writeAll(params: SchedulePassParams, turns: readonly Turn[]): Promise<Written> {
  const written: Turn[] = [];
  let left = false;
  for (const batch of batches(turns)) {
    const result = await write(params, batch);
    written.push(...result.turns);
    left ||= result.left;
  }
  return { turns: written, left };
}

/** What the store refuses in a batch is written alone; a schedule that is refused alone fails, and goes on with its next time. */
async function write(params: SchedulePassParams, batch: readonly Turn[]): Promise<Written> {
  try {
    const puts = batch.map(({ put }) => put);
    const { outcomes } = await params.store.schedules.putIfRevision({ puts, announce: false });
    const turns = batch.filter((_, i) => outcomes[i]?.outcome === "written");
    for (const [i, { owes }] of outcomes.entries()) if (owes) owing(params, batch[i] as Turn);
    if (params.telemetry) countStarts(params.telemetry, turns);
    const again: Turn[] = [];
    let left = outcomes.some(({ outcome }) => outcome === "moved" || outcome === "busy");
    for (const [i, { taken }] of outcomes.entries()) {
      if (!taken) continue;
      const judged = await judgedAgain(params, batch[i] as Turn, taken);
      left ||= judged.length === 0;
      again.push(...judged);
    }
    if (again.length === 0) return { turns, left };
    const rest = await write(params, again);
    return { turns: [...turns, ...rest.turns], left: left || rest.left };
  } catch (error) {
    if (!isHoldfastError(error, "store_refused")) throw error;
    const [only] = batch;
    if (only && batch.length === 1) return writeFailed(params, only, error);
    const results: Written[] = [];
    for (const turn of batch) results.push(await write(params, [turn]));
    return { turns: results.flatMap(({ turns }) => turns), left: results.some(({ left }) => left) };
  }
}

function owing({ onOwing }: SchedulePassParams, { put: { namespace, terminates } }: Turn): void {
  if (terminates) onOwing({ namespace, runId: terminates.runId });
}

function countStarts(telemetry: Telemetry, turns: readonly Turn[]): void {
  for (const { put } of turns) for (const { run } of put.starts) telemetry.count("runs_started", 1, startLabels(run));
}

/** The turn without the times whose ids runs have; none if those runs are gone by now: the next pass looks again. */
async function judgedAgain(params: SchedulePassParams, turn: Turn, ids: readonly string[]): Promise<readonly Turn[]> {
  const { schedule, now, starts } = turn;
  const { namespace, id } = schedule;
  const found = await takenTimes(params.store, schedule, starts);
  if ([...found.values()].includes("other"))
    params.log.warn({ namespace, schedule: id, ids }, "a schedule cannot start runs whose ids others have taken");
  if (found.size === 0) return [];
  const again = turnOf(params, schedule, now, new Map([...turn.taken, ...found]));
  return again ? [again] : [];
}

async function writeFailed(params: SchedulePassParams, turn: Turn, error: HoldfastError): Promise<Written> {
  const { schedule } = turn;
  const { terminates: _stays, ...put } = turn.put;
  const { namespace, id, state } = schedule;
  const reason = error.message;
  if (put.starts.length === 0) {
    params.log.error({ namespace, schedule: id, error: reason }, "the store refuses what was decided about a schedule");
    return { turns: [], left: false };
  }
  const decided = put.decided.map((one) => (one.what === "fired" ? { ...one, what: "failed" as const, reason } : one));
  const { nextAt, buffered, waits } = put.state;
  const after = { ...state, nextAt, buffered, waits, failures: state.failures + 1, lastError: reason };
  // A run that should have made way goes on.
  return write(params, [{ ...turn, put: { ...put, starts: [], decided, state: after } }]);
}

const MAKES_WAY = "the next time of the schedule has come";

/** Stops the runs that are in the way of a buffered time. Those that are terminated are followed by the next ones at once. */
async function stopOthers(params: SchedulePassParams, schedules: readonly Schedule[], now: number): Promise<Written> {
  const stopping = schedules.filter((schedule) => stopPolicy(schedule) !== undefined);
  const runIds = await ownRuns(params.store, stopping);
  const own = stopping.filter((schedule) => runIds.has(schedule));
  const toCancel = own.filter((schedule) => stopPolicy(schedule) === "cancel-other");
  const taken = await takenTimesOfAll(
    params.store,
    toCancel.map((schedule) => ({ ...schedule, times: schedule.state.buffered })),
  );
  await cancelOthers(
    params,
    toCancel.filter((_, i) => taken[i]?.size === 0),
    runIds,
  );
  const inVain = toCancel.flatMap((schedule, i) =>
    taken[i]?.size ? (turnOf(params, schedule, now, taken[i]) ?? []) : [],
  );
  const replaced = own
    .filter((schedule) => stopPolicy(schedule) === "terminate-other")
    .flatMap((schedule) => replacement(params, schedule, runIds.get(schedule) as string, now) ?? []);
  return writeAll(params, [...inVain, ...replaced]);
}

async function cancelOthers(
  { store, limits = DEFAULT_LIMITS }: SchedulePassParams,
  schedules: readonly Schedule[],
  runIds: ReadonlyMap<Schedule, string>,
): Promise<void> {
  if (schedules.length === 0) return;
  const messages = schedules.map((schedule) => ({
    to: { namespace: schedule.namespace, runId: runIds.get(schedule) as string },
    kind: "cancel" as const,
    messageId: sentMessageId(`schedule ${schedule.id}`, String(schedule.state.openId)),
    ...messageFrom({ by: `schedule ${schedule.id}`, reason: MAKES_WAY }),
  }));
  await store.inbox.deliver({ messages, inboxMax: limits.inboxMax });
}

/** The change that starts the run of a buffered time, and terminates the open one for it. */
function replacement(params: SchedulePassParams, schedule: Schedule, runId: string, now: number): Turn | undefined {
  const { id, open } = schedule;
  const data = { reason: MAKES_WAY, by: `schedule ${id}` };
  const terminates = { runId, error: toErrorRecord(new HoldfastError("run_terminated", MAKES_WAY, { data })) };
  return ifReadable(params, schedule, () => {
    const judged = judgeTimes({ ...schedule, open: open && { ...open, status: "terminated" } }, []);
    const put = { ...putOf(schedule, judged, newRevision(params), params), terminates };
    return { schedule, now, taken: new Map(), starts: judged.starts, put };
  });
}

/**
 * The run ids of open runs that are the schedules' own: somebody else may have started another one under that id when it had ended, or does
 * so now (S3). So a run is stopped by its run id.
 */
async function ownRuns(store: Store, schedules: readonly Schedule[]): Promise<ReadonlyMap<Schedule, string>> {
  if (schedules.length === 0) return new Map();
  const runs = schedules.map(({ namespace, state }) => ({ namespace, id: state.openId as string }));
  const found = await store.runs.read({ runs });
  return new Map(
    schedules.flatMap((schedule, i): [Schedule, string][] => {
      const run = found[i];
      return run && scheduleOf(run.attributes)?.schedule === schedule.id ? [[schedule, run.runId]] : [];
    }),
  );
}
