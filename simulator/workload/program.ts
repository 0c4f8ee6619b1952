/**
 * Generated workflows: trees of ops that an interpreter runs with whatever ctx it is given, the engine's or the reference's
 * (reference.ts). So what a workflow should yield is said once, by the same code.
 */
import { isHoldfastError } from "../../packages/holdfast/src/errors/holdfast-error.ts";
import type { Context } from "../../packages/holdfast/src/replay/context/context.ts";
import type { askTransaction } from "../../packages/holdfast/src/replay/context/run-context.ts";
import type { StepInfo } from "../../packages/holdfast/src/replay/ops/step-options.ts";
import type { WorkloadSettings } from "../configuration.ts";
import type { Dice } from "../dice.ts";
import type { Sight } from "../evidence.ts";

/** One op of a generated workflow; its kind says what else it has. */
export interface Node {
  readonly kind: string;
}

export interface Program {
  readonly workflow: string;
  readonly version: string;
  readonly body: readonly Node[];
  /** How often it continues as new. */
  readonly hops: number;
  /** Of the run as a whole. */
  readonly retry: { readonly attempts: number; readonly ms: number } | undefined;
  /** Signals that it waits for; one that must come is waited for without a timeout. */
  readonly signals: readonly { readonly name: string; readonly must: boolean }[];
  /** Letters that it reads before it ends, each hop. */
  readonly letters: number;
  /** Before it returns it listens to whoever has something to say. */
  readonly lastWords: boolean;
  /** Its runs may be tried again as a whole. */
  readonly retriable: boolean;
}

/** What a step does to the world outside. */
export interface EffectPlan {
  readonly op: string;
  readonly ms: number;
  /** So many attempts fail before one succeeds. */
  readonly failures: number;
  /** Fails until everything has healed. */
  readonly untilMended?: boolean;
  /** Its failure is not to be retried. */
  readonly fatal?: boolean;
  /** Stops when it is aborted. */
  readonly heeds?: boolean;
  readonly once?: boolean;
  /** Kills its process, so many times. */
  readonly kills?: number;
  readonly shielded?: boolean;
  readonly told?: string;
  /** Counts only if it commits; nobody but the store decides about that. */
  readonly transaction?: boolean;
}

/** What the code had seen when it asked for an effect. */
export interface Seen {
  readonly seq: number;
  readonly sights: readonly Sight[];
}

/** The process on which a workflow runs, as its steps see it. */
export interface Stage {
  /** Which code is deployed here. */
  readonly generation: number;
  /** Whether steps that are retired are gone. */
  readonly retires: boolean;
  perform(
    runId: string,
    plan: EffectPlan,
    info: Pick<StepInfo, "attempt" | "signal">,
    seen: Seen,
  ): Promise<string> | string;
  /** A transaction of that op has committed. */
  commit(runId: string, op: string): void;
  /** How a transaction step is asked for. */
  readonly ask: typeof askTransaction;
  /** Some value from outside. */
  flag(): number;
}

/** Where an op runs. */
export interface Site {
  readonly ctx: Context;
  readonly stage: Stage;
  /** What the code has seen so far; one list for the whole run. */
  readonly sights: Sight[];
  readonly shielded: boolean;
  run(node: Node, site: Site): Promise<unknown>;
}

/** What an op is drawn with. */
export interface Draft {
  readonly dice: Dice;
  readonly settings: WorkloadSettings;
  /** A name that no other op of the workflow has. */
  name(prefix: string): string;
  /** Another op, one level deeper; `atLeast` 1 unless the budget is used up. */
  nodes(least: number, most: number): readonly Node[];
  /** The workflow waits for this signal. */
  signal(name: string, must: boolean): void;
  letters(count: number): void;
  /** Whether it stands on the trunk, where everything before it has happened once and in order. */
  readonly onTrunk: boolean;
  /** Nothing has been drawn before it. */
  readonly isFirst: boolean;
  /** The workflow has a race: its runs are not tried again as a whole (FOUND.md). */
  useRace(): void;
}

export interface OpKind<N extends Node = Node> {
  readonly kind: N["kind"];
  /** Undefined where it does not fit. */
  draw(draft: Draft): N | undefined;
  run(node: N, site: Site): Promise<unknown>;
}

export function seenAt(site: Site): Seen {
  return { seq: site.ctx.info.historyLength, sights: [...site.sights] };
}

/** Remembers what an op has given to the code. */
export async function noteSight(site: Site, op: string, promise: Promise<string>): Promise<string> {
  const value = await promise;
  site.sights.push({ op, value });
  return value;
}

/** Workflow code lets these pass: somebody wants it to stop. */
export function isCancellation(error: unknown): boolean {
  return ["run_canceled", "run_timed_out", "op_canceled"].some((code) => isHoldfastError(error, code as "op_canceled"));
}

/** What stands in an output for an error. */
export function errorText(error: unknown): string {
  return isHoldfastError(error, "race_failed") ? "race failed" : String((error as Error).message);
}
