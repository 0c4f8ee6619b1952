import {
  type Attributes,
  BY_A_PERSON,
  type CarriedMessage,
  type CommitOutcome,
  type CommitRunsParams,
  type CommitRunsResult,
  type EventDraft,
  type HistoryEvent,
  type NewLock,
  type NewReply,
  type NewRun,
  type NewTask,
  parkNote,
  type RunCommit,
  type Transition,
} from "holdfast/adapter";
import * as binary from "../database/binary-array.ts";
import { arrayLiteral, eventTypeCode, jsonBytes } from "../database/codes.ts";
import type { Row } from "../database/driver.ts";
import type { Server } from "../database/server.ts";
import { bothOf, callOf, type Values } from "../database/server-call.ts";
import { isEventConflict, isLockConflict } from "../errors.ts";
import { APPEND_VALUES, type AppendFlush, appendedIn, appendOutcomes, appendRuns, OUTCOMES } from "./appends.ts";
import { ifAny, withPosition, workersOf } from "./flush-parts.ts";
import { NEW_RUN, namedFor } from "./new-runs.ts";
import { heldTasks, NEW_TASKS, type Placed, positions } from "./new-tasks.ts";
import { messagesOf } from "./run-rows.ts";

/** The subject of a call to commit_runs: the commits, and what is gathered from them. */
interface Flush extends AppendFlush {
  readonly commits: readonly RunCommit[];
  readonly transitions: readonly Transition[];
  readonly ends: readonly (Extract<Transition, { type: "end" }> | null)[];
  /** For each commit the position of its worker. */
  readonly by: readonly number[];
  /** Without those in `tails`. */
  readonly events: readonly Placed<HistoryEvent>[];
  /** For each commit the event that stays in the row of its run. */
  readonly tails: readonly (HistoryEvent | null)[];
  readonly attributes: readonly Placed<Attributes>[];
  readonly continued: readonly Placed<Extract<Transition, { type: "continue" }>>[];
  /** The successors. */
  readonly runs: readonly NewRun[];
  readonly carried: readonly Placed<CarriedMessage>[];
  readonly tasks: readonly Placed<NewTask>[];
  readonly settled: readonly Placed<number>[];
  /** Positions of the runs whose tasks are dropped. */
  readonly drops: readonly Placed<true>[];
  readonly results: readonly Placed<number>[];
  readonly closes: readonly Placed<string>[];
  readonly replies: readonly Placed<NewReply>[];
  readonly locks: readonly Placed<NewLock>[];
  readonly unlocks: readonly Placed<number>[];
  /** What is recorded of runs that are parked. */
  readonly notes: readonly Placed<EventDraft>[];
  /** Skip rows that another transaction has locked. */
  readonly skip: boolean;
  readonly notify: boolean;
}

