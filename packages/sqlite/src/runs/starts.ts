import {
  type Attributes,
  creationTime,
  deadlineFrom,
  firstDueTime,
  isDue,
  judgeStart,
  type NewRun,
  type NewRunDecisions,
  newRunRow,
  type StartOutcome,
  type StartRun,
  type StartRunsParams,
  type StartRunsResult,
  startTime,
  takenRunId,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { isClosedCode, statusCode } from "../database/codes.ts";
import { blob } from "../database/driver.ts";
import { newSharedUuidBytes, newUuidBytes, uuidText } from "../database/uuid.ts";
import { VersionChoice } from "../versions.ts";
import { liveWorker } from "../workers.ts";
import { terminate } from "./interventions.ts";
import { readRow } from "./run-rows.ts";
import { announceDue, keyOf, newestKey, type StateRow, stateByKey } from "./run-state.ts";

const INSERT_RUN = `
  insert into holdfast_runs (run_id, chain_key, lane_id, namespace_key, workflow_key, status, epoch, commit_no, event_count,
    delivered, consumed, held_by, claim_id, available_at, created_at, started_at, deadline_at, deaths, alone_deaths, alone,
    suspect, attributes)
  values (?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?)
  on conflict (run_id) do nothing`;
const INSERT_START = `
  insert into holdfast_run_starts (run_key, namespace_key, id, seed, first_run_id, continued_from, timeout_ms, input)
  values (?, ?, ?, ?, ?, ?, ?, ?)`;
const FIRST_RUN_ID = "select first_run_id as id from holdfast_run_starts where run_key = ?";
const INSERT_ATTRIBUTE = "insert into holdfast_attributes (run_key, name, value) values (?, ?, ?)";

export interface Holding {
  /** The worker's namespace: it holds no runs of other namespaces. */
  readonly namespace: string;
  /** The key of a worker. */
  readonly workerKey: number;
  readonly claimId: Uint8Array;
  /** The ids as text, for the answer. */
  readonly texts: { readonly workerId: string; readonly claimId: string };
}

export function startRuns(call: Call, params: StartRunsParams): StartRunsResult {
  const holding = params.holdBy ? holdingOf(call, params.holdBy) : null;
  const shared: Shared = { holding, replaceError: params.replaceError, versions: new VersionChoice(call) };
  return { outcomes: params.starts.map((start) => startRun(call, start, shared)), now: call.now };
}

/** Null if the worker is offline: its starts then wait for another worker. */
function holdingOf(call: Call, holdBy: NonNullable<StartRunsParams["holdBy"]>): Holding | null {
  const worker = liveWorker(call, holdBy.workerId);
  if (!worker) return null;
  const { workerKey, namespace } = worker;
  const claimId = newUuidBytes(holdBy.claimId);
  return {
    namespace,
    workerKey,
    claimId,
    texts: { workerId: call.catalog.workerId(workerKey), claimId: uuidText(claimId) },
  };
}

/** What the starts of one call have in common. */
interface Shared extends Pick<StartRunsParams, "replaceError"> {
  readonly holding: Holding | null;
  readonly versions: VersionChoice;
}

function startRun(call: Call, start: StartRun, { holding, replaceError, versions }: Shared): StartOutcome {
  const { run } = start;
  const otherKey = newestKey(call, run.namespace, run.id);
  // If an earlier copy of this start created a run, that run has the id: if no run has the id, there is nothing to look for.
  const mine = otherKey === null ? null : keyOf(call, run);
  if (mine !== null) return { outcome: "created", run: readRow(call, mine) };
  const other = otherKey === null ? null : stateByKey(call, otherKey);
  if (other) {
    const judged = judgeStart({ closed: isClosedCode(other.status) }, start);
    if (judged === "returned" || judged === "exists") return { outcome: judged, run: readRow(call, other.runKey) };
    if (judged === "replace") terminate(call, other, replaceError);
  }
  const version = versions.of(start);
  const inserted = insertRun(call, run, version, other, { holding: start.hold ? holding : null });
  if (inserted) return { outcome: "created", run: newRunRow(run, decisions(call, version, inserted)) };
  // The run id belongs to a run with another id, or even in another namespace.
  const taken = keyOf(call, run);
  if (taken === null) throw takenRunId(run.runId);
  return { outcome: "created", run: readRow(call, taken) };
}

function decisions({ now }: Call, version: string, inserted: Inserted): NewRunDecisions {
  const { createdAt, deadlineAt, dueAt, holding } = inserted;
  return { version, createdAt, deadlineAt, availableAt: holding ? null : dueAt, holder: holding?.texts ?? null, now };
}

interface InsertOptions {
  /** Claimed in the same step, if it is due at once. */
  readonly holding?: Holding | null;
  /** The run that continues as this one. */
  readonly from?: StateRow;
}

interface Inserted {
  readonly runKey: number;
  readonly createdAt: number;
  readonly deadlineAt: number | null;
  readonly dueAt: number;
  readonly holding: Holding | null;
}

/** Creates a run; `previous` is the newest run of its id. Null: the run id is taken, and nothing was written. */
export function insertRun(
  call: Call,
  run: NewRun,
  version: string,
  previous: StateRow | null,
  options: InsertOptions,
): Inserted | null {
  const { sql, catalog, now } = call;
  const { from } = options;
  const namespaceKey = catalog.nameKey(run.namespace);
  const workflowKey = catalog.nameKey(run.workflow);
  const laneId = catalog.laneId(run, version);
  const createdAt = creationTime(now, previous);
  const deadlineAt = deadlineFrom(createdAt, run.timeoutMs);
  const dueAt = Math.ceil(firstDueTime(run, deadlineAt, now));
  const mayHold = options.holding?.namespace === run.namespace && isDue(dueAt, now);
  const holding = (mayHold && options.holding) || null;
  const runKey = sql.insertIfNew(
    INSERT_RUN,
    ...[newSharedUuidBytes(run.runId), from?.chainKey ?? null, laneId, namespaceKey, workflowKey],
    ...[statusCode(holding ? "running" : "pending"), holding ? 1 : 0, holding?.workerKey ?? null],
    ...[holding?.claimId ?? null, holding ? null : dueAt],
    ...[createdAt, holding ? startTime(now, createdAt) : null, deadlineAt, attributesText(run.attributes)],
  );
  if (runKey === null) return null;
  const firstRunId = from ? firstRunIdOf(call, from) : null;
  sql.execute(
    INSERT_START,
    ...[
      runKey,
      namespaceKey,
      run.id,
      run.seed,
      firstRunId,
      from?.runId ?? null,
      run.timeoutMs ?? null,
      blob(run.input),
    ],
  );
  indexAttributes(call, runKey, run.attributes);
  if (!holding) announceDue(call, laneId, dueAt);
  return { runKey, createdAt, deadlineAt, dueAt, holding };
}

/** Read from the run itself: the first run may have been purged. */
function firstRunIdOf({ sql }: Call, { runKey, runId }: StateRow): Uint8Array {
  const start = sql.get<{ id: Uint8Array | null }>(FIRST_RUN_ID, runKey);
  return start?.id ?? runId;
}

function attributesText(attributes: Attributes): string | null {
  return Object.keys(attributes).length === 0 ? null : JSON.stringify(attributes);
}

function indexAttributes({ sql }: Call, runKey: number, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes))
    sql.execute(INSERT_ATTRIBUTE, runKey, name, JSON.stringify(value));
}

export function replaceAttributes(call: Call, runKey: number, attributes: Attributes): void {
  const { sql } = call;
  sql.run("update holdfast_runs set attributes = ? where run_key = ?", attributesText(attributes), runKey);
  sql.run("delete from holdfast_attributes where run_key = ?", runKey);
  indexAttributes(call, runKey, attributes);
}
