import type { Call } from "./call.ts";
import { randomRun, someNamespace } from "./choices.ts";
import type { Dice } from "./dice.ts";
import { FORK_IDS, IDS, type World } from "./world.ts";

/** A fork of some run, usually under an id that no run has. */
export function forkCall(world: World, dice: Dice): Call | undefined {
  const run = dice.pick(world.contents.runs);
  if (!run) return undefined;
  const { runId, eventCount, workflow, version } = run;
  const namespace = someNamespace(run.namespace, dice);
  const id = dice.pick(dice.chance(0.2) ? IDS : FORK_IDS) as string;
  const { startDelayMs: _delay, startAt: _at, ...fresh } = randomRun(world, dice, namespace, id);
  const again = dice.chance(0.1) ? dice.pick(world.contents.runs) : undefined;
  const params = {
    origin: { namespace, runId: dice.chance(0.95) ? runId : world.strangeId() },
    copied: dice.chance(0.05) ? eventCount + 1 : dice.int(eventCount + 1),
    judged: dice.chance(0.9) ? eventCount : 0,
    numberedFrom: dice.of(0, 0, 3),
    run: {
      ...fresh,
      workflow,
      version,
      ...(again?.namespace === namespace ? { runId: again.runId, id: again.id } : {}),
    },
    event: { type: "run_forked", op: null, meta: { seed: "s", forkedFrom: { runId, id: run.id } } } as const,
  };
  return { method: "runs.fork", params };
}
