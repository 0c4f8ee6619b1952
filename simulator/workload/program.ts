/**
 * Generated workflows: trees of ops that an interpreter runs with any ctx, the engine's or the reference's
 * (reference.ts). So the expected output of a workflow is defined once, by the same code.
 */
import { isHoldfastError } from "../../packages/holdfast/src/errors/holdfast-error.ts";
import { isOfOtherRun } from "../../packages/holdfast/src/errors/run-errors.ts";
import type { Context, HeldLock } from "../../packages/holdfast/src/replay/context/context.ts";
import type { askTransaction } from "../../packages/holdfast/src/replay/context/run-context.ts";
import type { StepInfo } from "../../packages/holdfast/src/replay/ops/step-options.ts";
import type { WorkloadSettings } from "../configuration.ts";
import type { Dice } from "../dice.ts";
import type { Sight } from "../evidence.ts";
import type { Talk } from "./talk.ts";

/** One op of a generated workflow; its kind says which other fields it has. */
export interface Node {
  readonly kind: string;
}

export interface Program {
  readonly workflow: string;
  readonly version: string;
  readonly body: readonly Node[];
  /** How many times it continues as new. */
  readonly hops: number;
  /** The retry policy of whole runs. */
  readonly retry: { readonly attempts: number; readonly ms: number } | undefined;
  /** Signals that it waits for; one that must come is awaited without a timeout. */
  readonly signals: readonly { readonly name: string; readonly must: boolean }[];
  /** How many letters it reads before it ends, in each run of the chain. */
  readonly letters: number;
  /** Before it returns, it receives every signal sent so far. */
  readonly lastWords: boolean;
  /** Its runs may be retried as a whole. */
  readonly retriable: boolean;
  /** It answers updates and queries. */
  readonly talks: boolean;
  /** What only its runs start. */
  readonly offspring: readonly Program[];
}

/** The input of every generated workflow. */
export interface ProgramInput {
  readonly hop: number;
  /** Which of the planned runs it comes from. */
  readonly rank?: number;
  /** The op of another run that has started it, and how many events the code of that had seen. */
  readonly by?: string;
  readonly seen?: number;
  /** Which start of a step it was. */
  readonly number?: number;
}

/** The outside effect of a step. */
export interface EffectPlan {
  readonly op: string;
  readonly ms: number;
  /** How many attempts fail before one succeeds. */
  readonly failures: number;
  /** Fails until everything has healed. */
  readonly untilMended?: boolean;
  /** Its failure is not retried. */
  readonly fatal?: boolean;
  /** Stops when it is aborted. */
  readonly heeds?: boolean;
  readonly once?: boolean;
  /** How many times it kills its process. */
  readonly kills?: number;
  readonly shielded?: boolean;
  readonly told?: string;
  /** Counts only if it commits, which only the store decides. */
  readonly transaction?: boolean;
}

/** What the code had seen when it requested an effect. */
export interface Seen {
  readonly seq: number;
  readonly sights: readonly Sight[];
  /** Those that it was inside of. */
  readonly locks?: readonly InLock[];
  /** Those that any code of the run is inside of, now. */
  readonly rooms?: readonly InLock[];
}

/** A lock that code is inside of. */
export interface InLock {
  readonly name: string;
  readonly held: HeldLock;
  /** It is around a branch that is canceled when another one has won or failed. */
  readonly branched?: true;
  /** The function inside of it need not wait for this part, which then goes on without the lock. */
  readonly loose?: true;
}

/** For a part that nobody cancels, and that may go on when nobody waits for it. */
export function loosened(locks: readonly InLock[]): readonly InLock[] {
  return locks.map((own) => ({ ...own, loose: true }));
}

export function inBranch(locks: readonly InLock[]): readonly InLock[] {
  return locks.map((own) => ({ ...own, branched: true }));
}

/** The process that runs a workflow, as its steps see it. */
export interface Stage {
  /** Which code is deployed here. */
  readonly generation: number;
  /** Whether retired steps are gone from the code. */
  readonly retires: boolean;
  perform(
    runId: string,
    plan: EffectPlan,
    info: Pick<StepInfo, "attempt" | "signal">,
    seen: Seen,
  ): Promise<string> | string;
  /** Reports that a transaction of the op has committed. */
  commit(runId: string, op: string, seen: Seen): void;
  /** How to request a transaction step. */
  readonly ask: typeof askTransaction;
  /** A value from outside. */
  flag(): number;
}

/** Where an op runs. */
export interface Site {
  readonly ctx: Context;
  readonly stage: Stage;
  /** What the code has seen so far; one list for the whole run. */
  readonly sights: Sight[];
  readonly shielded: boolean;
  /** Its place among the planned runs, or that of the one it comes from. */
  readonly rank: number;
  readonly talk: Talk;
  /** Those that the code is inside of, outermost first. */
  readonly locks: readonly InLock[];
  /** Those that any code of the run is inside of; one list for the whole run. */
  readonly rooms: InLock[];
  run(node: Node, site: Site): Promise<unknown>;
}

/** What an op is generated with. */
export interface Draft {
  readonly dice: Dice;
  readonly settings: WorkloadSettings;
  /** A name that no other op of the workflow has. */
  name(prefix: string): string;
  /** Further ops, one level deeper; at least `least`, unless the budget is used up. */
  nodes(least: number, most: number): readonly Node[];
  /** The same inside of a lock. There only locks of a higher rank fit, and nothing that waits for runs that may want the lock. */
  nodesInLock(rank: number, least: number, most: number): readonly Node[];
  /** The rank of the innermost lock around the op; 0 outside. */
  readonly lockRank: number;
  /** The workflow waits for this signal. */
  signal(name: string, must: boolean): void;
  letters(count: number): void;
  /** Whether the op is on the trunk, where everything before it has happened once and in order. */
  readonly onTrunk: boolean;
  /** Nothing has been generated before it. */
  readonly isFirst: boolean;
  /** A workflow that only this op starts; undefined where no further one is wanted. */
  child(prefix: string): string | undefined;
  /** Declares that the workflow has a race, or locks in several branches: its runs are not retried as a whole (FOUND.md). */
  useRace(): void;
}

export interface OpKind<N extends Node = Node> {
  readonly kind: N["kind"];
  /** Undefined where the op does not fit. */
  draw(draft: Draft): N | undefined;
  run(node: N, site: Site): Promise<unknown>;
}

export function seenAt(site: Site): Seen {
  return { seq: site.ctx.info.historyLength, sights: [...site.sights], locks: site.locks, rooms: site.rooms };
}

/** Records what an op returned to the code. */
export async function noteSight(site: Site, op: string, promise: Promise<string>): Promise<string> {
  const value = await promise;
  site.sights.push({ op, value });
  return value;
}

/** Workflow code rethrows these: it is asked to stop. */
export function isCancellation(error: unknown): boolean {
  if (isOfOtherRun(error)) return false;
  return ["run_canceled", "run_timed_out", "op_canceled"].some((code) => isHoldfastError(error, code as "op_canceled"));
}

/** How an error appears in an output. */
export function errorText(error: unknown): string {
  if (isOfOtherRun(error)) return error.code;
  return isHoldfastError(error, "race_failed") ? "race failed" : String((error as Error).message);
}
