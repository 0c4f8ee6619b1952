import {
  HoldfastError,
  type NewRun,
  newRunRow,
  type RunRow,
  type StartOutcome,
  type StartRun,
  type StartRunsParams,
  type StartRunsResult,
} from "holdfast/adapter";
import * as binary from "../database/binary-array.ts";
import { jsonBytes } from "../database/codes.ts";
import type { Row } from "../database/driver.ts";
import type { Server } from "../database/server.ts";
import { callOf } from "../database/server-call.ts";
import { isRace } from "../errors.ts";
import { NEW_RUN, type NewRuns, namedFor } from "./new-runs.ts";
import { runRowOf } from "./run-rows.ts";

/** The subject of a call to start_runs. */
export interface Starting extends StartRunsParams, NewRuns {
  /** Other calls may be taking the same ids. */
  readonly races: boolean;
  readonly notify: boolean;
}

export const START = callOf<Starting>("start_runs", {
  p_run: ({ runs }) => binary.uuidArray(runs, (run) => run.runId),
  p_namespace: ({ runs }) => binary.textArray(runs, (run) => run.namespace),
  p_id: ({ runs }) => binary.textArray(runs, (run) => run.id),
  ...namedFor("p", NEW_RUN),
  p_if_running: ({ starts }) => binary.textArray(starts, (start) => start.ifRunning),
  p_if_closed: ({ starts }) => binary.textArray(starts, (start) => start.ifClosed),
  p_hold: ({ starts }) => binary.boolArray(starts, (start) => start.hold),
  p_pick: ({ starts }) => binary.float8Array(starts, (start) => start.pick),
  p_hold_by: ({ holdBy }) => holdBy?.workerId ?? null,
  p_claim: ({ holdBy }) => holdBy?.claimId ?? null,
  p_replace_error: ({ replaceError }) => jsonBytes(replaceError),
  p_races: ({ races }) => races,
  p_notify: ({ notify }) => notify,
});

export function startingOf(params: StartRunsParams, races: boolean, notify: boolean): Starting {
  const runs = params.starts.map((start) => start.run);
  const wrong = runs.find((run) => !binary.isUuid(run.runId));
  if (wrong) throw new HoldfastError("invariant_broken", `PostgreSQL store: the run id "${wrong.runId}" is not a UUID`);
  return { ...params, runs, races, notify };
}

export async function startRuns(server: Server, params: StartRunsParams): Promise<StartRunsResult> {
  const send = (races: boolean) => server.write(START, startingOf(params, races, server.notify));
  try {
    return startResult(params, await send(false));
  } catch (error) {
    // Another call has just taken one of the ids: repeat the call, prepared for such races.
    if (!isRace(error)) throw error;
    return startResult(params, await send(true));
  }
}

export function startResult(params: StartRunsParams, rows: readonly Row[]): StartRunsResult {
  const outcomes: StartOutcome[] = [];
  const made = rows.find((row) => row.i === 0) as Row;
  const now = made.now as number;
  for (const row of rows) {
    if (row !== made)
      outcomes[(row.i as number) - 1] = {
        outcome: row.outcome as StartOutcome["outcome"],
        run: runRowOf(row.run as Row),
      };
  }
  addFresh(outcomes, params, made, now);
  // It lost the race for its id in every round: treated as locked.
  params.starts.forEach((start, i) => {
    outcomes[i] ??= { outcome: "busy", run: notCreated(start.run, now) };
  });
  return { outcomes, now };
}

/** Runs that this call created: everything about them is known here, except what the store decided. */
function addFresh(outcomes: StartOutcome[], { starts, holdBy }: StartRunsParams, made: Row, now: number): void {
  const positions = numbers(made.made);
  const created = numbers(made.created_at);
  const available = numbers(made.available_at);
  const versions = made.version as readonly string[] | null;
  for (let k = 0; k < positions.length; k++) {
    const i = (positions[k] as number) - 1;
    const { run } = starts[i] as StartRun;
    const createdAt = created[k] as number;
    const holder = (made.held as string)[k] === "t" ? holdBy : null;
    const decided = {
      version: versions?.[i] ?? run.version,
      createdAt,
      deadlineAt: run.timeoutMs === undefined ? null : createdAt + Math.ceil(run.timeoutMs),
      availableAt: holder ? null : (available[k] as number),
      holder,
      now,
    };
    outcomes[i] = { outcome: "created", run: newRunRow(run, decided) };
  }
}

/** Numbers separated by commas. */
function numbers(list: unknown): number[] {
  return list === "" || list === null ? [] : (list as string).split(",").map(Number);
}

function notCreated(run: NewRun, createdAt: number): RunRow {
  const { version } = run;
  return newRunRow(run, { version, createdAt, deadlineAt: null, availableAt: null, holder: null, now: createdAt });
}
