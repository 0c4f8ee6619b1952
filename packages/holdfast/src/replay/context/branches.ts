import { HoldfastError } from "../../errors/holdfast-error.ts";
import { checkOptions, type OptionChecks, oneOf, wholeNumber } from "../../errors/option-checks.ts";
import { describeValue, isInstance, readText } from "../../errors/safe-read.ts";
import { shownValue } from "../../errors/shown-value.ts";
import { bugIn, reportLostBug } from "../code/workflow-bug.ts";
import type { MachineInside } from "../machine-inside.ts";
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
      if (failed) {
        if (result.status === "rejected") reportLostBug(machine, "ctx.parallel", lane.key, result.reason);
        return;
      }
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
          for (const [key, error] of errors) reportLostBug(machine, "ctx.race", key, error);
          resolve({ winner: Array.isArray(branches) ? Number(lane.key) : lane.key, value });
        },
        (error) => {
          if (over) return reportLostBug(machine, "ctx.race", lane.key, error);
          errors.set(lane.key, error);
          const leaves = isInstance(error, ContinueAsNew);
          if (errors.size < lanes.length && !leaves) return;
          over = true;
          if (leaves) return reject(error);
          const failure = raceFailure(lanes.map(({ key }) => errors.get(key)));
          // A race that was canceled from outside must still look canceled, unless that brought a bug to light.
          const outer = bugIn(failure) === undefined ? lane.scope.parent?.cancellation() : undefined;
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