const COMMIT_VALUES: Values<Flush> = {
  w_worker: ({ workers }) => binary.uuidArray(workers, ({ workerId }) => workerId),
  w_namespace: ({ workers }) => binary.textArray(workers, ({ namespace }) => namespace),
  p_skip: ({ skip }) => skip,
  p_run: ({ commits }) => binary.uuidArray(commits, (commit) => commit.runId),
  p_by: ({ by }) => binary.int4Array(by),
  p_epoch: ({ commits }) => binary.int4Array(commits, (commit) => commit.epoch),
  p_commit: ({ commits }) => binary.int4Array(commits, (commit) => commit.commit),
  p_consumed: ({ commits }) => binary.int4Array(commits, (commit) => commit.consumed),
  p_events: ({ commits }) => binary.int4Array(commits, (commit) => commit.events.length),
  p_count: ({ commits }) => binary.int4Array(commits, (commit) => commit.eventCount),
  p_kind: ({ transitions }) => binary.charArray(transitions, kindOf),
  p_status: ({ transitions }) => binary.textArray(transitions, statusOf),
  p_available: ({ commits }) => binary.sparse(binary.timeArray, commits, timeOf),
  p_waiting: ({ transitions }) =>
    binary.sparse(binary.textArray, transitions, (transition) =>
      transition.type === "suspend" ? arrayLiteral(transition.waitingFor) : null,
    ),
  // For runs that end, park or continue; empty for the others.
  p_output: ({ ends }) => binary.sparse(binary.byteaArray, ends, (end) => end?.output ?? null),
  p_error: ({ transitions }) => binary.sparse(binary.byteaArray, transitions.map(errorOf)),
  p_compensation: ({ ends }) => binary.sparse(binary.textArray, ends, (end) => end?.compensation ?? null),
  p_continued_as: ({ transitions }) =>
    binary.sparse(binary.uuidArray, transitions, (transition) =>
      transition.type === "continue" ? transition.next.runId : null,
    ),
  p_clear_deadline: ({ commits }) => binary.boolArray(commits, (commit) => commit.clearDeadline),
  p_code: ({ transitions }) =>
    binary.sparse(binary.textArray, transitions, (transition) =>
      transition.type === "park" ? (transition.paused ? BY_A_PERSON : (transition.code ?? null)) : null,
    ),
  p_tail_type: ({ tails }) =>
    binary.sparse(binary.int2Array, tails, (event) => (event ? eventTypeCode(event.type) : null)),
  p_tail_op: ({ tails }) => binary.sparse(binary.textArray, tails, (event) => event?.op ?? null),
  p_tail_payload: ({ tails }) => binary.sparse(binary.byteaArray, tails, (event) => event?.payload ?? null),
  p_tail_meta: ({ tails }) =>
    binary.sparse(
      binary.byteaArray,
      tails.map((event) => (event?.meta === undefined ? null : jsonBytes(event.meta))),
    ),
  e_i: ({ events }) => positions(events),
  e_seq: ({ events }) => binary.int4Array(events, ({ item: event }) => event.seq),
  e_type: ({ events }) => binary.int2Array(events, ({ item: event }) => eventTypeCode(event.type)),
  e_op: ({ events }) => binary.textArray(events, ({ item: event }) => event.op),
  e_at: ({ events }) => binary.timeArray(events, ({ item: event }) => event.at),
  e_payload: ({ events }) => binary.byteaArray(events, ({ item: event }) => event.payload ?? null),
  e_meta: ({ events }) =>
    binary.sparse(
      binary.byteaArray,
      events.map(({ item: { meta } }) => (meta === undefined ? null : jsonBytes(meta))),
    ),
  a_i: ({ attributes }) => positions(attributes),
  a_attributes: ({ attributes }) => binary.textArray(attributes.map(({ item: set }) => JSON.stringify(set))),
  n_i: ({ continued }) => positions(continued),
  n_run: ({ runs }) => binary.uuidArray(runs, (run) => run.runId),
  ...namedFor("n", NEW_RUN),
  c_i: ({ carried }) => positions(carried),
  c_kind: ({ carried }) => binary.textArray(carried, ({ item: message }) => message.kind),
  c_name: ({ carried }) => binary.textArray(carried, ({ item: message }) => message.name),
  c_message: ({ carried }) => binary.textArray(carried, ({ item: message }) => message.messageId),
  c_payload: ({ carried }) => binary.byteaArray(carried, ({ item: message }) => message.payload),
  ...NEW_TASKS,
  s_i: ({ settled }) => positions(settled),
  s_seq: ({ settled }) => binary.int4Array(settled, ({ item: seq }) => seq),
  d_i: ({ drops }) => positions(drops),
  r_i: ({ results }) => positions(results),
  r_number: ({ results }) => binary.int4Array(results, ({ item: number }) => number),
  x_i: ({ closes }) => ifAny(closes, positions),
  x_run: ({ closes }) => ifAny(closes, (some) => binary.uuidArray(some, ({ item: runId }) => runId)),
  u_i: ({ replies }) => ifAny(replies, positions),
  u_number: ({ replies }) => ifAny(replies, (some) => binary.int4Array(some, ({ item: { number } }) => number)),
  u_seq: ({ replies }) => ifAny(replies, (some) => binary.int4Array(some, ({ item: { seq } }) => seq ?? null)),
  u_error: ({ replies }) =>
    ifAny(replies, (some) => binary.byteaArray(some.map(({ item: { error } }) => (error ? jsonBytes(error) : null)))),
  l_i: ({ locks }) => ifAny(locks, positions),
  l_seq: ({ locks }) => ifAny(locks, (some) => binary.int4Array(some, ({ item: { seq } }) => seq)),
  l_op: ({ locks }) => ifAny(locks, (some) => binary.textArray(some, ({ item: { op } }) => op)),
  l_name: ({ locks }) => ifAny(locks, (some) => binary.textArray(some, ({ item: { name } }) => name)),
  l_places: ({ locks }) => ifAny(locks, (some) => binary.int4Array(some, ({ item: { limit } }) => limit)),
  b_i: ({ unlocks }) => ifAny(unlocks, positions),
  b_seq: ({ unlocks }) => ifAny(unlocks, (some) => binary.int4Array(some, ({ item: seq }) => seq)),
  k_i: ({ notes }) => ifAny(notes, positions),
  k_type: ({ notes }) => (notes.length === 0 ? null : eventTypeCode("run_parked")),
  k_meta: ({ notes }) =>
    ifAny(notes, (some) =>
      binary.byteaArray(some.map(({ item: { meta } }) => (meta === undefined ? null : jsonBytes(meta)))),
    ),
  p_notify: ({ notify }) => notify,
};

