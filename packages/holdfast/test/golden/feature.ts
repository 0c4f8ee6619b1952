import type { AnyTask, AnyWorkflow, RunHandle } from "holdfast";
import type { Fleet } from "../lab/fleet.ts";

/** A feature whose histories are kept for ever, and the code that they must replay with for ever. */
export interface Feature {
  readonly name: string;
  /** What the worker has when the runs begin. */
  readonly workflows: readonly AnyWorkflow[];
  readonly tasks?: readonly AnyTask[];
  /** What the worker that takes over has; the histories replay with that. By default the same. */
  readonly later?: readonly AnyWorkflow[];
  /** Starts runs and does to them what there is to do; with `later`, up to the moment of the deployment. */
  happen(fleet: Fleet): Promise<void>;
  /** The same, after the deployment. */
  happenLater?(fleet: Fleet): Promise<void>;
}

export function declined(): never {
  throw new Error("declined");
}

/** Work that takes that long on the fleet's clock. */
export function taking({ clock }: Fleet, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.setTimer(ms, resolve));
}

/** Lets time pass until all of them have ended, well or badly. */
export async function ended(fleet: Fleet, ...runs: readonly RunHandle[]): Promise<void> {
  for (const run of runs) await fleet.result(run).catch(() => {});
}
