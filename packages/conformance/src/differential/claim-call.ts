import type { ClaimRunsParams, Run } from "holdfast/adapter";
import { laneOf } from "./answer.ts";
import type { Call } from "./call.ts";
import { someNamespace, someWorkerId } from "./choices.ts";
import type { Dice } from "./dice.ts";
import { claimedQueues, isLimited } from "./limits/calls.ts";
import { isDecidableTaskClaim } from "./tasks/calls.ts";
import type { World } from "./world.ts";

export function claimCall(world: World, dice: Dice): Call | undefined {
  const worker = dice.chance(0.9) ? dice.pick(world.liveWorkers) : undefined;
  const suspects = world.contents.runs.some((run) => run.suspect && run.availableAt !== null);
  const params: ClaimRunsParams = {
    workerId: worker?.workerId ?? someWorkerId(world, dice),
    claimId: world.newClaimId(),
    again: false,
    namespace: someNamespace(worker?.namespace, dice),
    queues: claimedQueues(dice.of(["default"], ["default", "slow"], ["slow"]), world, dice),
    handlers: dice.of(ALL_HANDLERS, ALL_HANDLERS, ALL_HANDLERS.slice(0, 1), ALL_HANDLERS.slice(1)),
    limit: dice.of(1, 2, 100),
    solo: dice.chance(suspects ? 0.6 : 0.1),
  };
  const limit = decidableLimit(params, world);
  return limit === undefined ? undefined : { method: "runs.claim", params: { ...params, limit } };
}

/** False for a claim that stores may answer in different ways. */
export function isDecidable(call: Call, world: World): boolean {
  if (call.method === "tasks.claim") return isDecidableTaskClaim(call.params, world);
  if (call.method !== "runs.claim") return true;
  const { params } = call;
  if (!params.again) return decidableLimit(params, world) === (params.solo ? 1 : params.limit);
  // If no run is left that was claimed under the id, the store may claim or not.
  return world.heldRuns.some((run) => run.heldBy === params.workerId && run.claimId === params.claimId);
}

const ALL_HANDLERS = [
  { workflow: "order", version: "1" },
  { workflow: "order", version: "2" },
  { workflow: "refund", version: "1" },
  { workflow: "refund", version: "2" },
];

/**
 * The contract orders runs by priority, and within a lane by due time. If the limit falls between runs that it does not
 * order, stores may differ: the limit is moved past them.
 */
function decidableLimit(params: ClaimRunsParams, world: World): number | undefined {
  if (!params.solo && params.queues.some((queue) => isLimited(world, params.namespace, queue)))
    return params.queues.length === 1 ? params.limit : undefined;
  const due = world.contents.runs
    .filter((run) => isTakenBy(run, params) && run.availableAt !== null && run.availableAt <= world.now)
    .sort((a, b) => b.priority - a.priority || (a.availableAt ?? 0) - (b.availableAt ?? 0));
  const limit = params.solo ? 1 : params.limit;
  const [last, next] = [due[limit - 1], due[limit]];
  if (!last || !next || last.priority !== next.priority) return limit;
  const equals = due.filter((run) => run.priority === last.priority);
  const oneLane = equals.every((run) => laneOf(run) === laneOf(last));
  if (oneLane && last.availableAt !== next.availableAt) return limit;
  return params.solo ? undefined : due.filter((run) => run.priority >= last.priority).length;
}

function isTakenBy(run: Run, params: ClaimRunsParams): boolean {
  if (run.namespace !== params.namespace || run.suspect !== params.solo) return false;
  if (!params.queues.includes(run.queue)) return false;
  return params.handlers.some(({ workflow, version }) => run.workflow === workflow && run.version === version);
}
