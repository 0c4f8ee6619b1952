/** How long a run of the simulator may go on after everything was healed. */
import type { MemoryState } from "../packages/holdfast/src/memory/state.ts";
import type { SimTime } from "./clock.ts";

/** Longer than anything takes without anything being recorded. */
const SILENCE_MS_MAX = 20 * 60_000;
/** Longer than everything takes, also if all runs go one after the other through a lock, with sleeps and children inside of it. */
const ALL_MS_MAX = 12 * SILENCE_MS_MAX;

/** Until it is over, or nothing has been recorded for long. */
export async function untilSettled(time: SimTime, state: MemoryState, isOver: () => boolean): Promise<void> {
  const end = time.elapsedMs + ALL_MS_MAX;
  for (let before = -1; before !== eventsOf(state) && time.elapsedMs < end && !isOver(); ) {
    before = eventsOf(state);
    const limit = time.elapsedMs + SILENCE_MS_MAX;
    await time.run(() => isOver() || time.elapsedMs >= limit);
  }
}

function eventsOf({ runs }: MemoryState): number {
  let events = 0;
  for (const { eventCount } of runs.values()) events += eventCount;
  return events;
}
