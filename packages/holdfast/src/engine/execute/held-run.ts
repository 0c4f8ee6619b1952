import type { Message } from "../../model/message.ts";
import type { Run } from "../../model/run.ts";
import type { Machine } from "../../replay/machine.ts";

/** A run that a worker holds, or has just let go of, as the other parts of the worker see it. */
export interface HeldRun {
  readonly runId: string;
  readonly run: Run;
  readonly machine: Machine;
  /** Whether the worker has the run. */
  readonly here: boolean;
  /** Whether the run waits in the store, and its memory here. */
  readonly suspended: boolean;
  /** The number of the last message that was taken in. */
  readonly queuedMessages: number;
  takeMessages(messages: readonly Message[]): void;
  /** The store has more messages than have been taken in. */
  isBehind(delivered: number): boolean;
  /** Something outside has changed: see what can be done. */
  poke(): void;
}
