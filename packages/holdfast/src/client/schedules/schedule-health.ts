/** What keeps schedules from starting runs, or their runs from succeeding. */
import { failuresAfter } from "../../model/decisions/schedule.ts";
import type { Schedule } from "../../model/schedule.ts";
import { isAlive, type WorkerRow } from "../../model/worker-row.ts";
import type { ClientCore } from "../client-core.ts";

/** A schedule whose last runs have failed. */
export interface FailingSchedule {
  readonly id: string;
  readonly failures: number;
  readonly lastError: string | null;
}

/** How many failing schedules are shown, and how many that are due are looked at. */
const SHOWN_MAX = 100;
/** A schedule that has failed this often in a row does not recover by itself. */
const FAILURES_IN_A_ROW = 3;
/** A leader that dies is replaced within one lease: whoever is due longer than this is not being fired. */
const OVERDUE_MS = 60_000;

interface SchedulesHealth {
  readonly schedules: readonly FailingSchedule[];
  readonly leader: { readonly workerId: string; readonly since: Date } | null;
  /** Why schedules do not do what they should, one sentence each. */
  readonly stuck: readonly string[];
}

export async function checkSchedules(
  core: ClientCore,
  rows: readonly WorkerRow[],
  now: number,
): Promise<SchedulesHealth> {
  const { namespace } = core;
  const listed = await core.callOnce((store) => store.schedules.list({ namespace, limit: SHOWN_MAX, failing: true }));
  const found = await core.callOnce((store) => store.workers.readLeader({}));
  // Of a leader of another namespace nothing more is known here.
  const own = rows.find(({ workerId }) => workerId === found?.workerId);
  const leader = found !== null && (own === undefined || isAlive(own, now)) ? found : null;
  const due = await core.callOnce((store) => store.schedules.due({ limit: SHOWN_MAX }));
  const schedules = listed
    .map(({ id, state, open }) => ({ id, ...failuresAfter(state, open) }))
    .filter(({ failures }) => failures > 0);
  const stuck = [
    ...schedules.filter(({ failures }) => failures >= FAILURES_IN_A_ROW).map(failingText),
    ...listed.filter(waitsForParked).map(parkedText),
    ...due.schedules
      .filter((one) => one.namespace === namespace && isOverdue(one, now - (leader ? OVERDUE_MS : 0)))
      .map((one) => overdueText(one, leader !== null)),
  ];
  return { schedules, leader: leader && { workerId: leader.workerId, since: new Date(leader.since) }, stuck };
}

function failingText({ id, failures, lastError }: FailingSchedule): string {
  return `The last ${failures} runs of schedule "${id}" failed: ${lastError ?? "no reason is known"}`;
}

function waitsForParked({ definition, open }: Schedule): boolean {
  return open?.status === "parked" && !definition.paused && definition.overlap !== "allow";
}

function parkedText({ id, state }: Schedule): string {
  return `Schedule "${id}" waits for run "${state.openId}", which is parked.`;
}

function isOverdue({ state }: Schedule, since: number): boolean {
  return state.nextAt !== null && state.nextAt < since;
}

function overdueText({ id, state }: Schedule, led: boolean): string {
  const due = `Schedule "${id}" has been due since ${new Date(state.nextAt as number).toISOString()}`;
  return led ? `${due}, and the leader has not fired it.` : `${due}, and no worker leads: nothing is fired.`;
}
