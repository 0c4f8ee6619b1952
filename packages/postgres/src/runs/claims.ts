import type {
  Attributes,
  ClaimRunsParams,
  ClaimRunsResult,
  CompensationOutcome,
  ErrorRecord,
  Message,
  MessageKind,
  Payload,
  Run,
  RunStatus,
  TakeUpParams,
  TakeUpResult,
} from "holdfast/adapter";
import * as binary from "../database/binary-array.ts";
import { eventTypeCode, jsonBytes, jsonOf } from "../database/codes.ts";
import type { Row } from "../database/driver.ts";
import type { Server } from "../database/server.ts";
import { callOf } from "../database/server-call.ts";
import { withKey, withOrigin } from "./run-rows.ts";

export const CLAIM = callOf<ClaimRunsParams>("claim_runs", {
  p_worker: ({ workerId }) => workerId,
  p_claim: ({ claimId }) => claimId,
  p_again: ({ again }) => again,
  p_namespace: ({ namespace }) => namespace,
  p_queues: ({ queues }) => binary.textArray(queues),
  p_workflows: ({ handlers }) => binary.textArray(handlers, (handler) => handler.workflow),
  p_versions: ({ handlers }) => binary.textArray(handlers, (handler) => handler.version),
  p_limit: ({ limit }) => limit,
  p_solo: ({ solo }) => solo,
});

const HOLD_PARKED = callOf<TakeUpParams>("hold_parked", {
  p_worker: ({ workerId }) => workerId,
  p_claim: ({ claimId }) => claimId,
  p_namespace: ({ namespace }) => namespace,
  p_queues: ({ queues }) => binary.textArray(queues),
  p_workflows: ({ handlers }) => binary.textArray(handlers, ({ workflow }) => workflow),
  p_versions: ({ handlers }) => binary.textArray(handlers, ({ version }) => version),
  p_codes: ({ handlers }) => binary.textArray(handlers, ({ code }) => code),
  p_limit: ({ limit }) => limit,
  p_type: ({ event }) => eventTypeCode(event.type),
  p_meta: ({ event }) => (event.meta === undefined ? null : jsonBytes(event.meta)),
});

export async function claimRuns(server: Server, params: ClaimRunsParams): Promise<ClaimRunsResult> {
  return claimResult(params, await server.write(CLAIM, params));
}

export async function holdRunsIfParkedByOtherCode(server: Server, params: TakeUpParams): Promise<TakeUpResult> {
  const row = await server.writeOne(HOLD_PARKED, params);
  return { live: row.o_live as boolean, taken: row.o_taken as number, more: row.o_more as boolean };
}

type Lane = Pick<Run, "workflow" | "version" | "queue" | "priority">;

/** One row for each claimed run, and a last one with the overall state. */
function claimResult(params: ClaimRunsParams, rows: readonly Row[]): ClaimRunsResult {
  const runs: Run[] = [];
  const messages: Message[] = [];
  const stand = rows.at(-1);
  const lanes = stand?.lanes as Readonly<Record<number, Lane>>;
  for (const row of rows) {
    if (row.run_id === null) continue;
    if (row.run_id !== runs.at(-1)?.runId) runs.push(claimedRun(params, row, lanes[row.lane_id as number] as Lane));
    if (row.m_number !== null) messages.push(messageIn(row));
  }
  return {
    live: stand?.live as boolean,
    runs,
    messages,
    now: stand?.now as number,
    moreDue: stand?.more_due as boolean,
    nextDueAt: stand?.next_due_at as number | null,
    suspectDue: stand?.suspect_due as boolean,
  };
}

function messageIn(row: Row): Message {
  return {
    runId: row.run_id as string,
    number: row.m_number as number,
    kind: row.m_kind as MessageKind,
    name: row.m_name as string,
    messageId: row.m_id as string,
    payload: row.m_payload as Payload,
    at: row.m_at as number,
  };
}

const NO_ATTRIBUTES: Attributes = Object.freeze({});

/** Field by field, for speed: a busy worker claims thousands of runs a second. */
function claimedRun({ namespace, workerId, claimId, solo }: ClaimRunsParams, row: Row, lane: Lane): Run {
  const runId = row.run_id as string;
  const run: Run = {
    namespace,
    runId,
    id: row.id as string,
    firstRunId: (row.chain_id as string | null) ?? runId,
    workflow: lane.workflow,
    version: lane.version,
    queue: lane.queue,
    priority: lane.priority,
    seed: (row.seed as string | null) ?? runId,
    status: row.status as RunStatus,
    epoch: row.epoch as number,
    commit: row.commit_no as number,
    heldBy: workerId,
    claimId,
    availableAt: null,
    eventCount: row.event_count as number,
    delivered: row.delivered as number,
    consumed: row.consumed as number,
    deaths: row.deaths as number,
    aloneDeaths: row.alone_deaths as number,
    alone: solo,
    suspect: row.suspect as boolean,
    createdAt: row.created_at as number,
    startedAt: row.started_at as number,
    endedAt: null,
    deadlineAt: row.deadline_at as number | null,
    timeoutMs: row.timeout_ms as number | null,
    attributes: (row.attributes as Attributes | null) ?? NO_ATTRIBUTES,
    waitingFor: [],
    compensation: row.compensation as CompensationOutcome | null,
    continuedFrom: row.continued_from as string | null,
    continuedAs: null,
    input: row.input as Payload,
    output: null,
    error: jsonOf<ErrorRecord>(row.error),
  };
  return withKey(row.lineage === null ? run : withOrigin(run, row.lineage), row.key as string | null);
}
