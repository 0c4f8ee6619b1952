/** What the judge may find. */

export const FAULTS = ["lost", "wrong", "repeated", "forgotten", "early", "late"] as const;

/**
 * `lost`: an acknowledged run is missing or has not ended, or the result of a task is missing. `wrong`: it ended differently
 * than undisturbed, or is not undone. `repeated`: a step or a task was executed again after its result was durable, or has two
 * results. `forgotten`: a task outlived its run, or a run waits for a task that does not exist. `early`: an effect came before
 * its predecessors were durable. `late`: an effect began after the lease of its process had expired.
 */
export type Fault = (typeof FAULTS)[number];

export interface Finding {
  readonly fault: Fault;
  readonly id: string;
  readonly text: string;
}

export type Report = (fault: Fault, text: string) => void;
