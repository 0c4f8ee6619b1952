/** What a workload is: a workflow, what the outside world does to its runs, and how they must end. */
import { type RunStatus, signal, type WorkflowDefinition } from "holdfast";

export interface ExpectedEnd {
  readonly status: RunStatus;
  readonly output?: unknown;
  /** Default: none. */
  readonly compensation?: readonly (string | null)[];
}

export interface Workload {
  readonly name: string;
  readonly definition: WorkflowDefinition<number, unknown>;
  readonly end: (n: number) => ExpectedEnd;
  /** What the driver sends, in this order; each signal is sent once the previous one is durable. */
  readonly signals?: (n: number) => readonly Sent[];
  /** The driver cancels the run after this many milliseconds. */
  readonly cancelAfterMs?: (n: number) => number;
  /** The driver finishes tasks of the run with their tokens: what becomes of each, in this order. */
  readonly answers?: (n: number) => readonly PlannedAnswer[];
  /** The run fails, and the driver takes its dead letter up again. */
  readonly repaired?: true;
}

export interface Sent {
  readonly text: string;
  readonly token: string;
}

/** The attempt is failed, or it is completed with this value; either way it is said twice, from two processes if possible. */
export interface PlannedAnswer {
  readonly type: "complete" | "fail";
  readonly value: string;
}

export const nudge = signal<Sent>("nudge");

export function completed(output: unknown): ExpectedEnd {
  return { status: "completed", output };
}
