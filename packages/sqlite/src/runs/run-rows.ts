import {
  type Attributes,
  type CompensationOutcome,
  type EndedRun,
  type ErrorRecord,
  endedRun,
  type Lineage,
  type ListedRun,
  listedError,
  type Payload,
  type Run,
  type RunRow,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { hasTie, statusName, TIES } from "../database/codes.ts";
import type { KnownHold } from "../database/known-holds.ts";
import { uuidOfHex, uuidText, uuidTextOrNull } from "../database/uuid.ts";
import { readLineage } from "../debts/debt-state.ts";
import { EVENT_COUNT } from "./run-state.ts";

// Lanes and workers come from the catalog: every join and every column costs time, and a claim reads hundreds of rows.
const ROW = `
  r.run_key as runKey, r.run_id as runId, r.lane_id as laneId, r.status, r.epoch, r.commit_no as "commit", r.held_by as heldBy,
  r.claim_id as claimId, r.available_at as availableAt, ${EVENT_COUNT} as eventCount, r.delivered, r.consumed, r.deaths,
  r.alone_deaths as aloneDeaths, r.alone, r.suspect, r.created_at as createdAt, r.started_at as startedAt,
  r.ended_at as endedAt, r.deadline_at as deadlineAt, r.waiting_for as waitingFor, r.attributes, r.ties,
  s.id, s.seed, s.first_run_id as firstRunId, s.continued_from as continuedFrom, s.timeout_ms as timeoutMs,
  e.continued_as as continuedAs, e.compensation`;

const FROM = `
  from holdfast_runs r join holdfast_run_starts s on s.run_key = r.run_key
  left join holdfast_run_ends e on e.run_key = r.run_key
  where r.run_key = ?`;

const SELECT_ROW = `select ${ROW} ${FROM}`;
/** Without the input, which may be large. */
const SELECT_END = `select ${ROW}, e.output, e.error ${FROM}`;
const LAST_EVENT_AT =
  "coalesce(e.tail_at, (select v.at from holdfast_events v where v.run_key = r.run_key order by v.seq desc limit 1))";
const SELECT_LISTED = `select ${ROW}, e.error, ${LAST_EVENT_AT} as lastEventAt ${FROM}`;
const SELECT_RUN = `select ${ROW}, s.input, e.output, e.error ${FROM}`;

interface StoredRow {
  readonly runKey: number;
  readonly runId: Uint8Array;
  readonly laneId: number;
  readonly status: number;
  readonly epoch: number;
  readonly commit: number;
  readonly claimId: Uint8Array | null;
  readonly availableAt: number | null;
  readonly eventCount: number;
  readonly delivered: number;
  readonly consumed: number;
  readonly deaths: number;
  readonly aloneDeaths: number;
  readonly alone: number;
  readonly suspect: number;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly deadlineAt: number | null;
  readonly timeoutMs: number | null;
  readonly waitingFor: string | null;
  readonly heldBy: number | null;
  readonly id: string;
  readonly seed: string;
  readonly firstRunId: Uint8Array | null;
  readonly continuedFrom: Uint8Array | null;
  readonly continuedAs: Uint8Array | null;
  readonly compensation: CompensationOutcome | null;
  readonly attributes: string | null;
  readonly ties: number | null;
}

interface StoredRun extends StoredRow {
  readonly input: Payload;
  readonly output: Payload | null;
  readonly error: string | null;
}

/** Leaves out what all held runs have in common, and `holdfast_run_ends`: a run's row there is deleted before the run is due again. */
const selectHeld = (eventCount: string): string => `
  select lower(hex(r.run_id)) as runId, r.lane_id, r.status, r.epoch, r.commit_no, ${eventCount}, r.delivered, r.consumed,
    r.deaths, r.alone_deaths, r.alone, r.suspect, r.created_at, r.started_at, r.deadline_at, r.attributes,
    s.id, s.seed, s.first_run_id, s.continued_from, s.timeout_ms, s.input, r.ties, r.parked_by is not null
  from holdfast_runs r join holdfast_run_starts s on s.run_key = r.run_key
  where r.run_key = ?`;

const SELECT_HELD = selectHeld(EVENT_COUNT);
/** Of a run that nobody held before this call: its row says how many events it has. */
const SELECT_TAKEN = selectHeld("r.event_count");

type HeldColumns = readonly [
  ...[runId: string, laneId: number, status: number, epoch: number, commit: number, eventCount: number],
  ...[delivered: number, consumed: number, deaths: number, aloneDeaths: number, alone: number, suspect: number],
  ...[createdAt: number, startedAt: number | null, deadlineAt: number | null, attributes: string | null],
  ...[id: string, seed: string, firstRunId: Uint8Array | null, continuedFrom: Uint8Array | null],
  ...[timeoutMs: number | null, input: Payload, ties: number | null, parked: number],
];

/** The row without the payloads. The key must exist. */
export function readRow(call: Call, runKey: number): RunRow {
  return toRow(call, call.sql.get<StoredRow>(SELECT_ROW, runKey) as StoredRow);
}

/** The same for a list. */
export function readListed(call: Call, runKey: number): ListedRun {
  type Listed = StoredRow & Pick<StoredRun, "error"> & Pick<ListedRun, "lastEventAt">;
  const stored = call.sql.get<Listed>(SELECT_LISTED, runKey) as Listed;
  const error = errorOf(stored.error);
  return { ...toRow(call, stored), lastEventAt: stored.lastEventAt, error: error && listedError(error) };
}

/** The key must exist. */
export function readRun(call: Call, runKey: number): Run {
  const stored = call.sql.get<StoredRun>(SELECT_RUN, runKey) as StoredRun;
  const { input, output, error } = stored;
  return { ...toRow(call, stored), input, output, error: errorOf(error) };
}

const NO_INPUT = new Uint8Array(0);

/** How a run that is closed has ended. The key must exist. */
export function readEnd(call: Call, runKey: number): { readonly end: EndedRun; readonly lineage: Lineage | undefined } {
  const stored = call.sql.get<Omit<StoredRun, "input">>(SELECT_END, runKey) as Omit<StoredRun, "input">;
  const row = toRow(call, stored);
  const end = endedRun({ ...row, input: NO_INPUT, output: stored.output, error: errorOf(stored.error) });
  return { end, lineage: row.lineage };
}

function errorOf(text: string | null): ErrorRecord | null {
  return text === null ? null : (JSON.parse(text) as ErrorRecord);
}

export interface Holder {
  readonly heldBy: string;
  readonly claimId: string;
  /** See known-holds.ts. */
  readonly taken: number;
  /** Whether it is this call that has taken the run. */
  readonly now: boolean;
}

/** A run that is still held under the claim. */
export function readHeldRun(call: Call, runKey: number, holder: Holder): Run {
  const [
    hex,
    laneId,
    status,
    epoch,
    commit,
    eventCount,
    delivered,
    consumed,
    deaths,
    aloneDeaths,
    alone,
    suspect,
    createdAt,
    startedAt,
    deadlineAt,
    attributes,
    id,
    seed,
    firstRunId,
    continuedFrom,
    timeoutMs,
    input,
    ties,
    parked,
  ] = call.sql.columns(holder.now ? SELECT_TAKEN : SELECT_HELD, runKey) as unknown as HeldColumns;
  const runId = uuidOfHex(hex);
  const lane = call.catalog.lane(laneId);
  const run: Run = {
    namespace: lane.namespace,
    runId,
    id,
    firstRunId: uuidTextOrNull(firstRunId) ?? runId,
    workflow: lane.workflow,
    version: lane.version,
    queue: lane.queue,
    priority: lane.priority,
    seed,
    status: statusName(status),
    epoch,
    commit,
    heldBy: holder.heldBy,
    claimId: holder.claimId,
    availableAt: null,
    eventCount,
    delivered,
    consumed,
    deaths,
    aloneDeaths,
    alone: alone === 1,
    suspect: suspect === 1,
    createdAt,
    startedAt,
    endedAt: null,
    deadlineAt,
    timeoutMs,
    attributes: attributesOf(attributes),
    waitingFor: [],
    compensation: null,
    continuedFrom: uuidTextOrNull(continuedFrom),
    continuedAs: null,
    input,
    output: null,
    error: null,
  };
  const plain = ties === null && deaths + aloneDeaths + alone + suspect + parked === 0;
  noteHeld(call, run, { runKey, laneId, status, taken: holder.taken, plain });
  return ties === null ? run : withOrigin(call, run, ties, runKey);
}

/** For the commits to it (known-holds.ts). */
function noteHeld(
  { holds }: Call,
  { namespace, runId, heldBy, epoch, commit, delivered, eventCount, deadlineAt }: Run,
  { runKey, laneId, status, taken, plain }: Pick<KnownHold, "runKey" | "laneId" | "status" | "taken" | "plain">,
): void {
  const workerId = heldBy as string;
  const hold = {
    runKey,
    namespace,
    workerId,
    taken,
    epoch,
    commit,
    delivered,
    eventCount,
    status,
    laneId,
    deadlineAt,
    plain,
  };
  holds.note(runId, hold);
}

const SELECT_KEY = "select key from holdfast_run_keys where run_key = ?";
const SELECT_FORK = "select origin_run_id as runId, origin_id as id from holdfast_forks where run_key = ?";

/** Adds where it comes from. Not by a spread: see runOf in model/run.ts. */
function withOrigin<R extends RunRow>(call: Call, run: R, ties: number, runKey: number): R {
  if (hasTie(ties, TIES.key)) {
    const [key] = call.sql.columns(SELECT_KEY, runKey) as readonly [string];
    return Object.assign(withOrigin(call, run, ties & ~TIES.key, runKey), { key });
  }
  if (hasTie(ties, TIES.lineage)) return Object.assign(run, { lineage: readLineage(call, runKey) });
  if (!hasTie(ties, TIES.forked)) return run;
  type Stored = { readonly runId: Uint8Array; readonly id: string };
  const { runId, id } = call.sql.get<Stored>(SELECT_FORK, runKey) as Stored;
  return Object.assign(run, { forkedFrom: { runId: uuidText(runId), id } });
}

function toRow(call: Call, stored: StoredRow): RunRow {
  const { catalog } = call;
  const runId = uuidText(stored.runId);
  const lane = catalog.lane(stored.laneId);
  const row: RunRow = {
    namespace: lane.namespace,
    runId,
    id: stored.id,
    firstRunId: uuidTextOrNull(stored.firstRunId) ?? runId,
    workflow: lane.workflow,
    version: lane.version,
    queue: lane.queue,
    priority: lane.priority,
    seed: stored.seed,
    status: statusName(stored.status),
    epoch: stored.epoch,
    commit: stored.commit,
    heldBy: stored.heldBy === null ? null : catalog.workerId(stored.heldBy),
    claimId: uuidTextOrNull(stored.claimId),
    availableAt: stored.availableAt,
    eventCount: stored.eventCount,
    delivered: stored.delivered,
    consumed: stored.consumed,
    deaths: stored.deaths,
    aloneDeaths: stored.aloneDeaths,
    alone: stored.alone === 1,
    suspect: stored.suspect === 1,
    createdAt: stored.createdAt,
    startedAt: stored.startedAt,
    endedAt: stored.endedAt,
    deadlineAt: stored.deadlineAt,
    timeoutMs: stored.timeoutMs,
    attributes: attributesOf(stored.attributes),
    waitingFor: stored.waitingFor === null ? [] : (JSON.parse(stored.waitingFor) as string[]),
    compensation: stored.compensation,
    continuedFrom: uuidTextOrNull(stored.continuedFrom),
    continuedAs: uuidTextOrNull(stored.continuedAs),
  };
  return stored.ties === null ? row : withOrigin(call, row, stored.ties, stored.runKey);
}

const NO_ATTRIBUTES: Attributes = Object.freeze({});

function attributesOf(text: string | null): Attributes {
  return text === null ? NO_ATTRIBUTES : (JSON.parse(text) as Attributes);
}
