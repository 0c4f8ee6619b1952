import {
  type Attributes,
  creationTime,
  deadlineFrom,
  firstDueTime,
  isDue,
  judgeParent,
  judgeStart,
  type NewRun,
  type NewRunDecisions,
  newRunRow,
  type RefusedStart,
  type StartOutcome,
  type StartParent,
  type StartRun,
  type StartRunsParams,
  type StartRunsResult,
  startTime,
  takenRunId,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { hasTie, isClosedCode, statusCode, TIES } from "../database/codes.ts";
import type { KnownHold } from "../database/known-holds.ts";
import { newSharedUuidBytes, newUuidBytes, uuidText } from "../database/uuid.ts";
import { addChild, inheritedTies, inheritLineage, isGivenUp, lineageOf } from "../debts/debt-state.ts";
import { deliverWithStart, mayHaveHad } from "../inbox.ts";
import { isAllowed } from "../namespaces.ts";
import { Backlogs } from "../queues/backlog.ts";
import { VersionChoice } from "../versions.ts";
import { liveWorker } from "../workers.ts";
import { terminate } from "./interventions.ts";
import { newestKeys } from "./newest-keys.ts";
import { readRow } from "./run-rows.ts";
import { announceDue, keyOf, newestKey, noteTied, type StateRow, stateByKey, stateOf } from "./run-state.ts";
import { StartRows } from "./start-rows.ts";

const INSERT_RUN = `
  insert into holdfast_runs (run_id, chain_key, lane_id, namespace_key, workflow_key, status, epoch, commit_no, event_count,
    delivered, consumed, held_by, claim_id, available_at, created_at, started_at, deadline_at, deaths, alone_deaths, alone,
    suspect, attributes, ties)
  values (?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?, ?)
  on conflict (run_id) do nothing`;
const FIRST_RUN_ID = "select first_run_id as id from holdfast_run_starts where run_key = ?";
const LIMITED_LANE = "select limited_id from holdfast_lanes where lane_id = ?";
const INSERT_KEY = "insert into holdfast_run_keys (run_key, key) values (?, ?)";
const INSERT_ATTRIBUTE = "insert into holdfast_attributes (run_key, name, value) values (?, ?, ?)";

const MOVED = statusCode("moved");
const PENDING = statusCode("pending");
const RUNNING = statusCode("running");

export interface Holding {
  /** The worker's namespace: it holds no runs of other namespaces. */
  readonly namespace: string;
  /** The key of a worker. */
  readonly workerKey: number;
  readonly claimId: Uint8Array;
  /** Whether any queue has limits. */
  readonly someLimits: boolean;
  /** See known-holds.ts. */
  readonly taken: number;
  /** The ids as text, for the answer. */
  readonly texts: { readonly workerId: string; readonly claimId: string };
}

export function startRuns(call: Call, params: StartRunsParams): StartRunsResult {
  const holding = params.holdBy ? holdingOf(call, params.holdBy) : null;
  const { replaceError, inboxMax = Number.POSITIVE_INFINITY } = params;
  const newest = newestKeys(call, params.starts);
  const backlogs = params.bounded ? new Backlogs(holding?.someLimits) : null;
  if (newest) backlogs?.note((params.starts[0] as StartRun).run, newest.limited);
  const [versions, rows] = [new VersionChoice(call), new StartRows(call.sql)];
  const shared: Shared = { holding, replaceError, inboxMax, backlogs, versions, newest: newest?.keys, rows };
  const outcomes = params.starts.map((start) => startRun(call, start, shared));
  rows.flush();
  return { outcomes, now: call.now };
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
    someLimits: worker.someLimits === 1,
    taken: worker.taken,
    texts: { workerId: call.catalog.workerId(workerKey), claimId: uuidText(claimId) },
  };
}

/** What the starts of one call have in common. */
interface Shared extends Pick<StartRunsParams, "replaceError"> {
  readonly inboxMax: number;
  /** Null: the backlogs of queues do not count. */
  readonly backlogs: Backlogs | null;
  readonly holding: Holding | null;
  readonly versions: VersionChoice;
  /** The newest runs of their ids, if that was read for all of them. */
  readonly newest: ReadonlyMap<string, number> | undefined;
  readonly rows: StartRows;
}

