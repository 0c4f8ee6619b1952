/** Changes of a schedule: read, judged, written if nobody has changed it meanwhile, and otherwise read again. */
import { isDeepStrictEqual } from "node:util";
import { nextAfter } from "../../calendar/index.ts";
import { missedBetween } from "../../calls/scheduled-runs.ts";
import { isTransient, lockedMs, pause } from "../../calls/store-retry.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import { waitsOf } from "../../model/decisions/schedule.ts";
import type { Schedule, ScheduleDecision, ScheduleState } from "../../model/schedule.ts";
import type { PutSchedule, PutScheduleOutcome } from "../../ports/store.ts";
import type { ClientCore } from "../client-core.ts";
import type { DefinedSchedule } from "./schedule-definition.ts";

export async function readSchedule(core: ClientCore, id: string): Promise<Schedule> {
  const { namespace } = core;
  const [found] = await core.call((store) => store.schedules.read({ schedules: [{ namespace, id }] }));
  if (!found) throw scheduleNotFound(core, id);
  return found;
}

export function scheduleNotFound({ namespace }: ClientCore, id: string): HoldfastError {
  const message = `There is no schedule "${id}" in namespace "${namespace}". hf.schedules.list() shows those there are.`;
  return new HoldfastError("schedule_not_found", message, { data: { id, namespace } });
}

/** The time by the store's clock: it decides what is due. */
export async function storeNow(core: ClientCore): Promise<number> {
  return (await core.call((store) => store.readClock())).now;
}

export type Change = Omit<PutSchedule, "namespace" | "id" | "revision" | "next">;

/**
 * `change` is called again if somebody else, such as the leader, was faster; undefined: nothing is to be changed. The outcome is
 * `written` or `taken`. Changes by this client take turns: if all of them raced, only one would succeed each time.
 */
export function changeSchedule(
  core: ClientCore,
  id: string,
  change: (schedule: Schedule) => Change | undefined | Promise<Change | undefined>,
): Promise<PutScheduleOutcome | undefined> {
  return core.scheduleTurns.take(id, () => changeInTurn(core, id, change), isTransient);
}

async function changeInTurn(
  core: ClientCore,
  id: string,
  change: (schedule: Schedule) => Change | undefined | Promise<Change | undefined>,
): Promise<PutScheduleOutcome | undefined> {
  for (let tries = 1; ; tries++) {
    const schedule = await readSchedule(core, id);
    const wanted = await change(schedule);
    if (wanted === undefined) return undefined;
    const { namespace, revision } = schedule;
    const { outcome, sends } = await putSchedule(core, { namespace, id, revision, next: core.newId(), ...wanted });
    if (outcome.outcome !== "moved" && outcome.outcome !== "busy") return outcome;
    if (sends > 1 && (await isNoted(core, id, wanted.decided))) return { outcome: "written" };
    // The leader comes in between once; whoever does it more often is one of many.
    if (tries > 1) await pause({ ...core.ports, life: core.life }, lockedMs(core.ports.random, tries - 1));
  }
}

interface SentPut {
  readonly outcome: PutScheduleOutcome;
  readonly sends: number;
}

/** One put, repeated while the row is locked, and after an answer that was lost. */
export async function putSchedule(core: ClientCore, put: PutSchedule): Promise<SentPut> {
  let sends = 0;
  const outcome = await core.untilNotBusy(async (store) => {
    sends += 1;
    const { outcomes } = await store.schedules.putIfRevision({ puts: [put], announce: true });
    return outcomes[0] as PutScheduleOutcome;
  });
  return { outcome, sends };
}

/**
 * An earlier send whose answer was lost has written the change, and somebody else, such as the leader, has changed the schedule
 * since. Its decisions tell: those about starts name the run, and what else is equal to them has the same effect.
 */
async function isNoted(core: ClientCore, id: string, decided: readonly ScheduleDecision[]): Promise<boolean> {
  if (decided.length === 0) return false;
  const { namespace } = core;
  const noted = await core.call((store) => store.schedules.decisions({ namespace, id }));
  return decided.every((one) => noted.some((other) => isDeepStrictEqual(other, one)));
}

/** Where a new schedule stands. */
export function firstState({ definition }: DefinedSchedule, now: number): ScheduleState {
  return {
    nextAt: definition.paused ? null : nextAfter(definition.spec, now),
    lastAt: null,
    openId: null,
    buffered: [],
    waits: "no",
    failures: 0,
    lastError: null,
  };
}

/**
 * The change to another definition. A schedule that is paused has no next time; one that is resumed, or whose times have changed,
 * has its first time from now on. Times that were due before, and that nobody had fired, are noted as missed. `now` must have been
 * read after the schedule: otherwise times that were skipped in between would be dealt with again.
 */
export function redefined(schedule: Schedule, { definition, input }: DefinedSchedule, now: number): Change {
  const { definition: before, state } = schedule;
  const sameTimes = JSON.stringify(before.spec) === JSON.stringify(definition.spec);
  const keeps = sameTimes && before.paused === definition.paused;
  // The clock may have been set back: what was fired is over.
  const after = Math.max(now, state.lastAt ?? now);
  const nextAt = definition.paused ? null : keeps ? state.nextAt : nextAfter(definition.spec, after);
  const why = definition.paused
    ? "the schedule was paused before it was fired"
    : "the schedule was changed before it was fired";
  const decided: ScheduleDecision[] =
    keeps || state.nextAt === null ? [] : missedBetween(before.spec, state.nextAt, now, why);
  const waits = waitsOf(definition, state);
  return {
    definition,
    ...(input === schedule.input ? {} : { input }),
    state: { ...state, nextAt, waits },
    decided,
    starts: [],
  };
}