export const COMMIT = callOf("commit_runs", COMMIT_VALUES);
/** Appends come first: they pass a gate, and whoever waits for a gate may wait for no row. */
export const COMMIT_BOTH = bothOf<Flush>(
  { name: "append_runs", values: APPEND_VALUES },
  "a_now",
  { name: "commit_runs", values: COMMIT_VALUES },
  "p_skip",
);

export async function commitRuns(server: Server, { commits }: CommitRunsParams): Promise<CommitRunsResult> {
  const appends = commits.filter(isAppend);
  if (appends.length === 0) return commitRows(server, commits, NONE);
  if (appends.length === commits.length) return appendRuns(server, appends);
  const rows = commits.filter((commit) => !isAppend(commit));
  const { outcomes, ...rest } = await commitBoth(server, rows, appends);
  let [row, append] = [0, rows.length];
  return { ...rest, outcomes: commits.map((commit) => outcomes[isAppend(commit) ? append++ : row++] as CommitOutcome) };
}

/** In one call. The outcomes of the appends follow those of the others. */
async function commitBoth(server: Server, rows: readonly RunCommit[], appends: readonly RunCommit[]) {
  try {
    return await commitRows(server, rows, appends);
  } catch (error) {
    if (!isEventConflict(error)) throw error;
    // Something may have been written before. Whose it is shows when they are sent apart.
    const appended = await appendRuns(server, appends, true);
    const result = await commitRows(server, rows, NONE);
    return { ...result, outcomes: [...result.outcomes, ...appended.outcomes] };
  }
}

async function commitRows(server: Server, rows: readonly RunCommit[], appends: readonly RunCommit[]) {
  const flush = flushOf({ commits: rows }, false, server.notify, appends);
  const call = appends.length === 0 ? COMMIT : COMMIT_BOTH;
  try {
    return commitResult(flush, await server.writeOne(call, flush));
  } catch (error) {
    // Another transaction has locked one of the rows: repeat the call without the locked ones.
    if (!isLockConflict(error)) throw error;
    return commitResult(flush, await server.writeOne(call, { ...flush, skip: true }));
  }
}

function isAppend({ transition }: RunCommit): boolean {
  return transition.type === "append";
}

export function flushOf(
  { commits }: CommitRunsParams,
  skip: boolean,
  notify: boolean,
  appends: readonly RunCommit[] = NONE,
): Flush {
  const transitions = commits.map((commit) => commit.transition);
  const tails = commits.map(tailOf);
  const continued = withPosition(commits, ({ transition }) => (transition.type === "continue" ? [transition] : []));
  return {
    commits,
    transitions,
    ends: transitions.map((transition) => (transition.type === "end" ? transition : null)),
    ...gathered(commits, appends),
    events: withPosition(commits, ({ events }, i) => (tails[i] === null ? events : undefined)),
    tails,
    attributes: withPosition(commits, ({ attributes }) => (attributes === null ? [] : [attributes])),
    continued,
    runs: continued.map(({ item: transition }) => transition.next),
    carried: continued.flatMap(({ i, item }) => item.carried.map((message) => ({ i, item: message }))),
    tasks: withPosition(commits, ({ tasks }) => tasks),
    settled: withPosition(commits, ({ settled }) => settled),
    drops: withPosition(commits, ({ dropTasks }) => (dropTasks ? DROP : undefined)),
    results: withPosition(commits, ({ results }) => results),
    closes: withPosition(commits, ({ closes }) => closes),
    replies: withPosition(commits, ({ replies }) => replies),
    locks: withPosition(commits, ({ locks }) => locks),
    unlocks: withPosition(commits, ({ unlocks }) => unlocks),
    notes: withPosition(commits, ({ transition }) =>
      transition.type === "park" ? [parkNote(transition.error)] : undefined,
    ),
    skip,
    notify,
  };
}