function newestOf(call: Call, { namespace, id, queue }: NewRun, { newest, backlogs }: Shared): number | null {
  if (newest) return newest.get(id) ?? null;
  return backlogs ? backlogs.newestKey(call, { namespace, id, queue }) : newestKey(call, namespace, id);
}

function startRun(call: Call, start: StartRun, shared: Shared): StartOutcome | RefusedStart {
  const { run, parent } = start;
  const { backlogs } = shared;
  const otherKey = newestOf(call, run, shared);
  // If an earlier copy of this start created a run, that run has the id: if no run has the id, there is nothing to look for.
  const mine = otherKey === null && !parent ? null : keyOf(call, run);
  if (mine !== null) return found(call, "created", mine, start, shared);
  const parentRow = parent && stateOf(call, parent.parent.namespace, parent.parent.runId);
  const refused = parent && refusal(call, start, parent, parentRow);
  if (refused) return refused;
  const other = otherKey === null ? null : stateByKey(call, otherKey);
  if (other) shared.rows.flush();
  let owes = false;
  let replaces = false;
  if (other) {
    const [first] = start.messages ?? [];
    const isKnown = (): boolean => first !== undefined && mayHaveHad(call, other, first.messageId);
    const judged = judgeStart({ closed: isClosedCode(other.status), moved: other.status === MOVED }, start, isKnown);
    if (judged === "exists") return { outcome: judged, run: readRow(call, other.runKey) };
    if (judged === "returned") return found(call, judged, other.runKey, start, shared);
    replaces = judged === "replace";
    if (replaces) owes = hasTie(terminate(call, other, shared.replaceError), TIES.owes);
  }
  if (!replaces && backlogs?.isFull(call, run)) return { outcome: "queue_full", run: null };
  const created = create(call, start, other, parentRow, shared);
  return owes && other ? { ...created, owes: { runId: uuidText(other.runId) } } : created;
}

function create(
  call: Call,
  start: StartRun,
  previous: StateRow | null,
  parentRow: StateRow | undefined,
  shared: Shared,
): StartOutcome {
  const { run, parent } = start;
  const version = shared.versions.of(start);
  const holding = start.hold ? shared.holding : null;
  const limited = holding ? shared.backlogs?.isLimited(call, run) : undefined;
  const options = { holding, limited, ties: parent ? TIES.lineage : null, rows: shared.rows };
  const inserted = insertRun(call, run, version, previous, options);
  // The run id belongs to a run with another id, or even in another namespace.
  const runKey = inserted?.runKey ?? keyOf(call, run);
  if (runKey === null) throw takenRunId(run.runId);
  if (inserted && parent && parentRow) {
    addChild(call, parentRow, { runKey, createdAt: inserted.createdAt, ...run }, parent);
    noteTied(call, parentRow);
  }
  if (!inserted || start.messages) return found(call, "created", runKey, start, shared);
  return { outcome: "created", run: newRunRow(run, decisions(call, version, inserted, parent)) };
}

/** The answer about a run that is there, with what becomes of the messages of the start. */
function found(
  call: Call,
  outcome: StartOutcome["outcome"],
  runKey: number,
  { messages }: StartRun,
  { inboxMax, rows }: Shared,
): StartOutcome {
  rows.flush();
  if (messages === undefined) return { outcome, run: readRow(call, runKey) };
  const delivered = deliverWithStart(call, runKey, messages, inboxMax);
  return { outcome, run: readRow(call, runKey), messages: delivered };
}

function refusal(
  call: Call,
  { run }: StartRun,
  { parent }: StartParent,
  row: StateRow | undefined,
): RefusedStart | undefined {
  const allowed = isAllowed(call, run.namespace, parent.namespace);
  const givenUp = row !== undefined && isGivenUp(call, row, run.runId);
  const judged = judgeParent(row && { closed: isClosedCode(row.status) }, givenUp, allowed);
  return judged === "go_on" ? undefined : { outcome: judged, run: null };
}

function decisions(
  { now }: Call,
  version: string,
  inserted: Inserted,
  parent: StartParent | undefined,
): NewRunDecisions {
  const { createdAt, deadlineAt, dueAt, holding } = inserted;
  const availableAt = holding ? null : dueAt;
  const lineage = parent && lineageOf(parent);
  return { version, createdAt, deadlineAt, availableAt, holder: holding?.texts ?? null, now, lineage };
}

