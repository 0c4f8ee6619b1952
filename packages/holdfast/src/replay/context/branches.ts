import { HoldfastError } from "../../errors/holdfast-error.ts";
import { checkOptions, type OptionChecks, oneOf, wholeNumber } from "../../errors/option-checks.ts";
import { describeValue, isInstance, readText } from "../../errors/safe-read.ts";
import { shownValue } from "../../errors/shown-value.ts";
import type { MachineInside } from "../machine-inside.ts";
import { cancelScope } from "./cancellation.ts";
import { type Context, ContinueAsNew } from "./context.ts";
import { Scope } from "./scope.ts";

/** A part of a workflow. Ops asked for through the ctx it is given belong to the branch and are canceled with it. */
export type Branch<T = unknown> = (ctx: Context) => T | PromiseLike<T>;
/** Branches whose results come back as a list. */
export type BranchList = readonly Branch[];
/** Branches whose results come back under the same names. */
export type BranchMap = Readonly<Record<string, Branch>>;
/** Branches of `ctx.parallel` and `ctx.race`: a list, or an object with names. */
export type Branches = BranchList | BranchMap;

type ResultOf<F> = F extends (...args: never[]) => infer R ? Awaited<R> : never;
/** Results in the shape of the branches. */
export type Outcomes<B extends Branches> = { -readonly [K in keyof B]: ResultOf<B[K]> };
/** Every outcome in the shape of the branches, as `Promise.allSettled` gives it. */
export type Settled<B extends Branches> = { -readonly [K in keyof B]: PromiseSettledResult<ResultOf<B[K]>> };

/** Options of `ctx.parallel`. */
export interface ParallelOptions {
  /**
   * `"fail-fast"`: the first error rejects and cancels the others. `"collect-all"`: waits for all, and gives every outcome.
   * @defaultValue `"fail-fast"`
   */
  readonly onError?: "fail-fast" | "collect-all";
  /**
   * How many branches may be under way at once.
   * @defaultValue no limit
   */
  readonly limit?: number;
}

/** The options with which `ctx.parallel` gives every outcome instead of the results. */
export type CollectAll = ParallelOptions & { readonly onError: "collect-all" };

/** Which branch won: its key, or its position as a number when the branches are a list. */
export type RaceResult<B extends Branches> = B extends readonly Branch[]
  ? { readonly winner: number; readonly value: ResultOf<B[number]> }
  : { [K in keyof B & string]: { readonly winner: K; readonly value: ResultOf<B[K]> } }[keyof B & string];

const isLimit = wholeNumber(1);

const PARALLEL_OPTIONS: OptionChecks<ParallelOptions> = {
  onError: oneOf("fail-fast", "collect-all"),
  limit: (value, where, option) => {
    if (value !== Number.POSITIVE_INFINITY) isLimit(value, where, option);
  },
};

interface Lane {
  readonly key: string;
  readonly fn: Branch;
  readonly scope: Scope;
}

export async function runParallel(
  machine: MachineInside,
  scope: Scope,
  branches: Branches,
  options: ParallelOptions,
): Promise<unknown> {
  checkOptions(options, PARALLEL_OPTIONS, "ctx.parallel");
  const limit = options.limit ?? Number.POSITIVE_INFINITY;
  const lanes = lanesOf(machine, scope, branches, "ctx.parallel");
  const settled = new Map<string, PromiseSettledResult<unknown>>();
  const collect = options.onError === "collect-all";

  await new Promise<void>((resolve, reject) => {
    let next = 0;
    let failed = false;
    const begin = (): void => {
      const lane = lanes[next++];
      if (!lane) return;
      runInScope(machine, lane.scope, lane.fn).then(
        (value) => settle(lane, { status: "fulfilled", value }),
        (reason) => settle(lane, { status: "rejected", reason }),
      );
    };
    const settle = (lane: Lane, result: PromiseSettledResult<unknown>): void => {
      settled.set(lane.key, result);
      if (failed) return;
      const leaves = result.status === "rejected" && isInstance(result.reason, ContinueAsNew);
      if (result.status === "rejected" && (!collect || leaves)) {
        failed = true;
        cancelAll(machine, lanes, lane, "another branch of ctx.parallel has failed");
        reject(result.reason);
      } else if (settled.size === lanes.length) resolve();
      else begin();
    };
    if (lanes.length === 0) resolve();
    for (let i = 0; i < Math.min(limit, lanes.length); i++) begin();
  });

  const value = (key: string): unknown => {
    const result = settled.get(key) as PromiseSettledResult<unknown>;
    return collect ? result : (result as PromiseFulfilledResult<unknown>).value;
  };
  return Array.isArray(branches)
    ? lanes.map((lane) => value(lane.key))
    : Object.fromEntries(lanes.map((lane) => [lane.key, value(lane.key)]));
}

