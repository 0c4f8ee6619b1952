import type {
  CommitOutcome,
  CommitRunsParams,
  CommitRunsResult,
  NewRun,
  RunCommit,
  Transition,
} from "holdfast/adapter";
import * as binary from "./binary-array.ts";
import { arrayLiteral, eventTypeCode, jsonBytes } from "./codes.ts";
import type { Row } from "./driver.ts";
import { messagesOf } from "./run-rows.ts";

/** The parameters of commit_runs, in its order. */
export function commitValues({ commits }: CommitRunsParams, skip: boolean, notify: boolean): unknown[] {
  const { workers, positions } = workersOf(commits);
  return [
    binary.uuidArray(workers, ({ workerId }) => workerId),
    binary.textArray(workers, ({ namespace }) => namespace),
    skip,
    ...runValues(commits, positions),
    ...endValues(commits),
    ...eventValues(commits),
    ...attributeValues(commits),
    ...continuationValues(commits),
    notify,
  ];
}

/** The workers of these commits, once each, and for each commit the position of its worker. */
function workersOf(commits: readonly RunCommit[]) {
  const workers: RunCommit[] = [];
  const positions: number[] = [];
  let at = -1;
  for (const commit of commits) {
    const isSame = (other: RunCommit): boolean =>
      other.workerId === commit.workerId && other.namespace === commit.namespace;
    // Nearly always all of them are of one worker.
    if (at < 0 || !isSame(workers[at] as RunCommit)) at = workers.findIndex(isSame);
    if (at < 0) at = workers.push(commit) - 1;
    positions.push(at + 1);
  }
  return { workers, positions };
}

function runValues(commits: readonly RunCommit[], workers: readonly number[]): unknown[] {
  const transitions = commits.map((commit) => commit.transition);
  return [
    binary.uuidArray(commits, (commit) => commit.runId),
    binary.int4Array(workers),
    binary.int4Array(commits, (commit) => commit.epoch),
    binary.int4Array(commits, (commit) => commit.commit),
    binary.int4Array(commits, (commit) => commit.consumed),
    binary.int4Array(commits, (commit) => commit.events[0]?.seq ?? 0),
    binary.int4Array(commits, (commit) => commit.events.length),
    binary.charArray(transitions, kindOf),
    binary.textArray(transitions, statusOf),
    binary.sparse(binary.timeArray, commits, timeOf),
    binary.sparse(binary.textArray, transitions, (transition) =>
      transition.type === "suspend" ? arrayLiteral(transition.waitingFor) : null,
    ),
  ];
}

/** When a suspended run is due; when the last event of one that ends was, because its end may not be earlier. */
function timeOf({ transition, events }: RunCommit): number | null {
  if (transition.type === "suspend") return transition.availableAt;
  return transition.type === "end" || transition.type === "continue" ? (events[events.length - 1]?.at ?? null) : null;
}

const KINDS = { hold: "h", suspend: "s", release: "r", end: "e", continue: "c", park: "p" } as const;

function kindOf(transition: Transition): string {
  return transition.type === "end" && transition.unlessBehind ? "u" : KINDS[transition.type];
}

function statusOf(transition: Transition): string | null {
  switch (transition.type) {
    case "release":
      return null;
    case "continue":
      return "continued";
    case "park":
      return "parked";
    default:
      return transition.status;
  }
}

function eventValues(commits: readonly RunCommit[]): unknown[] {
  const events = withPosition(commits, (commit) => commit.events);
  return [
    positions(events),
    binary.int4Array(events, ([, event]) => event.seq),
    binary.int2Array(events, ([, event]) => eventTypeCode(event.type)),
    binary.textArray(events, ([, event]) => event.op),
    binary.timeArray(events, ([, event]) => event.at),
    binary.byteaArray(events, ([, event]) => event.payload ?? null),
    binary.sparse(
      binary.byteaArray,
      events.map(([, { meta }]) => (meta === undefined ? null : jsonBytes(meta))),
    ),
  ];
}

