import {
  HoldfastError,
  type NewRun,
  type RunRow,
  type StartOutcome,
  type StartRunsParams,
  type StartRunsResult,
} from "holdfast/adapter";
import * as binary from "./binary-array.ts";
import { jsonBytes } from "./codes.ts";
import { dataValues } from "./commits.ts";
import type { Row } from "./driver.ts";
import { runRowOf } from "./run-rows.ts";

/** The parameters of start_runs, in its order. */
export function startValues(params: StartRunsParams, races: boolean, notify: boolean): unknown[] {
  const { starts, holdBy, replaceError } = params;
  const runs = starts.map((start) => start.run);
  const wrong = runs.find((run) => !binary.isUuid(run.runId));
  if (wrong) throw new HoldfastError("invariant_broken", `PostgreSQL store: the run id "${wrong.runId}" is not a UUID`);
  return [
    binary.uuidArray(runs.map((run) => run.runId)),
    binary.textArray(runs.map((run) => run.namespace)),
    binary.textArray(runs.map((run) => run.id)),
    binary.textArray(runs.map((run) => run.workflow)),
    binary.textArray(runs.map((run) => run.version)),
    binary.textArray(runs.map((run) => run.queue)),
    binary.int4Array(runs.map((run) => run.priority)),
    ...dataValues(runs),
    binary.textArray(starts.map((start) => start.ifRunning)),
    binary.textArray(starts.map((start) => start.ifClosed)),
    binary.boolArray(starts.map((start) => start.hold)),
    binary.float8Array(starts.map((start) => start.pick)),
    holdBy?.workerId ?? null,
    holdBy?.claimId ?? null,
    jsonBytes(replaceError),
    races,
    notify,
  ];
}

export function startResult(params: StartRunsParams, rows: readonly Row[]): StartRunsResult {
  const outcomes: StartOutcome[] = [];
  const now = rows[0]?.now as number;
  for (const row of rows) {
    const i = (row.i as number) - 1;
    const start = params.starts[i];
    if (!start) continue; // the row with the hints
    const outcome = row.outcome as StartOutcome["outcome"];
    outcomes[i] = { outcome, run: row.run === null ? freshRow(start.run, params, row, now) : runRowOf(row.run as Row) };
  }
  // Lost the race for its id in every round: as good as locked.
  params.starts.forEach((start, i) => {
    outcomes[i] ??= { outcome: "busy", run: notCreated(start.run, now) };
  });
  return { outcomes, now };
}

/** A run that this call has created: everything about it is known here, except for what the store decided. */
function freshRow(run: NewRun, { holdBy }: StartRunsParams, row: Row, now: number): RunRow {
  const createdAt = row.created_at as number;
  const version = row.version as string;
  const deadlineAt = run.timeoutMs === undefined ? null : createdAt + Math.ceil(run.timeoutMs);
  if (row.held !== true || !holdBy)
    return newRow(run, {
      version,
      createdAt,
      deadlineAt,
      availableAt: row.available_at as number,
      holder: null,
      now,
    });
  return newRow(run, { version, createdAt, deadlineAt, availableAt: null, holder: holdBy, now });
}

function notCreated(run: NewRun, createdAt: number): RunRow {
  const { version } = run;
  return newRow(run, { version, createdAt, deadlineAt: null, availableAt: null, holder: null, now: createdAt });
}

interface Decided extends Pick<RunRow, "version" | "createdAt" | "deadlineAt" | "availableAt"> {
  readonly holder: StartRunsParams["holdBy"];
  readonly now: number;
}

/** Field by field: spreads of so many are slow, and this happens once per start. */
function newRow(run: NewRun, { version, createdAt, deadlineAt, availableAt, holder, now }: Decided): RunRow {
  return {
    namespace: run.namespace,
    runId: run.runId,
    id: run.id,
    firstRunId: run.runId,
    workflow: run.workflow,
    version,
    queue: run.queue,
    priority: run.priority,
    seed: run.seed,
    status: holder ? "running" : "pending",
    epoch: holder ? 1 : 0,
    commit: 0,
    heldBy: holder ? holder.workerId : null,
    claimId: holder ? holder.claimId : null,
    availableAt,
    eventCount: 0,
    delivered: 0,
    consumed: 0,
    deaths: 0,
    aloneDeaths: 0,
    alone: false,
    suspect: false,
    createdAt,
    startedAt: holder ? now : null,
    endedAt: null,
    deadlineAt,
    attributes: run.attributes,
    waitingFor: [],
    compensation: null,
    continuedFrom: null,
    continuedAs: null,
  };
}
