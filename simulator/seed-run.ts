import { checkEvidence } from "./checkers/index.ts";
import { type Configuration, describeConfiguration, drawConfiguration } from "./configuration.ts";
import type { Evidence, Violation } from "./evidence.ts";
import { MoveScenario } from "./moves/move-scenario.ts";
import type { AroundStore } from "./process.ts";
import { Scenario } from "./scenario.ts";
import type { Trace } from "./trace.ts";
import { OP_KINDS } from "./workload/index.ts";

/** The result of one simulator run. */
export interface SeedResult {
  readonly configuration: Configuration;
  readonly hash: string;
  readonly violations: readonly Violation[];
  readonly counts: Readonly<Record<string, number>>;
  readonly virtualMs: number;
  readonly evidence: Evidence;
  readonly trace: Trace;
}

const TRACE_LINES_MAX = 200;

export function configurationOf(seed: number): Configuration {
  return drawConfiguration(seed, OP_KINDS);
}

export async function runConfiguration(configuration: Configuration, around?: AroundStore): Promise<SeedResult> {
  const { evidence, trace, counts, virtualMs } = await new Scenario(configuration, around).run();
  const violations = await checkEvidence(evidence);
  if (configuration.moves.stores === 0)
    return { configuration, hash: trace.hash, violations, counts, virtualMs, evidence, trace };
  const moves = await new MoveScenario(configuration, trace).run();
  violations.push(...(await checkEvidence(moves.evidence)));
  const all = { ...evidence, runs: [...evidence.runs, ...moves.evidence.runs] };
  const counted = { ...counts, ...moves.counts };
  return { configuration, hash: trace.hash, violations, counts: counted, virtualMs, evidence: all, trace };
}

/** A failure for people to read: the seed, the first broken invariant, and what happened to the runs involved. */
export function describeFailure(result: SeedResult): string {
  const { configuration, violations, evidence, trace } = result;
  const runs = [...evidence.runs, ...(evidence.forks?.runs ?? [])];
  const names = new Map(runs.map(({ run }) => [run.runId, run.id]));
  const first = violations[0];
  const involved = new Set(
    violations
      .filter(({ checker }) => checker === first?.checker)
      .flatMap(({ runId }) => (runId === undefined ? [] : [runId]))
      .slice(0, 1),
  );
  const say = ({ checker, runId, text }: Violation): string =>
    `${checker}${runId === undefined ? "" : `: ${names.get(runId)} (${runId})`}: ${text}`;
  const lines = trace.about(involved, names);
  const histories = runs
    .filter(({ run }) => involved.has(run.runId))
    .flatMap(({ run, history }) => [
      `history of ${run.id} (${run.workflow}@${run.version}, ${run.status}):`,
      ...history.map(
        ({ seq, type, op, at, meta }) => `  ${seq} ${type} ${op ?? ""} ${at} ${JSON.stringify(meta ?? {})}`,
      ),
    ]);
  const omitted = lines.length > TRACE_LINES_MAX ? [`… ${lines.length - TRACE_LINES_MAX} lines before`] : [];
  return [
    `FAILED seed ${configuration.seed}: ${first ? say(first) : "nothing"}`,
    ...violations.slice(1, 6).map((violation) => `  also ${say(violation)}`),
    ...(violations.length > 6 ? [`  and ${violations.length - 6} more`] : []),
    describeConfiguration(configuration),
    ...histories,
    "trace:",
    ...omitted,
    ...lines.slice(-TRACE_LINES_MAX),
    `again: npm run sim -- --seed ${configuration.seed}`,
  ].join("\n");
}
