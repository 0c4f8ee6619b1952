import { EMPTY_PAYLOAD } from "../../model/payload.ts";
import type { NewRun, Run } from "../../model/run.ts";
import { seedOf, traceOf } from "../../model/run-seed.ts";
import type { Random } from "../../ports/random.ts";
import type { StartParent, StartRun } from "../../ports/store.ts";
import type { ChildSpec, ChildWork } from "../../replay/ops/child-work.ts";

/** What all children of a run have in common: it may have thousands. */
export interface Descent extends Pick<StartParent, "parent" | "root" | "depth"> {
  readonly trace: string | undefined;
}

export function descentFrom({ namespace, runId, id, seed, lineage }: Run): Descent {
  return {
    parent: { namespace, runId, id },
    root: lineage?.root ?? { runId, id },
    depth: (lineage?.depth ?? 0) + 1,
    trace: traceOf(seed),
  };
}

/** The start of a run as the child of another. */
export function startOfChild(descent: Descent, op: string, child: ChildWork, random: Random): StartRun {
  const { spec, identity, input } = child;
  const run = newChildRun(descent, spec, identity, input ?? EMPTY_PAYLOAD);
  const { ifRunning, ifClosed, hold, pick } = startRules(spec, random);
  return { run, ifRunning, ifClosed, hold, pick, parent: parentOf(descent, op, spec.policy) };
}

export function newChildRun(
  { parent: { namespace }, trace }: Descent,
  spec: ChildSpec,
  { runId, id }: { readonly runId: string; readonly id: string },
  input: NewRun["input"],
): NewRun {
  const { workflow, version, queue, priority, key, attributes, timeoutMs } = spec;
  const about = {
    namespace,
    runId,
    id,
    workflow,
    version,
    queue,
    priority,
    input,
    seed: seedOf(runId, trace),
    attributes,
  };
  // Most have neither: a spread would cost several times as much.
  if (timeoutMs === undefined && key === undefined) return about;
  return { ...about, ...(timeoutMs === undefined ? {} : { timeoutMs }), ...(key === undefined ? {} : { key }) };
}

/** An open run is nobody's child; after a closed one of the same id another may start. */
export function startRules({ versionGiven }: ChildSpec, random: Random): Omit<StartRun, "run"> {
  return { ifRunning: "fail", ifClosed: "start", hold: false, pick: versionGiven ? null : random.next() };
}

/** `op`: null if nobody waits for the result. */
export function parentOf(
  { parent, root, depth }: Descent,
  op: string | null,
  policy: StartParent["policy"],
): StartParent {
  return { parent, op, root, depth, policy };
}
