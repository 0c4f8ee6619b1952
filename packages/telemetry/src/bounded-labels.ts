import type { TelemetryLabels } from "holdfast";

/** So many values of one label are told apart. */
const VALUES_MAX = 500;
/** What the others are called. */
const OTHER = "other";

/**
 * Labels whose values are few. Their values are names from code, but code can make up names (`ctx.step(`send to ${customer}`)`), and every
 * value is a time series that is kept for as long as the process lives.
 */
export class BoundedLabels {
  readonly #values = new Map<string, Set<string>>();

  bound(labels: TelemetryLabels): TelemetryLabels {
    let bounded: Record<string, string> | undefined;
    for (const name in labels) {
      if (this.#isKnown(name, labels[name] as string)) continue;
      bounded ??= { ...labels };
      bounded[name] = OTHER;
    }
    return bounded ?? labels;
  }

  #isKnown(name: string, value: string): boolean {
    let values = this.#values.get(name);
    if (!values) {
      values = new Set();
      this.#values.set(name, values);
    }
    if (values.has(value)) return true;
    if (values.size >= VALUES_MAX) return false;
    values.add(value);
    return true;
  }
}
