import { jsonCodec } from "../../packages/holdfast/src/codec/json-codec.ts";
import type { Checker, Effect, Found, RunEvidence } from "../evidence.ts";

/**
 * What a workflow acted upon is in its history: the results that its code had seen when it requested an effect that
 * happened. Conversely, a result in history is what an execution of that op and attempt returned.
 */
export const effectsInHistory: Checker = {
  name: "effects-in-history",
  needs: ["effects"],
  check({ runs, effects = [] }) {
    const byRun = new Map<string, Effect[]>();
    for (const effect of effects) {
      const list = byRun.get(effect.runId);
      if (list) list.push(effect);
      else byRun.set(effect.runId, [effect]);
    }
    return runs.flatMap((one) => checkRun(one, byRun.get(one.run.runId) ?? []));
  },
};

function checkRun({ run, history }: RunEvidence, effects: readonly Effect[]): Found[] {
  const { runId } = run;
  const found: Found[] = [];
  // There are several if the run was retried and an op with it.
  const results = new Map<string, Set<string>>();
  const given = new Set(effects.map(({ op, attempt, value }) => `${op} ${attempt} ${value}`));
  for (const { type, op, payload, meta } of history) {
    if (type !== "step_completed" && type !== "task_completed") continue;
    const value = payload === undefined ? undefined : String(jsonCodec.decode(payload));
    results.set(op as string, (results.get(op as string) ?? new Set()).add(value ?? ""));
    if (type === "step_completed" && !given.has(`${op} ${meta?.attempt ?? 1} ${value}`))
      found.push({ runId, text: `history has ${value} for "${op}", which no attempt ${meta?.attempt ?? 1} returned` });
  }
  for (const { op, seen } of effects) {
    const lost = seen.find((sight) => !results.get(sight.op)?.has(sight.value));
    if (lost)
      found.push({
        runId,
        text: `"${op}" was executed because "${lost.op}" returned ${lost.value}, which is not in history`,
      });
  }
  return found;
}
