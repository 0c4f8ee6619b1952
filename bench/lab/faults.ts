import type { Figures } from "./engine.ts";

/** Figures that count what was done twice, left out or answered wrongly. */
const FAULTS = ["stepsTooMany", "stepsWrong", "wrong", "missing", "ranAgain"];

export function faultsIn(figures: Figures): number {
  return FAULTS.reduce((sum, name) => sum + Math.abs(figures[name] ?? 0), 0);
}

/** The faults of a measurement that was repeated stay on record. */
export function withFaultsOf(figures: Figures, attempts: readonly Figures[]): Figures {
  const worst = (name: string): number => Math.max(...attempts.map((one) => Math.abs(one[name] ?? 0)));
  const names = FAULTS.filter((name) => attempts.some((one) => one[name] !== undefined));
  return { ...figures, ...Object.fromEntries(names.map((name) => [name, worst(name)])) };
}
