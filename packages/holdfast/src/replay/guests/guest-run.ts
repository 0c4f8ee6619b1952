/** A run whose code is in another process, as whoever brings guests to it sees it. */
import type { HistoryEvent } from "../../model/event.ts";
import type { Run } from "../../model/run.ts";
import type { RunDeparture } from "../machine.ts";
import type { ResolvedStepOptions } from "../ops/step-options.ts";

/** Who brings guests to runs. */
export interface GuestHost {
  /** How many runs may be held: those that guests work on, and one for each guest that waits. */
  capacity(): number;
  /** Nobody works on the run: it can be handed to a guest. Said again when that changes. */
  offer(run: GuestRun): void;
  left(run: GuestRun, how: RunDeparture): void;
  /** The guest was told to stop because of this step or sleep, which is due in so many milliseconds: an open step must not keep the run here any longer. */
  stopped(run: GuestRun, name: string, dueInMs: number): void;
}

/** What a guest learns when it asks for a step. */
export type BegunStep =
  | { readonly type: "execute"; readonly attempt: number; readonly idempotencyKey: string }
  /** It was completed, or has failed for good, before. */
  | { readonly type: "ended"; readonly event: HistoryEvent };

/** What becomes of a step that has failed: it is tried again at that time, or it has failed for good. */
export interface FailedStep {
  readonly retryAt: number | undefined;
}

export type GuestEnd =
  /** `dropsOpenSteps`: the steps that it has begun and not ended do not matter to it any longer. */
  | { readonly type: "completed"; readonly output: unknown; readonly dropsOpenSteps: boolean }
  | { readonly type: "failed"; readonly error: unknown };

/** What a guest can do with a run. Every answer is durable; every call throws `guest_run_lost` once the run has left. */
export interface GuestRun {
  readonly run: Run;
  /** What was done before, in the order in which it ended. */
  readonly done: readonly HistoryEvent[];
  /** Nobody works on it any longer: it is let go of once nothing of it is in progress here. */
  leave(): void;
  /** Whether the guest that was told to stop has not asked for the step or sleep again: then the run is for whoever comes next. */
  isStoppedAt(name: string): boolean;
  /** Throws if `begin` would refuse a step of this name. */
  requireStepName(name: string): void;
  begin(name: string, options: ResolvedStepOptions): Promise<BegunStep>;
  /** How the step ended. `attempt` 0: whichever is in progress. */
  complete(name: string, output: unknown, attempt: number): Promise<HistoryEvent>;
  fail(name: string, error: unknown, attempt: number): Promise<FailedStep>;
  /** Whether the time is over. If it is not, the run is let go of until then. */
  sleep(name: string, ms: number): Promise<boolean>;
  /**
   * Resolves once the end is durable; it may be another one, which was decided before. Throws `steps_open` if the guest has completed the
   * run, and not the steps that it has begun.
   */
  end(end: GuestEnd): Promise<void>;
}
