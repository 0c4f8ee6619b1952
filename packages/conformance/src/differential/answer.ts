import type {
  ClaimRunsParams,
  ClaimRunsResult,
  ClaimTasksResult,
  CommitOutcome,
  CommitRunsResult,
  Debt,
  ExpiredTasksResult,
  FinishTasksResult,
  HeartbeatResult,
  HeldRun,
  HeldTask,
  Message,
  PassLocksResult,
  QueueState,
  RegisterWorkerResult,
  RunRow,
  TakeAsksResult,
  VersionRow,
} from "holdfast/adapter";
import type { Answer, Call } from "./call.ts";
import { comparableQueues, sortBy, withoutFence } from "./contents.ts";
import { isLimited } from "./limits/calls.ts";
import { comparableDebts } from "./talks/contents.ts";
import { comparableExpired, comparableFinishes, comparableTaskClaim, orderKey } from "./tasks/answer.ts";
import type { World } from "./world.ts";

/** An answer without what the contract leaves to the store: order where none is promised, fields without meaning. */
export function comparableAnswer(call: Call, answer: Answer, world: World): unknown {
  if ("error" in answer) return { error: answer.error };
  const { value } = answer;
  switch (call.method) {
    case "runs.claim":
      return comparableClaim(call.params, value as ClaimRunsResult, world);
    case "runs.commit":
      return comparableCommits(value as CommitRunsResult);
    case "workers.register": {
      const { namesakes, ...rest } = value as RegisterWorkerResult;
      return { ...rest, namesakes: namesakes && sortBy(namesakes, ({ workerId }) => workerId) };
    }
    case "workers.heartbeat":
      return comparableHeartbeat(value as HeartbeatResult);
    case "workers.readHeld":
      return sortBy(value as readonly HeldRun[], ({ runId }) => runId);
    case "workers.readHeldTasks":
      return sortBy(value as readonly HeldTask[], orderKey);
    case "tasks.claim":
      return comparableTaskClaim(call.params, value as ClaimTasksResult, world);
    case "tasks.finish":
      return comparableFinishes(call.params, value as FinishTasksResult, world);
    case "tasks.expired":
      return comparableExpired(value as ExpiredTasksResult);
    case "debts.read":
      return comparableDebts(value as readonly Debt[]);
    case "asks.take":
      return { ...(value as TakeAsksResult), asks: sortBy((value as TakeAsksResult).asks, ({ askId }) => askId) };
    case "locks.pass": {
      const { answers, passed } = value as PassLocksResult;
      return { passed, answers: answers.map(({ outcome }) => outcome) };
    }
    case "queues.list":
      return comparableQueues(value as readonly QueueState[]);
    case "inbox.read":
      return comparableInbox(value as readonly Message[], world);
    case "versions.list":
      return sortBy(value as readonly VersionRow[], (row) => `${row.workflow}/${row.registeredAt}/${row.version}`);
    default:
      return value;
  }
}

function comparableClaim(params: ClaimRunsParams, result: ClaimRunsResult, world: World): unknown {
  const { moreDue, nextDueAt, suspectDue, runs, messages, ...rest } = result;
  const suspects = world.contents.runs.some((run) => run.suspect && run.availableAt !== null);
  return {
    ...rest,
    runs: sortBy(runs, ({ runId }) => runId),
    messages: comparableInbox(messages, world),
    ...(params.again || suspects ? {} : { moreDue }),
    // In a queue with limits, a claim that serves nothing there may be told when there are tokens, or not.
    ...(params.again || suspects || world.limited ? {} : { nextDueAt }),
    ...(params.again || params.solo ? {} : { suspectDue }),
  };
}

/** The messages and the numbers of debts may be missing from an answer, and a lost commit says nothing about deliveries. */
function comparableCommits({ outcomes, now }: CommitRunsResult): unknown {
  const comparableOne = (one: CommitOutcome): unknown =>
    one.outcome === "lost"
      ? { ...one, delivered: 0 }
      : { ...one, tasksHeld: one.tasksHeld && [...one.tasksHeld].sort(), debtNo: undefined };
  return { now, outcomes: outcomes.map(comparableOne) };
}

function comparableHeartbeat(result: HeartbeatResult): unknown {
  const { live, now, behind, canceledTasks } = result;
  if (!live) return { live, now };
  return { ...result, behind: [...behind].sort(), canceledTasks: sortBy(canceledTasks, orderKey) };
}

function comparableInbox(messages: readonly Message[], world: World): unknown {
  const rows = new Map(world.contents.runs.map((run) => [run.runId, run]));
  const kept = messages.filter(({ runId, number }) => {
    const run = rows.get(runId);
    return run?.status !== "continued" || number <= run.consumed;
  });
  return sortBy(kept, ({ runId, number }) => `${runId} ${String(number).padStart(9, "0")}`).map((message) => {
    const run = rows.get(message.runId);
    const { payload, at, ...rest } = withoutFence(message);
    const unconsumed = run !== undefined && message.number > run.consumed;
    return { ...rest, ...(unconsumed ? { payload } : {}), ...(run?.continuedFrom === null ? { at } : {}) };
  });
}

/** What is wrong with the order in which a claim took its runs; undefined if nothing is. */
export function wrongClaimOrder(result: ClaimRunsResult, world: World): string | undefined {
  // Keys come first there.
  if (result.runs.some(({ namespace, queue }) => isLimited(world, namespace, queue))) return undefined;
  const before = new Map(world.contents.runs.map((run) => [run.runId, run]));
  for (const [i, later] of result.runs.entries()) {
    for (const earlier of result.runs.slice(0, i)) {
      if (earlier.priority < later.priority) return `${later.runId} has a higher priority than ${earlier.runId}`;
      const [a, b] = [before.get(earlier.runId), before.get(later.runId)];
      if (a && b && laneOf(a) === laneOf(b) && (a.availableAt ?? 0) > (b.availableAt ?? 0))
        return `${b.runId} was due before ${a.runId}`;
    }
  }
  return undefined;
}

/** The order of a claim is promised within a lane. */
export function laneOf(run: RunRow): string {
  return [run.queue, run.workflow, run.version, run.priority].join("\n");
}
