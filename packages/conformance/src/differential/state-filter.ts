import type { RunFilter } from "holdfast/adapter";
import type { Dice } from "./dice.ts";
import type { World } from "./world.ts";

/** One of the filters by what a run waits for or how it ended; none in most lists. */
export function stateFilter({ now }: World, dice: Dice): Partial<RunFilter> {
  if (dice.chance(0.5)) return {};
  return dice.of<Partial<RunFilter>>(
    { waitingFor: "charge" },
    { waitingFor: "sleep" },
    { waitingFor: "receive:" },
    { retrying: true },
    { waitingSince: now - dice.int(5_000) },
    { error: dice.of("Unknown", "Timeout", "paused", "run_terminated") },
    { endedAfter: now - dice.int(5_000) },
    { endedBefore: now - dice.int(5_000) },
    { endedAfter: now - 5_000, endedBefore: now - dice.int(2_000) },
  );
}
