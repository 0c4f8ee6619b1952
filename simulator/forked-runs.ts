import type { RunEvidence } from "./evidence.ts";

/** Something about a run. */
interface About {
  readonly runId?: string | undefined;
}

/**
 * Forks, what continues them, and their children have a part of another run's past, so most rules say nothing about them: the
 * others get what is left. `own`: not about one of them.
 */
export function withoutForks(all: readonly RunEvidence[]): {
  readonly runs: readonly RunEvidence[];
  readonly forks: readonly RunEvidence[];
  readonly own: (one: About) => boolean;
} {
  const forked = new Set(all.filter(({ run }) => run.forkedFrom).map(({ run }) => run.runId));
  // A child of a run that continues a fork has that one as its root.
  const roots = new Set(all.filter(({ run }) => forked.has(run.firstRunId)).map(({ run }) => run.runId));
  const isFork = ({ run }: RunEvidence): boolean => roots.has(run.runId) || roots.has(run.lineage?.root.runId ?? "");
  const forks = all.filter(isFork);
  const ids = new Set(forks.map(({ run }) => run.runId));
  return { runs: all.filter((one) => !isFork(one)), forks, own: ({ runId }) => runId === undefined || !ids.has(runId) };
}
