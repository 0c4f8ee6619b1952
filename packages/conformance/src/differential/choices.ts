import type { NewRun, Run, RunRef, WorkerRef, WorkerRow } from "holdfast/adapter";
import { bytes } from "../sample-data.ts";
import type { Dice } from "./dice.ts";
import { someKey } from "./limits/calls.ts";
import { NAMESPACES, type World } from "./world.ts";

/** Usually one of the workers, sometimes one that never existed. */
export function someWorkerId(world: World, dice: Dice): string {
  const live = dice.chance(0.8) ? dice.pick(world.liveWorkers)?.workerId : undefined;
  return live ?? (dice.chance(0.9) ? dice.pick(world.workerIds) : undefined) ?? world.strangeId();
}

/** A live worker of a namespace in which some of these are due, if there is one. */
export function workerFor(
  rows: readonly { readonly namespace: string; readonly availableAt: number | null }[],
  world: World,
  dice: Dice,
): WorkerRow | undefined {
  const due = rows.filter(({ availableAt }) => availableAt !== null);
  const workers = world.liveWorkers.filter(({ namespace }) => due.some((row) => row.namespace === namespace));
  return dice.pick(workers.length > 0 ? workers : world.liveWorkers);
}

/** Usually the given namespace, sometimes another one. */
export function someNamespace(namespace: string | undefined, dice: Dice): string {
  return dice.chance(0.95) ? (namespace ?? "default") : (dice.pick(NAMESPACES) as string);
}

/** A worker, nearly always in its own namespace. */
export function someWorker(world: World, dice: Dice): WorkerRef {
  const workerId = someWorkerId(world, dice);
  const row = world.contents.workers.find((worker) => worker.workerId === workerId);
  return { namespace: someNamespace(row?.namespace, dice), workerId };
}

export function someRun(world: World, dice: Dice): RunRef {
  const open = world.contents.runs.filter((run) => run.endedAt === null);
  const run = dice.pick(dice.chance(0.7) && open.length > 0 ? open : world.contents.runs);
  if (run && dice.chance(0.6)) return { namespace: someNamespace(run.namespace, dice), runId: run.runId };
  if (dice.chance(0.05)) return { namespace: "default", runId: world.strangeId() };
  return { namespace: dice.pick(NAMESPACES) as string, id: dice.pick(world.ids) as string };
}

export function randomRun(world: World, dice: Dice, namespace: string, id: string): NewRun {
  return {
    namespace,
    runId: world.newRunId(),
    id,
    workflow: dice.of("order", "order", "refund"),
    version: dice.of("1", "1", "2"),
    queue: dice.of("default", "default", "slow"),
    priority: dice.of(0, 0, 0, 5, -5),
    input: bytes(String(dice.int(100))),
    seed: `seed ${dice.int(100)}`,
    attributes: dice.of({}, { region: "eu" }, { region: 1 }, { region: null, tier: true }),
    ...(dice.chance(0.15) ? { startDelayMs: dice.of(0, 1, 500, 3_000) } : {}),
    ...(dice.chance(0.15) ? { startAt: world.now + dice.of(-500, 0, 1, 700) } : {}),
    ...(dice.chance(0.2) ? { timeoutMs: dice.of(0, 1, 3_000, 60_000, 200_000) } : {}),
    ...(world.limited ? someKey(dice) : {}),
  };
}

/** The start that once created this run. */
export function sameRun(run: Run): NewRun {
  const { namespace, runId, id, workflow, version, queue, priority, input, seed, attributes, key } = run;
  const start = { namespace, runId, id, workflow, version, queue, priority, input, seed, attributes };
  return key === undefined ? start : { ...start, key };
}
