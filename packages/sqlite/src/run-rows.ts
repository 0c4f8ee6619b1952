import type { Attributes, CompensationOutcome, ErrorRecord, Payload, Run, RunRow } from "holdfast/adapter";
import type { Call } from "./call.ts";
import { statusName } from "./codes.ts";
import { uuidText, uuidTextOrNull } from "./uuid.ts";

// Lanes and workers come from the catalog: every join and every column of a read costs time, and a claim reads hundreds.
const ROW = `
  r.run_id as runId, r.lane_id as laneId, r.status, r.epoch, r.commit_no as "commit", r.held_by as heldBy,
  r.claim_id as claimId, r.available_at as availableAt, r.event_count as eventCount, r.delivered, r.consumed, r.deaths,
  r.alone_deaths as aloneDeaths, r.alone, r.suspect, r.created_at as createdAt, r.started_at as startedAt,
  r.ended_at as endedAt, r.deadline_at as deadlineAt, r.waiting_for as waitingFor, r.attributes,
  s.id, s.seed, s.first_run_id as firstRunId, s.continued_from as continuedFrom,
  e.continued_as as continuedAs, e.compensation`;

const FROM = `
  from holdfast_runs r join holdfast_run_starts s on s.run_key = r.run_key
  left join holdfast_run_ends e on e.run_key = r.run_key
  where r.run_key = ?`;

const SELECT_ROW = `select ${ROW} ${FROM}`;
const SELECT_RUN = `select ${ROW}, s.input, e.output, e.error ${FROM}`;

interface StoredRow {
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
  readonly waitingFor: string | null;
  readonly heldBy: number | null;
  readonly id: string;
  readonly seed: string;
  readonly firstRunId: Uint8Array | null;
  readonly continuedFrom: Uint8Array | null;
  readonly continuedAs: Uint8Array | null;
  readonly compensation: CompensationOutcome | null;
  readonly attributes: string | null;
}

interface StoredRun extends StoredRow {
  readonly input: Payload;
  readonly output: Payload | null;
  readonly error: string | null;
}

/** The row without the payloads. The key must exist. */
export function readRow(call: Call, runKey: number): RunRow {
  return toRow(call, call.sql.get<StoredRow>(SELECT_ROW, runKey) as StoredRow);
}

/** The key must exist. */
export function readRun(call: Call, runKey: number): Run {
  const stored = call.sql.get<StoredRun>(SELECT_RUN, runKey) as StoredRun;
  const { input, output, error } = stored;
  return { ...toRow(call, stored), input, output, error: error === null ? null : (JSON.parse(error) as ErrorRecord) };
}

function toRow({ catalog }: Call, stored: StoredRow): RunRow {
  const runId = uuidText(stored.runId);
  const lane = catalog.lane(stored.laneId);
  return {
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
    attributes: stored.attributes === null ? NO_ATTRIBUTES : (JSON.parse(stored.attributes) as Attributes),
    waitingFor: stored.waitingFor === null ? [] : (JSON.parse(stored.waitingFor) as string[]),
    compensation: stored.compensation,
    continuedFrom: uuidTextOrNull(stored.continuedFrom),
    continuedAs: uuidTextOrNull(stored.continuedAs),
  };
}

const NO_ATTRIBUTES: Attributes = Object.freeze({});