/** What becomes of those that end, park or continue; nothing for the others. */
function endValues(commits: readonly RunCommit[]): unknown[] {
  const ends = commits.map(({ transition }) => (transition.type === "end" ? transition : null));
  const errors = commits.map(({ transition }) => {
    const error = transition.type === "end" || transition.type === "park" ? transition.error : null;
    return error === null ? null : jsonBytes(error);
  });
  return [
    binary.sparse(binary.byteaArray, ends, (end) => end?.output ?? null),
    binary.sparse(binary.byteaArray, errors),
    binary.sparse(binary.textArray, ends, (end) => end?.compensation ?? null),
    binary.sparse(binary.uuidArray, commits, ({ transition }) =>
      transition.type === "continue" ? transition.next.runId : null,
    ),
    binary.boolArray(commits, (commit) => commit.clearDeadline),
    binary.sparse(binary.textArray, commits, ({ transition }) =>
      transition.type === "park" ? (transition.code ?? null) : null,
    ),
  ];
}

function attributeValues(commits: readonly RunCommit[]): unknown[] {
  const set = withPosition(commits, ({ attributes }) => (attributes === null ? [] : [attributes]));
  return [positions(set), binary.textArray(set.map(([, attributes]) => JSON.stringify(attributes)))];
}

function continuationValues(commits: readonly RunCommit[]): unknown[] {
  const continued = withPosition(commits, ({ transition }) => (transition.type === "continue" ? [transition] : []));
  const next = continued.map(([, transition]) => transition.next);
  const carried = continued.flatMap(([i, transition]) => transition.carried.map((message) => [i, message] as const));
  return [
    positions(continued),
    binary.uuidArray(next, (run) => run.runId),
    binary.textArray(next, (run) => run.queue),
    binary.textArray(next, (run) => run.workflow),
    binary.textArray(next, (run) => run.version),
    binary.int4Array(next, (run) => run.priority),
    ...dataValues(next),
    positions(carried),
    binary.textArray(carried, ([, message]) => message.kind),
    binary.textArray(carried, ([, message]) => message.name),
    binary.textArray(carried, ([, message]) => message.messageId),
    binary.byteaArray(carried, ([, message]) => message.payload),
  ];
}

/** Seed, input, attributes, and the times of new runs. */
export function dataValues(runs: readonly NewRun[]): unknown[] {
  return [
    binary.textArray(runs, (run) => run.seed),
    binary.byteaArray(runs, (run) => run.input),
    binary.sparse(
      binary.textArray,
      runs.map((run) => (isEmpty(run.attributes) ? null : JSON.stringify(run.attributes))),
    ),
    binary.sparse(binary.timeArray, runs, (run) => run.startAt ?? null),
    binary.sparse(binary.timeArray, runs, (run) => run.startDelayMs ?? null),
    binary.sparse(binary.timeArray, runs, (run) => run.timeoutMs ?? null),
  ];
}

function isEmpty(object: object): boolean {
  for (const _key in object) return false;
  return true;
}

/** What each run contributes, with the run's position from 1. */
function withPosition<T>(commits: readonly RunCommit[], of: (commit: RunCommit) => readonly T[]): [number, T][] {
  const found: [number, T][] = [];
  for (let i = 0; i < commits.length; i++) for (const item of of(commits[i] as RunCommit)) found.push([i + 1, item]);
  return found;
}

function positions(items: readonly (readonly [number, unknown])[]): Buffer {
  return binary.int4Array(items, ([i]) => i);
}

const OUTCOMES: Readonly<Record<string, CommitOutcome["outcome"]>> = {
  w: "written",
  l: "lost",
  b: "busy",
  n: "behind",
};

export function commitResult(row: Row): CommitRunsResult {
  const delivered = ((row.o_delivered ?? "") as string).split(",");
  const held = (row.o_held ?? "") as string;
  const outcomes = [...((row.o_outcome ?? "") as string)].map((letter, i) => ({
    outcome: OUTCOMES[letter] as CommitOutcome["outcome"],
    held: held[i] === "t",
    delivered: Number(delivered[i]),
  }));
  const runIds = (row.m_run ?? []) as string[];
  return { outcomes, messages: messagesOf(row, (i) => runIds[i] as string), now: row.o_now as number };
}
