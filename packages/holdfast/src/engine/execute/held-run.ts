import type { HistoryEvent } from "../../model/event.ts";
import type { Message } from "../../model/message.ts";
import type { Run } from "../../model/run.ts";
import type { Transition } from "../../ports/store.ts";
import type { Machine } from "../../replay/machine.ts";

/** A run that a worker holds, or has just suspended, as the other parts of the worker see it. */
export interface HeldRun {
  readonly runId: string;
  readonly run: Run;
  readonly machine: Machine;
  /** Whether the worker holds the run. */
  readonly here: boolean;
  /** Whether the run is suspended in the store and kept in memory here. */
  readonly suspended: boolean;
  /** The number of the last message taken in. */
  readonly queuedMessages: number;
  takeMessages(messages: readonly Message[]): void;
  /** The store has more messages than were taken in. */
  isBehind(delivered: number): boolean;
  /** Something outside has changed: check what can be done. */
  poke(): void;
}

/** A run that a worker has claimed, with what the store has of it. */
export interface ClaimedRun {
  readonly run: Run;
  readonly history: readonly HistoryEvent[];
  readonly messages: readonly Message[];
}

/** How a run leaves a worker. */
export type Leaving =
  | { readonly how: "suspended"; readonly availableAt: number | null }
  | { readonly how: "closed"; readonly transition: Transition }
  | { readonly how: "lost" };
