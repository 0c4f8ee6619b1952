/** All measurements of a bench, interleaved: one round is one repetition of a workload over all engines. */
import type { Measurement, Probe } from "../report/results.ts";
import { type Measured, measure } from "./bench.ts";
import type { EngineDefinition, Size } from "./engine.ts";
import { withFaultsOf } from "./faults.ts";
import { probe } from "./probe.ts";
import type { Stores } from "./stores.ts";
import type { SizeName, Workload } from "./workload.ts";

const TRIES = 3;
const PROBE_MS: Readonly<Record<SizeName, number>> = { tiny: 30, normal: 400, full: 1_000 };

export interface RoundsParams {
  readonly stores: Stores;
  readonly workloads: readonly Workload[];
  readonly definitions: readonly EngineDefinition[];
  readonly size: SizeName;
  /** Parameters of workloads that differ from their size. */
  readonly overrides?: Size;
  readonly repeat: number;
  /**
   * A measurement during which other processes used more cores than this is repeated, up to three times, until
   * `retryUntil`.
   */
  readonly othersCoresMax: number;
  readonly retryUntil: number;
  readonly sources: boolean;
  readonly inProcess: boolean;
  readonly say: (line: string) => void;
}

export interface RoundsResult {
  readonly probes: readonly Probe[];
  readonly measurements: readonly Measurement[];
}

export async function runRounds(
  params: RoundsParams,
  onRound: (so: RoundsResult) => void = () => {},
): Promise<RoundsResult> {
  const probes: Probe[] = [];
  const measurements: Measurement[] = [];
  for (const workload of params.workloads) {
    for (let round = 1; round <= params.repeat; round++) {
      const definitions = params.definitions.filter((one) => takesPart(one, workload, round, params.size));
      if (definitions.length === 0) continue;
      const figures = await probe(params.stores, PROBE_MS[params.size]);
      probes.push({ workload: workload.name, round, figures });
      // Alternates, so that the same engine does not always come first.
      if (round % 2 === 0) definitions.reverse();
      for (const definition of definitions) measurements.push(await measured(params, workload, definition, round));
      onRound({ probes, measurements });
    }
  }
  return { probes, measurements };
}

function takesPart(
  { kind, workloads }: EngineDefinition,
  { name, once }: Workload,
  round: number,
  size: SizeName,
): boolean {
  if (!workloads.includes("*") && !workloads.includes(name)) return false;
  const peer = kind === "engine" || kind === "queue";
  return round === 1 || size === "full" || once === undefined || (once === "peers" && !peer);
}

export function sizeFor(workload: Workload, definition: EngineDefinition, size: SizeName): Size {
  const peer = definition.kind === "engine" || definition.kind === "queue";
  const sizes = peer && workload.peerSizes ? workload.peerSizes : workload.sizes;
  return { ...sizes[size], ...(size === "tiny" ? {} : definition.sizes?.[workload.name]) };
}

async function measured(
  params: RoundsParams,
  workload: Workload,
  definition: EngineDefinition,
  round: number,
): Promise<Measurement> {
  const { stores, sources, inProcess, say } = params;
  const size = { ...sizeFor(workload, definition, params.size), ...params.overrides };
  const label = { workload: workload.name, engine: definition.name, round, size };
  const attempts: Measured[] = [];
  let error: string | undefined;
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    try {
      const one = await measure({ stores, workload, definition, size, sources, inProcess });
      attempts.push(one);
      say(`${workload.name} ${round} ${definition.name}: ${brief(workload, one)}`);
    } catch (cause) {
      error = cause instanceof Error ? cause.message : String(cause);
      say(`${workload.name} ${round} ${definition.name}: FAILED ${error}`);
    }
    const quiet = attempts.some(({ othersCores }) => othersCores <= params.othersCoresMax);
    if (quiet || performance.now() > params.retryUntil) break;
  }
  const [best] = attempts.sort((a, b) => a.othersCores - b.othersCores);
  // A failure stays on record even if the next attempt succeeds.
  const failed = error === undefined ? {} : { error };
  if (!best) return { ...label, figures: {}, ...failed };
  const figures = withFaultsOf(
    best.figures,
    attempts.map((one) => one.figures),
  );
  return { ...label, figures, othersCores: best.othersCores, ...failed };
}

function brief(workload: Workload, { figures, othersCores }: Measured): string {
  const shown = workload.shown.filter(({ figure }) => figures[figure] !== undefined).slice(0, 3);
  const values = shown.map(
    ({ figure, title, digits }) => `${title} ${(figures[figure] as number).toFixed(digits ?? 0)}`,
  );
  return `${values.join(", ")} (others ${othersCores.toFixed(2)} cores)`;
}
