import type { Figures, Size } from "../lab/engine.ts";

export interface Measurement {
  readonly workload: string;
  readonly engine: string;
  readonly round: number;
  readonly size: Size;
  readonly figures: Figures;
  /** Cores used by everything else on the machine meanwhile. */
  readonly othersCores?: number;
  readonly error?: string;
}

/** What the machine could do just before a round. */
export interface Probe {
  readonly workload: string;
  readonly round: number;
  readonly figures: Figures;
}

export interface Results {
  readonly date: string;
  readonly size: string;
  readonly machine: Readonly<Record<string, string>>;
  readonly versions: Readonly<Record<string, string>>;
  readonly engines: Readonly<
    Record<string, { readonly title: string; readonly kind: string; readonly settings: string }>
  >;
  readonly probes: readonly Probe[];
  readonly measurements: readonly Measurement[];
}
