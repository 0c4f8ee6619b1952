import type { ClaimRunsParams, ClaimRunsResult } from "holdfast/adapter";
import type { Call } from "./call.ts";
import type { Lane } from "./catalog.ts";
import { statusCode } from "./codes.ts";
import { unconsumed } from "./inbox.ts";
import { readRun } from "./run-rows.ts";
import { newUuidBytes, uuidBytes } from "./uuid.ts";
import { liveWorkerKey } from "./workers.ts";

const DUE = `
  select run_key as runKey, available_at as availableAt from holdfast_runs
  where lane_id = ? and suspect = ? and available_at <= ? order by available_at limit ?`;
const NEXT_DUE = `
  select min(available_at) as at from holdfast_runs where lane_id = ? and suspect = ? and available_at > ?`;
const HOLD = `
  update holdfast_runs set epoch = epoch + 1, held_by = ?, claim_id = ?, alone = ?, available_at = null, waiting_for = null,
    started_at = coalesce(started_at, ?), status = iif(status = ?, status, ?)
  where run_key = ?`;
const TAKEN_UNDER = "select run_key as runKey from holdfast_runs where held_by = ? and claim_id = ? order by run_key";

interface DueRun {
  readonly runKey: number;
  readonly availableAt: number;
}

interface Found {
  readonly taken: readonly DueRun[];
  readonly nextDueAt: number | null;
  readonly suspectDue: boolean;
}

const NOTHING: Found = { taken: [], nextDueAt: null, suspectDue: false };

export function claimRuns(call: Call, params: ClaimRunsParams): ClaimRunsResult {
  const { sql, now } = call;
  const workerKey = liveWorkerKey(call, params.workerId);
  if (workerKey === undefined) return answer(call, NOTHING, false);
  if (params.again) {
    const taken = sql.all<DueRun>(TAKEN_UNDER, workerKey, uuidBytes(params.claimId));
    if (taken.length > 0) return answer(call, { ...NOTHING, taken }, true);
  }
  const found = findDue(call, params, lanesOf(call, params));
  const claimId = newUuidBytes(params.claimId);
  const [compensating, running] = [statusCode("compensating"), statusCode("running")];
  for (const { runKey } of found.taken)
    sql.run(HOLD, workerKey, claimId, Number(params.solo), now, compensating, running, runKey);
  return answer(call, found, true);
}

/** Higher priorities first. */
function lanesOf(call: Call, { namespace, queues, handlers }: ClaimRunsParams): Lane[] {
  const served = new Set(handlers.map(({ workflow, version }) => `${workflow}\n${version}`));
  return call.catalog
    .lanesOf(namespace)
    .filter((lane) => queues.includes(lane.queue) && served.has(`${lane.workflow}\n${lane.version}`));
}

function findDue(call: Call, params: ClaimRunsParams, lanes: readonly Lane[]): Found {
  const { sql, now } = call;
  const limit = params.solo ? Math.min(1, params.limit) : params.limit;
  const taken: DueRun[] = [];
  let left = false;
  for (const group of byPriority(lanes)) {
    const room = limit - taken.length;
    // One more than there is room for, to know whether some are left.
    const due = group.flatMap(({ laneId }) => sql.all<DueRun>(DUE, laneId, Number(params.solo), now, room + 1));
    due.sort((a, b) => a.availableAt - b.availableAt || a.runKey - b.runKey);
    taken.push(...due.slice(0, room));
    left = due.length > room;
    if (left) break;
  }
  const suspectDue = !params.solo && lanes.some(({ laneId }) => sql.all(DUE, laneId, 1, now, 1).length > 0);
  return { taken, nextDueAt: left ? now : nextDue(call, lanes), suspectDue };
}

function byPriority(lanes: readonly Lane[]): Lane[][] {
  const groups = new Map<number, Lane[]>();
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

function answer(call: Call, found: Found, live: boolean): ClaimRunsResult {
  const runs = found.taken.map(({ runKey }) => readRun(call, runKey));
  const messages = found.taken.flatMap(({ runKey }, i) => {
    const run = runs[i];
    return run && run.delivered > run.consumed ? unconsumed(call, runKey, run.consumed) : [];
  });
  const { nextDueAt, suspectDue } = found;
  return { live, runs, messages, now: call.now, nextDueAt, suspectDue };
}