function gathered(commits: readonly RunCommit[], appends: readonly RunCommit[]) {
  const { workers, by } = workersOf(appends.length === 0 ? commits : [...commits, ...appends]);
  const appendedBy = appends.length === 0 ? NONE : by.slice(commits.length);
  return {
    workers,
    by: appends.length === 0 ? by : by.slice(0, commits.length),
    careful: false,
    ...appendedIn(appends, appendedBy),
  };
}

/**
 * The only event of a commit that ends its run, unless it is large. It stays in the row, which is written anyway: a row of its own would cost
 * as much again. Answers to updates and tasks refer to events in the table.
 */
function tailOf({ transition, events, replies, tasks }: RunCommit): HistoryEvent | null {
  const [event] = events;
  if (transition.type !== "end" || event === undefined || events.length > 1) return null;
  if (replies !== undefined || (tasks?.length ?? 0) > 0) return null;
  return (event.payload?.length ?? 0) <= LONGEST_TAIL && event.meta?.error === undefined ? event : null;
}

/** With a longer one, the new version of the row would often go to another page of the table. */
const LONGEST_TAIL = 256;

/** For a suspended run, when it is due; for one that ends, the time of its last event, because its end may not be earlier. */
function timeOf({ transition, events }: RunCommit): number | null {
  if (transition.type === "suspend") return transition.availableAt;
  return transition.type === "end" || transition.type === "continue" ? (events[events.length - 1]?.at ?? null) : null;
}

const KINDS = { hold: "h", append: "h", suspend: "s", release: "r", end: "e", continue: "c", park: "p" } as const;

function kindOf(transition: Transition): string {
  if (transition.type === "end" && transition.unlessBehind) return "u";
  return transition.type === "park" && transition.unlessBehind ? "q" : KINDS[transition.type];
}

function statusOf(transition: Transition): string | null {
  switch (transition.type) {
    case "release":
    case "append":
      return null;
    case "continue":
      return "continued";
    case "park":
      return "parked";
    default:
      return transition.status;
  }
}

function errorOf(transition: Transition): Uint8Array | null {
  const error = transition.type === "end" || transition.type === "park" ? transition.error : null;
  return error === null ? null : jsonBytes(error);
}

const NONE: readonly never[] = [];
const DROP = [true] as const;

function commitResult(flush: Flush, row: Row): CommitRunsResult {
  const delivered = ((row.o_delivered ?? "") as string).split(",");
  const held = (row.o_held ?? "") as string;
  const tasksHeld = flush.tasks.length === 0 ? undefined : heldTasks(flush.tasks, (row.o_tasks_held ?? []) as number[]);
  const owing = owedBy(row);
  const outcomes = [...((row.o_outcome ?? "") as string)].map((letter, i): CommitOutcome => {
    const seqs = letter === "w" ? tasksHeld?.get(i + 1) : undefined;
    return {
      outcome: OUTCOMES[letter] as CommitOutcome["outcome"],
      held: held[i] === "t",
      delivered: Number(delivered[i]),
      ...(seqs && { tasksHeld: seqs }),
      ...owing?.get(i + 1),
    };
  });
  if (flush.appends.length > 0) outcomes.push(...appendOutcomes(row));
  const runIds = (row.m_run ?? []) as string[];
  return { outcomes, messages: messagesOf(row, (i) => runIds[i] as string), now: row.o_now as number };
}

/** What the runs owe that owe something, by position; undefined if none does. */
function owedBy({ o_owes, o_debts }: Row): Map<number, Pick<CommitOutcome, "owes" | "debtNo">> | undefined {
  if (!o_owes) return undefined;
  const debts = (o_debts as string).split(",");
  return new Map(
    (o_owes as readonly number[]).map((i, k) => [i, { owes: true, ...(debts[k] && { debtNo: Number(debts[k]) }) }]),
  );
}
