import type { Medians } from "../report/medians.ts";
import type { Bench } from "./bench.ts";
import type { Snapshots } from "./counters.ts";
import type { EngineDefinition, Figures, Size } from "./engine.ts";
import type { Inside } from "./inside.ts";

/** Our stores, with their file names and their titles. */
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
  /** For our own engine and the limits; `peerSizes` for the peers, which would otherwise take too long. */
  readonly sizes: Readonly<Record<SizeName, Size>>;
  readonly peerSizes?: Readonly<Record<SizeName, Size>>;
  /**
   * Not repeated, except at full size: exact counts, measurements that take minutes, and peers in workloads without a
   * goal.
   */
  readonly once?: "everybody" | "peers";
  /** Runs in the process of the engine. */
  readonly parts: Readonly<Record<string, (inside: Inside) => Promise<Figures>>>;
  /** Runs in the process of the bench. Omitted: one process, with the part `main`. */
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

const COSTS: readonly Omit<Shown, "better">[] = [
  { figure: "commitsPer", title: "commits per", digits: 3 },
  { figure: "statementsPer", title: "statements per", digits: 3 },
  { figure: "walBytesPer", title: "WAL bytes per" },
  { figure: "writtenBytesPer", title: "bytes written per" },
  { figure: "nodeMicrosPer", title: "µs of Node per", digits: 1 },
  { figure: "serverMicrosPer", title: "µs of the server per", digits: 1 },
];

/** What `costsOf` (counters.ts) gives for a stage. */
export function costsShown(name: string, unit: string, stage = "", how?: string): Shown[] {
  return COSTS.map(({ figure, title, ...rest }) => ({
    figure: `${figure}${name}${stage}`,
    title: how === undefined ? `${title} ${unit}` : `${title} ${unit}, ${how}`,
    ...rest,
    better: "lower" as const,
  }));
}

interface RatioGoal {
  readonly text: string;
  /** Workload and figure. */
  readonly of: readonly [workload: string, figure: string];
  readonly over: string;
  /** Of several engines, the nearest one counts. */
  readonly under: readonly string[];
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** A goal for the ratio between the figures of two engines. */
export function ratioGoal({ text, of: [workload, figure], over, under, ...bound }: RatioGoal): Goal {
  const ratios = (m: Medians): (number | undefined)[] => under.map((name) => m.ratio(workload, figure, over, name));
  return { text, figure: (m) => least(ratios(m)), unit: "times", ...bound };
}

interface LatencyGoal {
  readonly text: string;
  readonly of: readonly [workload: string, figure: string];
  readonly ours: string;
  readonly peers: readonly string[];
}

/** A goal not to be slower than the fastest peer. */
export function latencyGoal({ text, of: [workload, figure], ours, peers }: LatencyGoal): Goal {
  const ratios = (m: Medians): (number | undefined)[] => peers.map((peer) => m.ratio(workload, figure, peer, ours));
  return { text, figure: (m) => least(ratios(m)), atLeast: 1, unit: "times" };
}

function least(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === values.length ? Math.min(...known) : undefined;
}
