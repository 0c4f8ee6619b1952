import {
  type ClaimRunsParams,
  type ClaimRunsResult,
  earlier,
  limitedFirst,
  type Message,
  type Run,
  type TakeUpParams,
  type TakeUpResult,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import type { Lane } from "../database/catalog.ts";
import { statusCode } from "../database/codes.ts";
import { newUuidBytes, uuidText } from "../database/uuid.ts";
import { unconsumed } from "../inbox.ts";
import { liveWorker, liveWorkerKey } from "../workers.ts";
import { holdRuns } from "./holds.ts";
import { byLimits, lookAtLimited, takeLimited } from "./limited-claims.ts";
import { appendNote } from "./parking.ts";
import { type Holder, readHeldRun } from "./run-rows.ts";
import { noteError } from "./run-state.ts";

const DUE = `
  select run_key, available_at from holdfast_runs
  where lane_id = ? and suspect = ? and available_at <= ? order by available_at limit ?`;
const NEXT_DUE = `
  select min(available_at) as at from holdfast_runs where lane_id = ? and suspect = ? and available_at > ?`;
const TAKEN_UNDER = "select run_key from holdfast_runs where held_by = ? and claim_id = ? order by run_key";

interface Found {
  /** The keys of runs. */
  readonly taken: readonly number[];
  readonly moreDue: boolean;
  readonly nextDueAt: number | null;
  readonly suspectDue: boolean;
}

const NOTHING: Found = { taken: [], moreDue: false, nextDueAt: null, suspectDue: false };

export function claimRuns(call: Call, params: ClaimRunsParams): ClaimRunsResult {
  const { sql, now } = call;
  const worker = liveWorker(call, params.workerId);
  if (worker?.namespace !== params.namespace) {
    return { live: false, runs: [], messages: [], now, moreDue: false, nextDueAt: null, suspectDue: false };
  }
  const { workerKey } = worker;
  const claimId = newUuidBytes(params.claimId);
  const holder = { heldBy: call.catalog.workerId(workerKey), claimId: uuidText(claimId), taken: worker.taken };
  if (params.again) {
    const taken = sql.allColumns(TAKEN_UNDER, workerKey, claimId).map(([runKey]) => runKey as number);
    if (taken.length > 0) return answer(call, { ...NOTHING, taken }, { ...holder, now: false });
  }
  const found = findDue(call, params, lanesOf(call, params));
  if (found.taken.length > 0) holdRuns(call, found.taken, workerKey, params.claimId, { alone: params.solo });
  return answer(call, found, { ...holder, now: true });
}

/**
 * What a claim would answer, if it serves queues with limits and would find nothing. It looks while another process has the lock: all
 * workers are woken for a place that was given back, and those that come late should not keep the lock from the work in progress.
 */
export function lookForRuns(call: Call, params: ClaimRunsParams): ClaimRunsResult | undefined {
  const { sql, now } = call;
  if (params.again || params.solo || liveWorker(call, params.workerId)?.namespace !== params.namespace)
    return undefined;
  const lanes = lanesOf(call, params);
  const { plain, limited } = byLimits(lanes, params);
  if (limited.length === 0) return undefined;
  let nextAt: number | null = null;
  for (const [limitedId, served] of limited) {
    const found = lookAtLimited(call, limitedId, served);
    if (!found) return undefined;
    nextAt = earlier(nextAt, found.nextAt);
  }
  const isDue = ({ laneId }: Lane, suspect: number) => sql.allColumns(DUE, laneId, suspect, now, 1).length > 0;
  if (plain.some((lane) => isDue(lane, 0)) || lanes.some((lane) => isDue(lane, 1))) return undefined;
  const nextDueAt = earlier(nextDue(call, lanes), nextAt);
  return { live: true, runs: [], messages: [], now, moreDue: false, nextDueAt, suspectDue: false };
}

/** If this code was the last to park a run, the list begins with its identity, and the run is not even read. */
const PARKED_BY_OTHERS = `
  select run_key from holdfast_runs
  where lane_id = ? and parked_by >= ? and parked_by < ? and ended_at is null and status = ? and suspect = 0
    and instr(parked_by, ?) = 0
  limit ?`;

export function holdRunsIfParkedByOtherCode(call: Call, params: TakeUpParams): TakeUpResult {
  const { sql } = call;
  const workerKey = liveWorkerKey(call, params);
  if (workerKey === undefined) return { live: false, taken: 0, more: false };
  const parked = statusCode("parked");
  const found: number[] = [];
  for (const { laneId, workflow, version } of lanesOf(call, params)) {
    const code = params.handlers.find((one) => one.workflow === workflow && one.version === version)?.code as string;
    // Identities are hexadecimal digits, so "g" sorts after all of them.
    for (const [from, to] of [["", code] as const, [`${code}g`, "g"] as const]) {
      // One more than the limit, to know whether more are left.
      const room = params.limit + 1 - found.length;
      for (const [runKey] of sql.allColumns(PARKED_BY_OTHERS, laneId, from, to, parked, code, room))
        found.push(runKey as number);
    }
  }
  const taken = found.slice(0, params.limit);
  if (taken.length > 0) {
    holdRuns(call, taken, workerKey, params.claimId);
    for (const runKey of taken) {
      noteError(call, { runKey }, null);
      appendNote(call, runKey, params.event);
    }
  }
  return { live: true, taken: taken.length, more: found.length > taken.length };
}

/** Higher priorities first. */
function lanesOf(
  call: Call,
  { namespace, queues, handlers }: Pick<ClaimRunsParams, "namespace" | "queues" | "handlers">,
): Lane[] {
  const served = new Set(handlers.map(({ workflow, version }) => `${workflow}\n${version}`));
  return call.catalog
    .lanesOf(namespace)
    .filter((lane) => queues.includes(lane.queue) && served.has(`${lane.workflow}\n${lane.version}`));
}

function findDue(call: Call, params: ClaimRunsParams, lanes: readonly Lane[]): Found {
  const { sql, now } = call;
  const limit = params.solo ? Math.min(1, params.limit) : params.limit;
  const { plain, limited } = byLimits(lanes, params);
  const suspectDue = !params.solo && lanes.some(({ laneId }) => sql.allColumns(DUE, laneId, 1, now, 1).length > 0);
  if (limited.length === 0)
    return { ...findPlain(call, params, plain, limit), nextDueAt: nextDue(call, lanes), suspectDue };
  const taken: number[] = [];
  let moreDue = false;
  let nextAt: number | null = null;
  const note = (found: Pick<Found, "taken" | "moreDue">): void => {
    taken.push(...found.taken);
    moreDue ||= found.moreDue;
  };
  const takePlain = (): void => note(findPlain(call, params, plain, limit - taken.length));
  const first = limitedFirst(params.claimId);
  if (!first) takePlain();
  for (const [limitedId, served] of limited) {
    const found = takeLimited(call, limitedId, served, limit - taken.length);
    note(found);
    nextAt = earlier(nextAt, found.nextAt);
  }
  if (first) takePlain();
  // Afterward: what waits in line may be due at its deadline.
  return { taken, moreDue, nextDueAt: earlier(nextDue(call, lanes), nextAt), suspectDue };
}

/** In queues without limits. */
function findPlain(
  { sql, now }: Call,
  params: ClaimRunsParams,
  lanes: readonly Lane[],
  limit: number,
): Pick<Found, "taken" | "moreDue"> {
  const taken: number[] = [];
  let moreDue = false;
  for (const group of byPriority(lanes)) {
    const room = limit - taken.length;
    // One more than there is room for, to know whether more are left.
    const due = group.flatMap(
      ({ laneId }) => sql.allColumns(DUE, laneId, Number(params.solo), now, room + 1) as DueRun[],
    );
    due.sort(([aKey, aAt], [bKey, bAt]) => aAt - bAt || aKey - bKey);
    for (const [runKey] of due.slice(0, room)) taken.push(runKey);
    moreDue = due.length > room;
    if (moreDue) break;
  }
  return { taken, moreDue };
}

type DueRun = readonly [runKey: number, availableAt: number];

export function byPriority<L extends { readonly priority: number }>(lanes: readonly L[]): L[][] {
  const groups = new Map<number, L[]>();
  for (const lane of lanes) {
    const group = groups.get(lane.priority);
    if (group) group.push(lane);
    else groups.set(lane.priority, [lane]);
  }
  return [...groups.values()];
}

function nextDue({ sql, now }: Call, lanes: readonly Lane[]): number | null {
  let next: number | null = null;
  for (const { laneId } of lanes) {
    for (const suspect of [0, 1]) {
      const at = sql.get<{ at: number | null }>(NEXT_DUE, laneId, suspect, now)?.at ?? null;
      if (at !== null) next = Math.min(next ?? at, at);
    }
  }
  return next;
}

function answer(call: Call, found: Found, holder: Holder): ClaimRunsResult {
  const runs: Run[] = [];
  const messages: Message[] = [];
  for (const runKey of found.taken) {
    const run = readHeldRun(call, runKey, holder);
    runs.push(run);
    if (run.delivered > run.consumed) messages.push(...unconsumed(call, runKey, run.consumed));
  }
  const { moreDue, nextDueAt, suspectDue } = found;
  return { live: true, runs, messages, now: call.now, moreDue, nextDueAt, suspectDue };
}