interface InsertOptions {
  /** Claimed in the same step, if it is due at once. */
  readonly holding?: Holding | null;
  /** Whether its queue has limits, if that is known. */
  readonly limited?: boolean | undefined;
  /** The run that continues as this one. */
  readonly from?: StateRow;
  /** What the new run has to do with others; a continuation has inherited that. */
  readonly ties?: number | null;
  /** Where its start is written later, with those of others. */
  readonly rows?: StartRows;
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
  const mayHold =
    options.holding?.namespace === run.namespace &&
    isDue(dueAt, now) &&
    !(options.limited ?? isLimited(call, options.holding, laneId));
  const holding = (mayHold && options.holding) || null;
  const ties = from ? inheritedTies(from) : (options.ties ?? null);
  const attributes = attributesText(run.attributes);
  const runKey = sql.insertIfNew(
    INSERT_RUN,
    newSharedUuidBytes(run.runId),
    from?.chainKey ?? null,
    laneId,
    namespaceKey,
    workflowKey,
    holding ? RUNNING : PENDING,
    holding ? 1 : 0,
    holding?.workerKey ?? null,
    holding?.claimId ?? null,
    holding ? null : dueAt,
    createdAt,
    holding ? startTime(now, createdAt) : null,
    deadlineAt,
    attributes,
    run.key === undefined ? ties : (ties ?? 0) | TIES.key,
  );
  if (runKey === null) return null;
  const firstRunId = from ? firstRunIdOf(call, from) : null;
  const rows = options.rows ?? new StartRows(sql);
  rows.add(run, runKey, namespaceKey, firstRunId, from?.runId ?? null);
  if (!options.rows) rows.flush();
  if (attributes !== null) indexAttributes(call, runKey, run.attributes);
  if (run.key !== undefined) sql.execute(INSERT_KEY, runKey, run.key);
  if (from) inheritLineage(call, from, { runKey, createdAt });
  if (holding)
    noteHold(call, run, holding, { runKey, laneId, deadlineAt, plain: ties === null && run.key === undefined });
  else announceDue(call, laneId, dueAt);
  return { runKey, createdAt, deadlineAt, dueAt, holding };
}

function noteHold(call: Call, run: NewRun, { taken, texts }: Holding, known: NewHold): void {
  // No spreads: this is created for every run.
  call.holds.note(run.runId, {
    runKey: known.runKey,
    namespace: run.namespace,
    workerId: texts.workerId,
    taken,
    epoch: 1,
    commit: 0,
    delivered: 0,
    eventCount: 0,
    status: RUNNING,
    laneId: known.laneId,
    deadlineAt: known.deadlineAt,
    plain: known.plain,
  });
}

type NewHold = Pick<KnownHold, "runKey" | "laneId" | "deadlineAt" | "plain">;

/** Runs of a queue with limits are held when they get a place. If no queue has any, this costs nothing. */
function isLimited({ sql }: Call, { someLimits }: Holding, laneId: number): boolean {
  return someLimits && sql.columns(LIMITED_LANE, laneId)?.[0] !== null;
}

/** Read from the run itself: the first run may have been purged. */
function firstRunIdOf({ sql }: Call, { runKey, runId }: StateRow): Uint8Array {
  const start = sql.get<{ id: Uint8Array | null }>(FIRST_RUN_ID, runKey);
  return start?.id ?? runId;
}

export function attributesText(attributes: Attributes): string | null {
  return Object.keys(attributes).length === 0 ? null : JSON.stringify(attributes);
}

export function indexAttributes({ sql }: Call, runKey: number, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes))
    sql.execute(INSERT_ATTRIBUTE, runKey, name, JSON.stringify(value));
}

export function replaceAttributes(call: Call, runKey: number, attributes: Attributes): void {
  const { sql } = call;
  sql.run("update holdfast_runs set attributes = ? where run_key = ?", attributesText(attributes), runKey);
  sql.run("delete from holdfast_attributes where run_key = ?", runKey);
  indexAttributes(call, runKey, attributes);
}
