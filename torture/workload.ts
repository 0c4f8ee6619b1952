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
  /** The driver terminates the run after this many milliseconds. */
  readonly terminateAfterMs?: (n: number) => number;
  /** Other runs that follow from it, whose ids are known. */
  readonly members?: (n: number, id: string) => readonly Member[];
  /** What clients say to the run: the lists at once, what is in one list one after the other. */
  readonly says?: (n: number) => readonly (readonly Saying[])[];
  /** Nobody starts the run: it begins with the first thing that is said to it. */
  readonly begunBySaying?: true;
}

/** A run whose id and end are known in advance. */
export interface Member {
  readonly id: string;
  readonly expected: ExpectedEnd;
  /** It may be that its parent ends before it is started; otherwise it must exist. */
  readonly optional?: true;
}

/** A message of a client; its token is its id. Said from two processes at once, and again until it is answered. */
export interface Saying {
  readonly kind: "update" | "signal-with-start" | "update-with-start";
  readonly sent: Sent;
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
