/** Simplifies a failing configuration as far as it still fails in the same way. */
import type { Configuration } from "./configuration.ts";
import { runConfiguration } from "./seed-run.ts";

type Group = Readonly<Record<string, unknown>>;

const PLAIN_WORKER = {
  concurrency: 100,
  cacheSize: 1_000,
  flushesInFlightMax: 2,
  runsPerFlushMax: 1_000,
  eventsPerFlushMax: 5_000,
  eventsPerHoldMax: 0,
};

/** Simpler configurations, the boldest changes first. */
function simpler(configuration: Configuration): Configuration[] {
  const { workload, worker, workers, helpers, safetyMs } = configuration;
  const edits: Configuration[] = [];
  const edit = (change: Partial<Configuration>): void => void edits.push({ ...configuration, ...change });
  for (const runs of [1, 2, workload.runs >> 1, workload.runs - 1])
    if (runs > 0 && runs < workload.runs) edit({ workload: { ...workload, runs } });
  for (const name of ["store", "hints", "trouble", "clocks", "segments", "limits"] as const)
    for (const change of withoutNumbers(configuration[name] as unknown as Group)) edit({ [name]: change });
  for (const change of withoutNumbers(workload as unknown as Group)) edit({ workload: change as never });
  if (workers > 1) edit({ workers: workers - 1 });
  if (helpers > 0) edit({ helpers: helpers - 1 });
  if (workload.opsMax > 2) edit({ workload: { ...workload, opsMax: workload.opsMax >> 1 } });
  if (workload.workflows > 1) edit({ workload: { ...workload, workflows: workload.workflows - 1 } });
  for (const [key, value] of Object.entries(PLAIN_WORKER))
    if (worker[key as "cacheSize"] !== value) edit({ worker: { ...worker, [key]: value } });
  if (safetyMs > 2_000) edit({ safetyMs: Math.round(safetyMs / 2) });
  return edits;
}

/** The group with one rate or weight at a time set to zero. */
function withoutNumbers(group: Group): Group[] {
  const keep = ["runs", "workflows", "opsMax", "latencyMs", "everyMs", "tailMs", "lateMs"];
  return Object.entries(group).flatMap(([key, value]): Group[] => {
    if (typeof value === "number") return value === 0 || keep.includes(key) ? [] : [{ ...group, [key]: 0 }];
    return withoutNumbers(value as Group).map((inner) => ({ ...group, [key]: inner }));
  });
}

export interface Shrunk {
  readonly configuration: Configuration;
  readonly tries: number;
}

export async function shrink(
  configuration: Configuration,
  checker: string,
  onStep: (configuration: Configuration, tries: number) => void,
  triesMax = 400,
): Promise<Shrunk> {
  let current = configuration;
  let tries = 0;
  for (let progress = true; progress && tries < triesMax; ) {
    progress = false;
    for (const candidate of simpler(current)) {
      if (tries >= triesMax) break;
      tries += 1;
      const { violations } = await runConfiguration(candidate);
      if (!violations.some((violation) => violation.checker === checker)) continue;
      current = candidate;
      progress = true;
      onStep(current, tries);
      break;
    }
  }
  return { configuration: current, tries };
}
