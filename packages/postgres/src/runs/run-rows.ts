import type {
  Attributes,
  CompensationOutcome,
  ErrorRecord,
  HistoryEvent,
  Lineage,
  ListedRun,
  Message,
  MessageKind,
  Payload,
  Run,
  RunRow,
  RunStatus,
  StartDefaults,
  VersionRow,
  WorkerAbout,
  WorkerLoad,
  WorkerRow,
  WorkerStatus,
} from "holdfast/adapter";
import { eventTypeName, jsonOf } from "../database/codes.ts";
import type { Row } from "../database/driver.ts";

export function runRowOf(row: Row): RunRow {
  const run: RunRow = {
    namespace: row.namespace as string,
    runId: row.run_id as string,
    id: row.id as string,
    firstRunId: row.chain_id as string,
    workflow: row.workflow as string,
    version: row.version as string,
    queue: row.queue as string,
    priority: row.priority as number,
    seed: row.seed as string,
    status: row.status as RunStatus,
    epoch: row.epoch as number,
    commit: row.commit_no as number,
    heldBy: row.held_by as string | null,
    claimId: row.claim_id as string | null,
    availableAt: row.available_at as number | null,
    eventCount: row.event_count as number,
    delivered: row.delivered as number,
    consumed: row.consumed as number,
    deaths: row.deaths as number,
    aloneDeaths: row.alone_deaths as number,
    alone: row.alone as boolean,
    suspect: row.suspect as boolean,
    createdAt: row.created_at as number,
    startedAt: row.started_at as number | null,
    endedAt: row.ended_at as number | null,
    deadlineAt: row.deadline_at as number | null,
    timeoutMs: row.timeout_ms as number | null,
    attributes: row.attributes as Attributes,
    waitingFor: row.waiting_for as string[],
    compensation: row.compensation as CompensationOutcome | null,
    continuedFrom: row.continued_from as string | null,
    continuedAs: row.continued_as as string | null,
  };
  return withKey(row.lineage === null ? run : withOrigin(run, row.lineage), row.key as string | null);
}

export function withKey<R extends RunRow>(run: R, key: string | null): R {
  return key === null ? run : { ...run, key };
}

/** Adds where it comes from: it is the child or the fork of another run. Not by a spread: see runOf in model/run.ts. */
export function withOrigin<R extends RunRow>(run: R, stored: unknown): R {
  const origin = stored as Lineage | Required<Pick<RunRow, "forkedFrom">>;
  return Object.assign(run, "forkedFrom" in origin ? origin : { lineage: origin });
}

export function listedRunOf(row: Row): ListedRun {
  const [kind, code] = (row.error_codes ?? []) as [ErrorRecord["kind"]?, (string | null)?];
  return {
    ...runRowOf(row),
    lastEventAt: row.last_event_at as number | null,
    error: kind === undefined ? null : code == null ? { kind } : { kind, code },
  };
}

export function runOf(row: Row): Run {
  return {
    ...runRowOf(row),
    input: row.input as Payload,
    output: row.output as Payload | null,
    error: jsonOf<ErrorRecord>(row.error),
  };
}

export function messageOf(row: Row): Message {
  return {
    runId: row.run_id as string,
    number: row.number as number,
    kind: row.kind as MessageKind,
    name: row.name as string,
    messageId: row.message_id as string,
    payload: row.payload as Payload,
    at: row.at as number,
  };
}

/** Messages, returned as one array per column. */
export function messagesOf(row: Row, runIds: (i: number) => string): Message[] {
  const column = <T>(name: string): T[] => (row[name] ?? []) as T[];
  const payloads = column<Payload>("m_payload");
  return column<number>("m_number").map((number, i) => ({
    runId: runIds(i),
    number,
    kind: column<MessageKind>("m_kind")[i] as MessageKind,
    name: column<string>("m_name")[i] as string,
    messageId: column<string>("m_id")[i] as string,
    payload: payloads[i] as Payload,
    at: column<number>("m_at")[i] as number,
  }));
}

export function eventOf(row: Row): HistoryEvent {
  const meta = jsonOf<NonNullable<HistoryEvent["meta"]>>(row.meta);
  return {
    seq: row.seq as number,
    type: eventTypeName(row.type as number),
    op: row.op as string | null,
    at: row.at as number,
    ...(row.payload === null ? {} : { payload: row.payload as Payload }),
    ...(meta === null ? {} : { meta }),
  };
}

export function workerOf(row: Row): WorkerRow {
  return {
    workerId: row.worker_id as string,
    namespace: row.namespace as string,
    name: row.name as string,
    ...(row.host === null ? {} : { host: row.host as string }),
    ...(row.pid === null ? {} : { pid: row.pid as number }),
    queues: row.queues as string[],
    workflows: row.workflows as string[],
    ...(row.tasks === null ? {} : { tasks: row.tasks as string[] }),
    labels: row.labels as Record<string, string>,
    about: row.about as WorkerAbout,
    load: row.load as WorkerLoad | null,
    drainAsked: row.drain_asked as boolean,
    status: row.status as WorkerStatus,
    leaseMs: row.lease_ms as number,
    activeRuns: row.active_runs as number,
    activeTasks: row.active_tasks as number,
    startedAt: row.started_at as number,
    heartbeatAt: row.heartbeat_at as number,
    leaseExpiresAt: row.lease_expires_at as number,
    stoppedAt: row.stopped_at as number | null,
    died: row.died as boolean,
  };
}

export function versionOf(row: Row): VersionRow {
  return {
    namespace: row.namespace as string,
    workflow: row.workflow as string,
    version: row.version as string,
    hash: row.hash as string,
    isDefault: row.is_default as boolean,
    share: row.share as number,
    deprecated: row.deprecated as boolean,
    registeredAt: row.registered_at as number,
    starts: row.starts === null ? null : (JSON.parse(row.starts as string) as StartDefaults),
  };
}
