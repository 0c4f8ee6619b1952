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
    binary.uuidArray(runs, (run) => run.runId),
    binary.textArray(runs, (run) => run.namespace),
    binary.textArray(runs, (run) => run.id),
    binary.textArray(runs, (run) => run.workflow),
    binary.textArray(runs, (run) => run.version),
    binary.textArray(runs, (run) => run.queue),
    binary.int4Array(runs, (run) => run.priority),
    ...dataValues(runs),
    binary.textArray(starts, (start) => start.ifRunning),
    binary.textArray(starts, (start) => start.ifClosed),
    binary.boolArray(starts, (start) => start.hold),
    binary.float8Array(starts, (start) => start.pick),
    holdBy?.workerId ?? null,
    holdBy?.claimId ?? null,
    jsonBytes(replaceError),
    races,
    notify,
  ];
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
  // Lost the race for its id in every round: as good as locked.
  params.starts.forEach((start, i) => {
    outcomes[i] ??= { outcome: "busy", run: notCreated(start.run, now) };
  });
  return { outcomes, now };
}

/** Runs that this call has created: everything about them is known here, except for what the store decided. */
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

/** Numbers that are separated by commas. */
function numbers(list: unknown): number[] {
  return list === "" || list === null ? [] : (list as string).split(",").map(Number);
}

function notCreated(run: NewRun, createdAt: number): RunRow {
  const { version } = run;
  return newRunRow(run, { version, createdAt, deadlineAt: null, availableAt: null, holder: null, now: createdAt });
}
