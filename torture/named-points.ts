/**
 * Named points: where a worker process is made to die or to stop. They are around the store port and in the steps of
 * the torture workflows, so production code has none.
 */
import {
  type CommitRunsParams,
  type CommitRunsResult,
  type StartRunsParams,
  type Store,
  type StoreMethod,
  storeAround,
} from "holdfast/adapter";

export const POINTS = [
  "before-commit",
  "after-commit",
  "in-step",
  "retry-backoff",
  "sleeping",
  "waiting",
  "before-claim",
  "after-claim",
  "before-start",
  "after-start",
  "before-heartbeat",
  "after-heartbeat",
  "before-sweep",
  "after-sweep",
  "before-transaction",
  "in-transaction",
  "after-transaction",
  "draining",
  "before-task-claim",
  "after-task-claim",
  "before-finish",
  "after-finish",
  "before-beat",
  "after-beat",
  "in-task",
  "before-result",
  "after-result",
  "before-child",
  "after-child",
  "before-message",
  "after-message",
  "before-payment",
  "after-payment",
  "before-reply",
  "after-reply",
  "before-outcome",
  "after-outcome",
] as const;

export type Point = (typeof POINTS)[number];

/** Points that a process passes because of the tasks that it executes. */
export const POINTS_OF_TASKS: readonly Point[] = [
  "before-task-claim",
  "after-task-claim",
  "before-finish",
  "after-finish",
  "before-beat",
  "after-beat",
  "in-task",
];
/** Points that it passes because of runs that have scheduled tasks. */
export const POINTS_OF_RESULTS: readonly Point[] = ["before-result", "after-result"];
/** Points that a process passes because of runs that talk to others, or to clients. */
export const POINTS_OF_CONVERSATIONS: readonly Point[] = [
  "before-child",
  "after-child",
  "before-message",
  "after-message",
  "before-payment",
  "after-payment",
  "before-reply",
  "after-reply",
  "before-outcome",
  "after-outcome",
];
/** Points that a client passes. */
export const POINTS_OF_CLIENTS: readonly Point[] = ["before-start", "after-start", "before-message", "after-message"];
/** Points that every worker passes. */
export const POINTS_OF_ALL: readonly Point[] = [
  "before-heartbeat",
  "after-heartbeat",
  "before-sweep",
  "after-sweep",
  "draining",
];

/** A store call; `result` is set once the store has answered, before the engine gets the answer. */
export interface StoreMoment {
  readonly method: StoreMethod;
  readonly params: never;
  readonly result?: unknown;
}

export interface StoreWatch {
  before(call: StoreMoment): void;
  after(call: StoreMoment): void;
}

/** The store with a watcher, which is called before each call is sent and after it took effect. */
export function watchStore(store: Store, watch: StoreWatch): Store {
  return storeAround(store, async (method, given, call) => {
    const params = given as never;
    watch.before({ method, params });
    const result = await call();
    watch.after({ method, params, result });
    return result;
  });
}

const CALLS_OF_A_DRAIN: readonly StoreMethod[] = ["runs.commit", "runs.releaseIfHeld", "tasks.finish", "workers.stop"];

const OUTCOMES: readonly string[] = [
  "child_started",
  "child_completed",
  "child_failed",
  "message_sent",
  "message_failed",
];

/** What there is about a call, by the names of its points without `before` and `after`. */
function subjectsOf({ method, params }: StoreMoment): readonly string[] {
  switch (method) {
    case "runs.commit":
      return subjectsOfCommit(params);
    case "runs.start":
      return subjectsOfStart(params);
    case "inbox.deliver":
    case "runs.watch":
      return ["message"];
    case "debts.pay":
      return ["payment"];
    case "tasks.claim":
      return ["task-claim"];
    case "tasks.finish":
      return ["finish"];
    case "tasks.beat":
      return ["beat"];
    case "runs.claim":
      return ["claim"];
    case "workers.heartbeat":
      return ["heartbeat"];
    case "workers.sweep":
      return ["sweep"];
    case "transact":
      return ["transaction"];
    default:
      return [];
  }
}

function subjectsOfCommit({ commits }: CommitRunsParams): readonly string[] {
  const has = (types: readonly string[]): boolean =>
    commits.some(({ events }) => events.some(({ type }) => types.includes(type)));
  return [
    "commit",
    ...(has(["task_completed", "task_failed"]) ? ["result"] : []),
    ...(has(OUTCOMES) ? ["outcome"] : []),
    ...(commits.some(({ replies = [] }) => replies.length > 0) ? ["reply"] : []),
  ];
}

function subjectsOfStart({ starts }: StartRunsParams): readonly string[] {
  return [
    "start",
    ...(starts.some(({ parent }) => parent) ? ["child"] : []),
    ...(starts.some(({ messages = [] }) => messages.length > 0) ? ["message"] : []),
  ];
}

/** The points that a call passes on its way to the store. */
export function pointsBefore(call: StoreMoment, draining: boolean): readonly Point[] {
  const points = subjectsOf(call).map((subject) => `before-${subject}` as Point);
  return draining && CALLS_OF_A_DRAIN.includes(call.method) ? ["draining", ...points] : points;
}

/** The points that it passes after it took effect, before the engine gets the answer. */
export function pointsAfter(call: StoreMoment): readonly Point[] {
  return hasEffect(call) ? subjectsOf(call).map((subject) => `after-${subject}` as Point) : [];
}

/** A claim that claims nothing is nothing, nor is a sweep that finds nothing. */
function hasEffect({ method, result }: StoreMoment): boolean {
  if (method === "tasks.claim") return (result as { tasks: readonly unknown[] }).tasks.length > 0;
  if (method === "runs.claim") return (result as { runs: readonly unknown[] }).runs.length > 0;
  if (method === "workers.sweep") return (result as { returned: number }).returned > 0;
  return true;
}

/** The points that the runs of a commit have reached once the engine knows that it is durable. */
export function pointsReached(params: CommitRunsParams, { outcomes }: CommitRunsResult): readonly Point[] {
  const written = params.commits.filter((_, i) => outcomes[i]?.outcome === "written");
  const points = new Set<Point>();
  for (const { events, transition } of written) {
    if (events.some(({ type }) => type === "step_attempt_failed")) points.add("retry-backoff");
    if (transition.type === "suspend" && transition.status !== "compensating") points.add(transition.status);
  }
  return [...points];
}
