import type { Medians } from "../report/medians.ts";
import type { Bench } from "./bench.ts";
import type { Snapshots } from "./counters.ts";
import type { EngineDefinition, Figures, Size } from "./engine.ts";
import type { Inside } from "./inside.ts";

/** Our stores, as files and as people call them. */
export const STORES = [
  ["postgres", "PostgreSQL"],
  ["sqlite", "SQLite"],
] as const;

export type SizeName = "tiny" | "normal" | "full";

export interface Goal {
  readonly text: string;
  readonly figure: (medians: Medians) => number | undefined;
  readonly atLeast?: number;
  readonly atMost?: number;
  readonly unit?: string;
}

export interface Workload {
  readonly name: string;
  readonly title: string;
  /** One or two sentences for docs/PERFORMANCE.md. */
  readonly about: string;
  /** For our own engine and the limits; `peers` for everybody else, who would take too long otherwise. */
  readonly sizes: Readonly<Record<SizeName, Size>>;
  readonly peerSizes?: Readonly<Record<SizeName, Size>>;
  /** Not repeated, except at full size: what is counted or takes minutes, and peers in what no goal is about. */
  readonly once?: "everybody" | "peers";
  /** Runs in the process of the engine. */
  readonly parts: Readonly<Record<string, (inside: Inside) => Promise<Figures>>>;
  /** Runs in the process of the bench. Left out: one process, with the part `main`. */
  readonly measure?: (bench: Bench) => Promise<Figures>;
  /** Figures from the counters that were read at the marks. */
  readonly counted?: (snapshots: Snapshots, figures: Figures, engine: EngineDefinition) => Figures;
  /** Figures for tables and charts, the main one first. */
  readonly shown: readonly Shown[];
  readonly goals: readonly Goal[];
}

export interface Shown {
  readonly figure: string;
  readonly title: string;
  readonly digits?: number;
  readonly better: "higher" | "lower";
  readonly chart?: boolean;
}

interface RatioGoal {
  readonly text: string;
  /** Workload and figure. */
  readonly of: readonly [workload: string, figure: string];
  readonly over: string;
  /** Of several, the one that is nearest. */
  readonly under: readonly string[];
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** How many times as much (or as little) one engine does as another. */
export function ratioGoal({ text, of: [workload, figure], over, under, ...bound }: RatioGoal): Goal {
  const ratios = (m: Medians): (number | undefined)[] => under.map((name) => m.ratio(workload, figure, over, name));
  return { text, figure: (m) => least(ratios(m)), unit: "times", ...bound };
}

function least(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === values.length ? Math.min(...known) : undefined;
}
