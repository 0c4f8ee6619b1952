import {
  type CarriedMessage,
  type DeliverOutcome,
  HoldfastError,
  type Lineage,
  type NewRun,
  newRunRow,
  type RefusedStart,
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
import { type Placed, positions } from "./new-tasks.ts";
import { runRowOf } from "./run-rows.ts";

/** The subject of a call to start_runs. */
export interface Starting extends StartRunsParams, NewRuns {
  readonly messages: readonly Placed<CarriedMessage>[];
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
  p_parent_namespace: ({ starts }) =>
    binary.sparse(binary.textArray, starts, (s) => s.parent?.parent.namespace ?? null),
  p_parent: ({ starts }) => binary.sparse(binary.uuidArray, starts, ({ parent }) => parent?.parent.runId ?? null),
  p_parent_id: ({ starts }) => binary.sparse(binary.textArray, starts, ({ parent }) => parent?.parent.id ?? null),
  p_parent_op: ({ starts }) => binary.sparse(binary.textArray, starts, ({ parent }) => parent?.op ?? null),
  p_root: ({ starts }) => binary.sparse(binary.uuidArray, starts, ({ parent }) => parent?.root.runId ?? null),
  p_root_id: ({ starts }) => binary.sparse(binary.textArray, starts, ({ parent }) => parent?.root.id ?? null),
  p_depth: ({ starts }) => binary.sparse(binary.int2Array, starts, ({ parent }) => parent?.depth ?? null),
  p_policy: ({ starts }) => binary.sparse(binary.textArray, starts, ({ parent }) => parent?.policy ?? null),
  m_i: ({ messages }) => (messages.length === 0 ? null : positions(messages)),
  m_kind: ({ messages }) => binary.textArray(messages, ({ item: { kind } }) => kind),
  m_name: ({ messages }) => binary.textArray(messages, ({ item: { name } }) => name),
  m_message: ({ messages }) => binary.textArray(messages, ({ item: { messageId } }) => messageId),
  m_payload: ({ messages }) => binary.byteaArray(messages, ({ item: { payload } }) => payload),
  p_inbox_max: ({ inboxMax }) => inboxMax ?? null,
  p_races: ({ races }) => races,
  p_notify: ({ notify }) => notify,
  p_bounded: ({ bounded = false }) => bounded,
});

export function startingOf(params: StartRunsParams, races: boolean, notify: boolean): Starting {
  const runs = params.starts.map((start) => start.run);
  const wrong = runs.find((run) => !binary.isUuid(run.runId));
  if (wrong) throw new HoldfastError("invariant_broken", `PostgreSQL store: the run id "${wrong.runId}" is not a UUID`);
  return { ...params, runs, messages: messagesWith(params), races, notify };
}

const NO_MESSAGES: readonly never[] = [];

function messagesWith({ starts }: StartRunsParams): readonly Placed<CarriedMessage>[] {
  if (starts.every(({ messages }) => messages === undefined)) return NO_MESSAGES;
  return starts.flatMap(({ messages = [] }, i) => messages.map((message) => ({ i: i + 1, item: message })));
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
  const outcomes: (StartOutcome | RefusedStart)[] = [];
  const made = rows.find((row) => row.i === 0) as Row;
  const now = made.now as number;
  for (const row of rows) {
    const i = (row.i as number) - 1;
    if (row.run !== null)
      outcomes[i] = { outcome: row.outcome as StartOutcome["outcome"], run: runRowOf(row.run as Row) };
    else if (row.outcome === "parent_closed" || row.outcome === "not_allowed" || row.outcome === "queue_full")
      outcomes[i] = { outcome: row.outcome, run: null };
  }
  addFresh(outcomes, params, made, now);
  addOthers(outcomes, params, made);
  // It lost the race for its id in every round: treated as locked.
  params.starts.forEach((start, i) => {
    outcomes[i] ??= { outcome: "busy", run: notCreated(start.run, now) };
  });
  return { outcomes, now };
}

/** What became of messages that came with starts, and of runs that were replaced. */
function addOthers(outcomes: (StartOutcome | RefusedStart)[], { starts }: StartRunsParams, made: Row): void {
  const messages = made.messages as Readonly<Record<number, readonly DeliverOutcome["outcome"][]>> | null;
  const owes = made.owes as Readonly<Record<number, string>> | null;
  if (owes)
    for (const [i, runId] of Object.entries(owes)) {
      const outcome = outcomes[Number(i) - 1];
      if (outcome?.run) outcomes[Number(i) - 1] = { ...outcome, owes: { runId } };
    }
  starts.forEach((start, i) => {
    const outcome = outcomes[i];
    if (start.messages === undefined || !outcome?.run) return;
    if (outcome.outcome === "created" || outcome.outcome === "returned")
      outcomes[i] = { ...outcome, messages: messages?.[i + 1] ?? [] };
  });
}

/** Runs that this call created: everything about them is known here, except what the store decided. */
function addFresh(
  outcomes: (StartOutcome | RefusedStart)[],
  { starts, holdBy }: StartRunsParams,
  made: Row,
  now: number,
): void {
  const positions = numbers(made.made);
  const created = numbers(made.created_at);
  const available = numbers(made.available_at);
  const versions = made.version as readonly string[] | null;
  for (let k = 0; k < positions.length; k++) {
    const i = (positions[k] as number) - 1;
    const { run, parent } = starts[i] as StartRun;
    const createdAt = created[k] as number;
    const holder = (made.held as string)[k] === "t" ? holdBy : null;
    const decided = {
      version: versions?.[i] ?? run.version,
      createdAt,
      deadlineAt: run.timeoutMs === undefined ? null : createdAt + Math.ceil(run.timeoutMs),
      availableAt: holder ? null : (available[k] as number),
      holder,
      now,
      lineage: parent && lineageOf(parent),
    };
    outcomes[i] = { outcome: "created", run: newRunRow(run, decided) };
  }
}

function lineageOf({ parent, op, root, depth }: Lineage): Lineage {
  return { parent, op, root, depth };
}

/** Numbers separated by commas. */
function numbers(list: unknown): number[] {
  return list === "" || list === null ? [] : (list as string).split(",").map(Number);
}

function notCreated(run: NewRun, createdAt: number): RunRow {
  const { version } = run;
  return newRunRow(run, { version, createdAt, deadlineAt: null, availableAt: null, holder: null, now: createdAt });
}
