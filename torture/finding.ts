/** What the judge may find. */

export const FAULTS = ["lost", "wrong", "repeated", "forgotten", "early", "late"] as const;

/**
 * `lost`: an acknowledged run is missing or has not ended, or the result of a task, the outcome of a child or the answer to an
 * update is missing. `wrong`: it ended differently than undisturbed, is not undone, or two runs say different things about each
 * other. `repeated`: a step or a task was executed again after its result was durable, or has two results; a child was started
 * twice, a message taken twice. `forgotten`: a task outlived its run, a run waits for a task that does not exist, a child was not
 * closed, or a run still owes something. `early`: an effect came before its predecessors were durable. `late`: an effect began
 * after the lease of its process had expired.
 */
export type Fault = (typeof FAULTS)[number];

export interface Finding {
  readonly fault: Fault;
  readonly id: string;
  readonly text: string;
}

export type Report = (fault: Fault, text: string) => void;
