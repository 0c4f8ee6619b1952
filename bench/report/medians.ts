import type { Measurement } from "./results.ts";

/** The figures of all repetitions, as medians. */
export class Medians {
  readonly #measurements: readonly Measurement[];

  constructor(measurements: readonly Measurement[]) {
    this.#measurements = measurements;
  }

  value(workload: string, engine: string, figure: string): number | undefined {
    return median([...this.#byRound(workload, engine, figure).values()]);
  }

  /** The median of the ratios within each round, because rounds differ more than engines do. */
  ratio(workload: string, figure: string, over: string, under: string): number | undefined {
    const below = this.#byRound(workload, under, figure);
    const above = this.#byRound(workload, over, figure);
    const ratios = [...above].flatMap(([round, value]) => {
      const other = below.get(round);
      return other === undefined || other === 0 ? [] : [value / other];
    });
    if (ratios.length > 0) return median(ratios);
    // One of them was measured only once.
    const [a, b] = [median([...above.values()]), median([...below.values()])];
    return a === undefined || b === undefined ? undefined : a / b;
  }

  rounds(workload: string, engine: string): number {
    return this.#measurements.filter((one) => one.workload === workload && one.engine === engine && !one.error).length;
  }

  #byRound(workload: string, engine: string, figure: string): Map<number, number> {
    const found = new Map<number, number>();
    for (const one of this.#measurements) {
      const value = one.figures[figure];
      if (one.workload === workload && one.engine === engine && value !== undefined) found.set(one.round, value);
    }
    return found;
  }
}

export function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle];
  const [low, high] = [sorted[middle - 1], sorted[middle]];
  return low === undefined || high === undefined ? undefined : (low + high) / 2;
}