export async function runRace(machine: MachineInside, scope: Scope, branches: Branches): Promise<unknown> {
  const lanes = lanesOf(machine, scope, branches, "ctx.race");
  if (lanes.length === 0) throw new HoldfastError("invalid_option", "ctx.race: there is no branch to wait for.");
  const errors = new Map<string, unknown>();
  return new Promise((resolve, reject) => {
    let over = false;
    for (const lane of lanes) {
      runInScope(machine, lane.scope, lane.fn).then(
        (value) => {
          if (over) return;
          over = true;
          // Branches that came in second in the same turn have lost as well.
          for (const other of lanes) if (other !== lane) machine.signals.giveBack(other.scope);
          cancelAll(machine, lanes, lane, "another branch of ctx.race was first");
          resolve({ winner: Array.isArray(branches) ? Number(lane.key) : lane.key, value });
        },
        (error) => {
          if (over) return;
          errors.set(lane.key, error);
          const leaves = isInstance(error, ContinueAsNew);
          if (errors.size < lanes.length && !leaves) return;
          over = true;
          if (leaves) return reject(error);
          // A race that was canceled from outside must still look canceled.
          const outer = lane.scope.parent?.cancellation();
          const all = lanes.map((l) => errors.get(l.key));
          reject(
            outer ??
              new HoldfastError(
                "race_failed",
                `Every branch of ctx.race failed; the first: ${readText(all[0], "message") ?? describeValue(all[0])}`,
                { cause: new AggregateError(all) },
              ),
          );
        },
      );
    }
  });
}

/** Calls a function whose ops belong to a scope of their own, and closes the scope when it has settled. */
export function runInScope<T>(machine: MachineInside, scope: Scope, fn: Branch<T>): Promise<T> {
  const call = (): Promise<T> => new Promise((resolve) => resolve(fn(machine.contextIn(scope))));
  const settled = machine.within(scope, call).finally(() => scope.close());
  settled.catch(() => {});
  return settled;
}

function lanesOf(machine: MachineInside, scope: Scope, branches: Branches, call: string): Lane[] {
  const parent = (scope === machine.root ? machine.currentScope : scope).nearestOpen();
  if (typeof branches !== "object" || branches === null)
    throw new HoldfastError(
      "invalid_option",
      `${call}: the branches are ${shownValue(branches)}, neither a list of functions nor an object of them.`,
    );
  return Object.entries(branches).map(([key, fn]) => {
    if (typeof fn !== "function")
      throw new HoldfastError(
        "invalid_option",
        `${call}: branch "${key}" is not a function. Write () => ctx.step(…), not the promise itself.`,
      );
    return { key, fn, scope: new Scope(parent) };
  });
}

function cancelAll(machine: MachineInside, lanes: readonly Lane[], except: Lane, why: string): void {
  for (const lane of lanes) {
    if (lane === except || !lane.scope.open) continue;
    cancelScope(machine, lane.scope, new HoldfastError("op_canceled", `Canceled: ${why}.`));
  }
}
