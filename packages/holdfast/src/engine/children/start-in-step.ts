import { HoldfastError } from "../../errors/holdfast-error.ts";
import { CHILD_DEPTH_MAX, type RunName } from "../../model/child.ts";
import { childRunId } from "../../model/ids.ts";
import type { Run } from "../../model/run.ts";
import type { Codec } from "../../ports/codec.ts";
import type { Random } from "../../ports/random.ts";
import {
  type ChildDefinition,
  checkedInput,
  keyFrom,
  requireChildDefinition,
  resolveStepStart,
  type StepStartOptions,
} from "../../replay/ops/start-options.ts";
import type { RunCaller } from "./run-caller.ts";
import { descentFrom, newChildRun, parentOf, startRules } from "./start-of-child.ts";

export interface StartingHost {
  readonly codec: Codec;
  readonly random: Random;
  readonly others: RunCaller;
}

/** Which start of which step it is: a repeated attempt makes the same ones. */
export interface StartInStep {
  readonly run: Run;
  readonly op: string;
  readonly number: number;
}

/** `s.start`: a run that knows its parent, and that nobody waits for. */
export async function startInStep(
  { codec, random, others }: StartingHost,
  { run: parent, op, number }: StartInStep,
  definition: ChildDefinition,
  input: unknown,
  options: StepStartOptions | undefined,
): Promise<RunName> {
  requireChildDefinition(definition, "s.start");
  const where = `start of workflow "${definition.name}" in step "${op}"`;
  const spec = resolveStepStart(definition, options, where);
  const { namespace, lineage } = parent;
  if ((lineage?.depth ?? 0) >= CHILD_DEPTH_MAX)
    throw new HoldfastError("child_depth_exceeded", `${where}: run "${parent.id}" is ${lineage?.depth} levels deep.`);
  const checked = checkedInput(definition, input);
  const key = spec.key ?? keyFrom(definition, checked);
  const payload = codec.encode(checked, `input of workflow "${definition.name}"`);
  const runId = childRunId(parent.runId, `${op}\tstart`, number, namespace, spec.id);
  const descent = descentFrom(parent);
  const run = newChildRun(descent, { ...spec, key }, { runId, id: spec.id ?? runId }, payload);
  const answer = await others.start({ run, ...startRules(spec, random), parent: parentOf(descent, null, spec.policy) });
  if (answer.outcome === "created") return { id: answer.run.id, runId: answer.run.runId };
  if (answer.outcome === "exists") {
    const { id, status } = answer.run;
    throw new HoldfastError("run_already_exists", `Run "${id}" already exists and is ${status}.`, {
      data: { id, runId: answer.run.runId, status },
    });
  }
  throw new HoldfastError("run_closed", `${where}: run "${parent.id}" has ended meanwhile; nothing was started.`);
}
