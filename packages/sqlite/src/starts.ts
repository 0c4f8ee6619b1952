import type { Attributes, NewRun, StartOutcome, StartRun, StartRunsParams, StartRunsResult } from "holdfast/adapter";
import type { Call } from "./call.ts";
import { isClosedCode, statusCode } from "./codes.ts";
import { readRow } from "./run-rows.ts";
import {
  announceIfDue,
  announceTaken,
  dueTime,
  endRun,
  keyOf,
  newestKey,
  raiseEpoch,
  type StateRow,
  stateByKey,
} from "./run-state.ts";
import { newUuidBytes } from "./uuid.ts";
import { pickVersion } from "./versions.ts";
import { liveWorkerKey } from "./workers.ts";

const INSERT_RUN = `
  insert into holdfast_runs (run_id, chain_key, lane_id, namespace_key, workflow_key, status, epoch, commit_no, event_count,
    delivered, consumed, held_by, claim_id, available_at, created_at, started_at, deadline_at, deaths, alone_deaths, alone,
    suspect, attributes)
  values (?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?)`;
const INSERT_START = `
  insert into holdfast_run_starts (run_key, namespace_key, id, seed, first_run_id, continued_from, input)
  values (?, ?, ?, ?, ?, ?, ?)`;
const FIRST_RUN_ID = "select first_run_id as id from holdfast_run_starts where run_key = ?";
const INSERT_ATTRIBUTE = "insert into holdfast_attributes (run_key, name, value) values (?, ?, ?)";

export interface Holding {
  /** The key of a worker. */
  readonly workerKey: number;
  readonly claimId: Uint8Array;
}

export function startRuns(call: Call, params: StartRunsParams): StartRunsResult {
  const { holdBy } = params;
  const workerKey = holdBy ? liveWorkerKey(call, holdBy.workerId) : undefined;
  const holding = holdBy && workerKey !== undefined ? { workerKey, claimId: newUuidBytes(holdBy.claimId) } : null;
  return { outcomes: params.starts.map((start) => startRun(call, start, params, holding)), now: call.now };
}

function startRun(call: Call, start: StartRun, params: StartRunsParams, holding: Holding | null): StartOutcome {
  const { run, ifRunning, ifClosed } = start;
  const mine = keyOf(call, { runId: run.runId });
  if (mine !== null) return { outcome: "created", run: readRow(call, mine) };
  const otherKey = newestKey(call, run.namespace, run.id);
  const other = otherKey === null ? null : stateByKey(call, otherKey);
  if (other) {
    const policy = isClosedCode(other.status) ? ifClosed : ifRunning;
    if (policy === "return") return { outcome: "returned", run: readRow(call, other.runKey) };
    if (policy === "fail") return { outcome: "exists", run: readRow(call, other.runKey) };
    if (policy === "replace") {
      announceTaken(call, other);
      raiseEpoch(call, other);
      endRun(call, other, { status: "terminated", output: null, error: params.replaceError });
    }
  }
  const version = pickVersion(call, start);
  const runKey = insertRun(call, { ...run, version }, other, { holding: start.hold ? holding : null });
  return { outcome: "created", run: readRow(call, runKey) };
}

interface InsertOptions {
  /** Claimed in the same step, if it is due at once. */
  readonly holding?: Holding | null;
  /** The run that continues as this one. */
  readonly from?: StateRow;
}

/** Creates a run; `previous` is the newest run of its id. Answers its key. */
export function insertRun(call: Call, run: NewRun, previous: StateRow | null, options: InsertOptions): number {
  const { sql, catalog, now } = call;
  const { from } = options;
  const runId = newUuidBytes(run.runId);
  const namespaceKey = catalog.nameKey(run.namespace);
  const workflowKey = catalog.nameKey(run.workflow);
  const laneId = catalog.laneId(run);
  const createdAt = previous ? Math.max(now, previous.createdAt + 1) : now;
  const deadlineAt = run.timeoutMs === undefined ? null : createdAt + run.timeoutMs;
  const dueAt = dueTime(Math.max(run.startAt ?? now, now + (run.startDelayMs ?? 0)), deadlineAt) as number;
  const holding = options.holding && dueAt <= now ? options.holding : null;
  const runKey = sql.insert(
    INSERT_RUN,
    ...[runId, from?.chainKey ?? null, laneId, namespaceKey, workflowKey, statusCode(holding ? "running" : "pending")],
    ...[holding ? 1 : 0, holding?.workerKey ?? null, holding?.claimId ?? null, holding ? null : dueAt],
    ...[createdAt, holding ? now : null, deadlineAt, attributesText(run.attributes)],
  );
  const firstRunId = from ? firstRunIdOf(call, from) : null;
  sql.run(INSERT_START, runKey, namespaceKey, run.id, run.seed, firstRunId, from?.runId ?? null, run.input);
  indexAttributes(call, runKey, run.attributes);
  if (!holding) announceIfDue(call, laneId, dueAt);
  return runKey;
}

/** From the run itself: the first one may have been purged. */
function firstRunIdOf({ sql }: Call, { runKey, runId }: StateRow): Uint8Array {
  const start = sql.get<{ id: Uint8Array | null }>(FIRST_RUN_ID, runKey);
  return start?.id ?? runId;
}

function attributesText(attributes: Attributes): string | null {
  return Object.keys(attributes).length === 0 ? null : JSON.stringify(attributes);
}

function indexAttributes({ sql }: Call, runKey: number, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes))
    sql.run(INSERT_ATTRIBUTE, runKey, name, JSON.stringify(value));
}

export function replaceAttributes(call: Call, runKey: number, attributes: Attributes): void {
  const { sql } = call;
  sql.run("update holdfast_runs set attributes = ? where run_key = ?", attributesText(attributes), runKey);
  sql.run("delete from holdfast_attributes where run_key = ?", runKey);
  indexAttributes(call, runKey, attributes);
}
