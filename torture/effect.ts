/**
 * What the steps and tasks of the torture workflows do: record that they began, wait, fail as planned, record that they ended.
 */
import { AsyncLocalStorage } from "node:async_hooks";

export interface EffectPlan {
  /** The same for every execution: outputs are made from it. */
  readonly value: string;
  readonly seen: readonly string[];
  readonly attempt: number;
  /** How many attempts fail before one succeeds. */
  readonly failures?: number;
  readonly dwellMs?: number;
  readonly undoable?: boolean;
  readonly once?: boolean;
  /** Waits for the process's gate, if it has one. */
  readonly gated?: boolean;
  /** Kills the process. */
  readonly deadly?: boolean;
  /** The rest of the work of a task. */
  readonly during?: () => Promise<void>;
}

export interface EffectResult {
  readonly value: string;
  readonly token: string;
}

/** One execution of a step or a task in a worker process. */
export interface EffectSite {
  begin(plan: EffectPlan): string;
  middle(plan: EffectPlan): Promise<void>;
  end(token: string): void;
}

export const effectSites = new AsyncLocalStorage<EffectSite>();

/** Outside a worker process (the undisturbed run on the memory store) it records nothing. */
export async function perform(plan: EffectPlan): Promise<EffectResult> {
  const site = effectSites.getStore();
  const token = site?.begin(plan) ?? "undisturbed";
  await site?.middle(plan);
  await plan.during?.();
  site?.end(token);
  if (plan.attempt <= (plan.failures ?? 0)) throw new Error(`attempt ${plan.attempt} fails as planned [${token}]`);
  return { value: plan.value, token };
}
