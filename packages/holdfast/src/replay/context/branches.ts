import { HoldfastError } from "../../errors/holdfast-error.ts";
import { checkOptions, type OptionChecks, oneOf, wholeNumber } from "../../errors/option-checks.ts";
import { describeValue, isInstance, readText } from "../../errors/safe-read.ts";
import { shownValue } from "../../errors/shown-value.ts";
import { bugIn, reportLostBug } from "../code/workflow-bug.ts";
import type { MachineInside } from "../machine-inside.ts";
import { handOn } from "../ops/receive.ts";
import { cancelScope } from "./cancellation.ts";
import { type Branch, type Branches, ContinueAsNew, type ParallelOptions } from "./context.ts";
import { Scope } from "./scope.ts";

const isLimit = wholeNumber(1);

const PARALLEL_OPTIONS: OptionChecks<ParallelOptions> = {
  onError: oneOf("fail-fast", "collect-all"),
  limit: (value, where, option) => {
    if (value !== Number.POSITIVE_INFINITY) isLimit(value, where, option);
  },
};

interface ScopedBranch {
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
  const scoped = scopedBranches(machine, scope, branches, "parallel");
  const settled = new Map<string, PromiseSettledResult<unknown>>();
  const collect = options.onError === "collect-all";

  await new Promise<void>((resolve, reject) => {
    let next = 0;
    let failed = false;
    const begin = (): void => {
      const branch = scoped[next++];
      if (!branch) return;
      runInScope(machine, branch.scope, branch.fn).then(
        (value) => settle(branch, { status: "fulfilled", value }),
        (reason) => settle(branch, { status: "rejected", reason }),
      );
    };
    const settle = (branch: ScopedBranch, result: PromiseSettledResult<unknown>): void => {
      settled.set(branch.key, result);
      if (failed) {
        if (result.status === "rejected") reportLostBug(machine, "ctx.parallel", branch.key, result.reason);
        return;
      }
      const leaves = result.status === "rejected" && isInstance(result.reason, ContinueAsNew);
      if (result.status === "rejected" && (!collect || leaves)) {
        failed = true;
        cancelAll(machine, scoped, branch, "another branch of ctx.parallel has failed");
        reject(result.reason);
      } else if (settled.size === scoped.length) resolve();
      else begin();
    };
    if (scoped.length === 0) resolve();
    for (let i = 0; i < Math.min(limit, scoped.length); i++) begin();
  });

  const value = (key: string): unknown => {
    const result = settled.get(key) as PromiseSettledResult<unknown>;
    return collect ? result : (result as PromiseFulfilledResult<unknown>).value;
  };
  return Array.isArray(branches)
    ? scoped.map((branch) => value(branch.key))
    : Object.fromEntries(scoped.map((branch) => [branch.key, value(branch.key)]));
}

export async function runRace(machine: MachineInside, scope: Scope, branches: Branches): Promise<unknown> {
  const scoped = scopedBranches(machine, scope, branches, "race");
  if (scoped.length === 0) throw new HoldfastError("invalid_option", "ctx.race: there are no branches.");
  const errors = new Map<string, unknown>();
  return new Promise((resolve, reject) => {
    let over = false;
    for (const branch of scoped) {
      runInScope(machine, branch.scope, branch.fn).then(
        (value) => {
          if (over) return;
          over = true;
          // Branches that finished second in the same turn have lost, too.
          for (const other of scoped) if (other !== branch) machine.signals.giveBack(other.scope);
          cancelAll(machine, scoped, branch, "another branch of ctx.race was first");
          for (const [key, error] of errors) reportLostBug(machine, "ctx.race", key, error);
          resolve({ winner: Array.isArray(branches) ? Number(branch.key) : branch.key, value });
        },
        (error) => {
          if (over) return reportLostBug(machine, "ctx.race", branch.key, error);
          errors.set(branch.key, error);
          const leaves = isInstance(error, ContinueAsNew);
          if (errors.size < scoped.length && !leaves) return;
          over = true;
          if (leaves) return reject(error);
          const failure = raceFailure(scoped.map(({ key }) => errors.get(key)));
          // A race that was canceled from outside must still look canceled, unless that brought a bug to light.
          const outer = bugIn(failure) === undefined ? branch.scope.parent?.cancellation() : undefined;
          reject(outer ?? failure);
        },
      );
    }
  });
}

function raceFailure(errors: readonly unknown[]): HoldfastError {
  const first = readText(errors[0], "message") ?? describeValue(errors[0]);
  return new HoldfastError("race_failed", `Every branch of ctx.race failed; the first: ${first}`, {
    cause: new AggregateError(
      errors,
      errors.map((error) => readText(error, "message") ?? describeValue(error)).join("; "),
    ),
  });
}

/** Calls a function whose ops belong to a new scope, and closes the scope when it has settled. */
export function runInScope<T>(machine: MachineInside, scope: Scope, fn: Branch<T>): Promise<T> {
  const call = (): Promise<T> => new Promise((resolve) => resolve(fn(machine.contextIn(scope))));
  const settled = machine.within(scope, call).finally(() => scope.close());
  settled.catch(() => {});
  return settled;
}

function scopedBranches(
  machine: MachineInside,
  scope: Scope,
  branches: Branches,
  name: "parallel" | "race",
): ScopedBranch[] {
  const call = `ctx.${name}`;
  const group = machine.nextGroup(name);
  const parent = (scope === machine.root ? machine.currentScope : scope).nearestOpen();
  if (typeof branches !== "object" || branches === null)
    throw new HoldfastError(
      "invalid_option",
      `${call}: the branches are ${shownValue(branches)}, not a list or an object of functions.`,
    );
  return Object.entries(branches).map(([key, fn]) => {
    if (typeof fn !== "function")
      throw new HoldfastError(
        "invalid_option",
        `${call}: branch "${key}" is not a function. Write () => ctx.step(…), not the promise itself.`,
      );
    return { key, fn, scope: new Scope(parent, false, { group, branch: key }) };
  });
}

function cancelAll(machine: MachineInside, scoped: readonly ScopedBranch[], except: ScopedBranch, why: string): void {
  for (const branch of scoped) {
    if (branch === except || !branch.scope.open) continue;
    cancelScope(machine, branch.scope, new HoldfastError("op_canceled", `Canceled: ${why}.`));
  }
  handOn(machine);
}
