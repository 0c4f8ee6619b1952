import { faultsIn } from "../lab/faults.ts";
import type { Goal } from "../lab/workload.ts";
import { WORKLOADS } from "../workloads/workloads.ts";
import type { Medians } from "./medians.ts";
import type { Results } from "./results.ts";

export interface Verdict {
  readonly text: string;
  readonly target: string;
  readonly figure: number | undefined;
  readonly unit: string;
  /** Undefined: not measured. */
  readonly met: boolean | undefined;
}

export function judge(goal: Goal, medians: Medians): Verdict {
  const { text, atLeast, atMost, unit = "" } = goal;
  const figure = goal.figure(medians);
  const known = figure !== undefined && !Number.isNaN(figure);
  const met = known ? figure >= (atLeast ?? -Infinity) && figure <= (atMost ?? Infinity) : undefined;
  const target = [
    ...(atLeast === undefined ? [] : [`at least ${atLeast.toLocaleString("en")}`]),
    ...(atMost === undefined ? [] : [`at most ${atMost.toLocaleString("en")}`]),
  ].join(", ");
  return { text, target, figure: known ? figure : undefined, unit, met };
}

export function verdicts(results: Results, medians: Medians): Verdict[] {
  const goals = WORKLOADS.flatMap((workload) => workload.goals);
  const faultless: Goal = {
    text: "Holdfast in all measurements: steps executed twice, runs missing, wrong results",
    figure: () => faultsOf(results),
    atMost: 0,
  };
  return [...goals, faultless].map((goal) => judge(goal, medians));
}

export function faultsOf({ measurements, engines }: Pick<Results, "measurements" | "engines">): number {
  const ours = measurements.filter(({ engine }) => engines[engine]?.kind === "own");
  const failed = ours.filter(({ error }) => error !== undefined).length;
  return ours.reduce((sum, { figures }) => sum + faultsIn(figures), failed);
}
