import type { Run } from "../model/run.ts";
import type { RunRef } from "../ports/store.ts";
import type { Cause } from "./cause.ts";
import type { ClientCore } from "./client-core.ts";
import type { StepView } from "./step-view.ts";

/** How long a chain of runs is followed that wait for each other. */
const DEPTH_MAX = 20;
/** Of so many runs that one waits for it is said what they wait for in turn. */
const FOLLOWED_MAX = 3;

/**
 * The other runs that a run waits for: its children, and those whose result it awaits. Each with what that run waits for in
 * turn.
 */
export async function otherCauses(steps: readonly StepView[], follow: Follow): Promise<Cause[]> {
  const waiting = steps.filter(({ kind, status }) => status === "waiting" && (kind === "child" || kind === "message"));
  const causes: Cause[] = [];
  for (const [i, { op, run, startedAt }] of waiting.entries()) {
    const about: Cause = { kind: "child", op, ...(startedAt ? { since: startedAt } : {}), ...(run ? { run } : {}) };
    causes.push(i < FOLLOWED_MAX && run ? { ...about, ...(await followRun(run, follow)) } : about);
  }
  return causes;
}

/** What it takes to find out what other runs wait for. */
export interface Follow {
  readonly core: ClientCore;
  /** The runs that wait, the one in question last. */
  readonly path: readonly Run[];
  readonly explain: (run: Run) => Promise<Cause | undefined>;
  readonly budget: { left: number };
}

/** What a run waits for that another one waits for; nothing if that goes too far. */
export async function followRun(
  run: NonNullable<StepView["run"]>,
  { core, path, explain, budget }: Follow,
): Promise<Pick<Cause, "run" | "cause" | "circle">> {
  if (path.length >= DEPTH_MAX || budget.left === 0) return {};
  budget.left--;
  return behind(core, run, path, explain);
}

async function behind(
  core: ClientCore,
  { id, runId }: NonNullable<StepView["run"]>,
  path: readonly Run[],
  explain: (run: Run) => Promise<Cause | undefined>,
): Promise<Pick<Cause, "run" | "cause" | "circle">> {
  const run = await readLast(core, id, runId);
  if (!run) return {};
  const named = { run: { id: run.id, runId: run.runId } };
  const place = path.findIndex((other) => other.runId === run.runId);
  if (place >= 0) return { ...named, circle: path.slice(place).map((other) => other.id) };
  const cause = await explain(run);
  return cause ? { ...named, cause, ...(cause.circle ? { circle: cause.circle } : {}) } : named;
}

/** The run, or the one that it has continued as in the end. */
async function readLast(core: ClientCore, id: string | undefined, runId: string | undefined): Promise<Run | undefined> {
  const { namespace } = core;
  if (runId === undefined && id === undefined) return undefined;
  const read = async (ref: RunRef): Promise<Run | undefined> =>
    (await core.call((store) => store.runs.read({ runs: [ref] })))[0] ?? undefined;
  const run = await read(runId === undefined ? { namespace, id: id as string } : { namespace, runId });
  if (run?.status !== "continued") return run;
  const newest = await read({ namespace, id: run.id });
  // Another run may have its id by now.
  return newest?.firstRunId === run.firstRunId ? newest : run;
}
