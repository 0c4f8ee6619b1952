import { jsonCodec } from "../../packages/holdfast/src/codec/json-codec.ts";
import type { Checker, Evidence, Found, RunEvidence } from "../evidence.ts";

/**
 * The result of a task in history is what an execution of that very task returned, or what someone with its token said; and
 * whoever was told that a token has ended an attempt was the only one.
 */
export const taskResults: Checker = {
  name: "task-results",
  needs: ["executions", "tokenAnswers"],
  check(evidence) {
    const given = new Set<string>();
    for (const { runId, seq, value } of evidence.executions ?? []) given.add(`${runId}/${seq} ${value}`);
    for (const { runId, seq, value } of evidence.tokenAnswers ?? []) given.add(`${runId}/${seq} ${value}`);
    return [...evidence.runs.flatMap((one) => inHistory(one, given)), ...byToken(evidence)];
  },
};

function inHistory({ run: { runId }, history }: RunEvidence, given: ReadonlySet<string>): Found[] {
  const found: Found[] = [];
  const scheduled = new Map<string, number>();
  for (const { type, op, seq, payload } of history) {
    if (type === "task_scheduled" || type === "op_rescheduled") scheduled.set(op as string, seq);
    if (type !== "task_completed") continue;
    const value = payload === undefined ? undefined : jsonCodec.decode(payload);
    const key = scheduled.get(op as string);
    if (!given.has(`${runId}/${key} ${value}`))
      found.push({ runId, text: `history has ${value} for "${op}" (${key}), which nobody returned for it` });
  }
  return found;
}

function byToken({ tokenAnswers = [] }: Evidence): Found[] {
  const found: Found[] = [];
  const done = new Set<string>();
  for (const { runId, seq, epoch, op, deed, done: isDone, true: isTrue } of tokenAnswers) {
    const what = `${deed} of "${op}" (${seq}.${epoch})`;
    if (!isTrue)
      found.push({
        runId,
        text: `${what} was ${isDone ? "acknowledged" : "refused"}, which the store does not confirm`,
      });
    const key = `${runId}/${seq}/${epoch}`;
    if (isDone && done.has(key)) found.push({ runId, text: `${what} was acknowledged although another had been` });
    if (isDone) done.add(key);
  }
  return found;
}
