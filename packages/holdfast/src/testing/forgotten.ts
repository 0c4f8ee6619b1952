import { jsonCodec } from "../codec/json-codec.ts";
import type { AnyWorkflow } from "../define/definitions.ts";
import { isHoldfastError } from "../errors/holdfast-error.ts";
import type { MemoryStore } from "../memory/store.ts";
import { silentLogger } from "../ports/logger.ts";
import { forgottenError } from "../replay/code/forgotten-ops.ts";
import { replayHistory } from "../replay/replayer.ts";
import type { WorkflowBody } from "../replay/run-code.ts";
import { RunMachine } from "../replay/run-machine.ts";
import { systemClock } from "../system/clock.ts";

/**
 * The error of a failed run. If its function returned while ops were pending, the error says where in the code they
 * were requested. That takes a second replay with tracing.
 */
export async function withForgotten(
  error: unknown,
  store: MemoryStore,
  workflows: readonly AnyWorkflow[],
): Promise<unknown> {
  if (!isHoldfastError(error, "run_failed")) return error;
  const { recordedCode } = (error.cause ?? {}) as { readonly recordedCode?: unknown };
  const run = store.state.runs.get(error.data["runId"] as string);
  const definition = workflows.find(({ name, version }) => name === run?.workflow && version === run.version);
  if (recordedCode !== "forgotten_await" || !run || !definition) return error;
  const history = store.state.events.get(run.runId) ?? [];
  const body = definition.fn as WorkflowBody;
  const params = { run, history, codec: jsonCodec, log: silentLogger, opsMax: Number.POSITIVE_INFINITY };
  const machine = await replayHistory(new RunMachine({ ...params, locate: true }, { body }), (callback) =>
    systemClock.immediate(callback),
  );
  return forgottenError(run, machine.forgotten, error);
}
