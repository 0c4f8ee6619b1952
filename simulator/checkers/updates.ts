import { givenMessageId } from "../../packages/holdfast/src/model/ids.ts";
import type { Checker, Effect, Found, RunEvidence } from "../evidence.ts";
import type { UpdateAnswer } from "../talk-evidence.ts";
import { workOf } from "../workload/talk.ts";

/**
 * An update is handled once, however often it is sent; it has one answer, which everybody gets who asks, and nobody before it is
 * in the store. A refused update leaves nothing but its note.
 */
export const updates: Checker = {
  name: "updates",
  needs: ["updateAnswers", "effects"],
  check({ runs, updateAnswers = [], effects = [] }) {
    const reopened = new Set(runs.filter(wasReopened).map(({ run }) => run.firstRunId));
    return [...answers(updateAnswers, reopened), ...histories(runs, updateAnswers, effects)];
  },
};

function wasReopened({ history }: RunEvidence): boolean {
  return history.some(({ type, meta }) => type === "run_retried" && meta?.attempt === undefined);
}

function answers(all: readonly UpdateAnswer[], reopened: ReadonlySet<string>): Found[] {
  const found: Found[] = [];
  const first = new Map<string, string>();
  for (const { chain, updateId, told, true: isTrue, id } of all) {
    const about = chain === undefined ? {} : { runId: chain };
    if (!isTrue)
      found.push({
        ...about,
        text: `update ${updateId} of ${id} was answered with "${told}", which is not in the store`,
      });
    // A run that had ended without an answer may go on, and answer.
    if (chain === undefined || (told.startsWith("run_closed") && reopened.has(chain))) continue;
    const key = `${chain} ${updateId}`;
    const before = first.get(key) ?? told;
    first.set(key, before);
    if (before !== told)
      found.push({ ...about, text: `update ${updateId} was answered with "${before}" and with "${told}"` });
  }
  return found;
}

function histories(runs: readonly RunEvidence[], all: readonly UpdateAnswer[], effects: readonly Effect[]): Found[] {
  const found: Found[] = [];
  const refusing = new Set(all.filter(({ how }) => how === "refuse").map(({ updateId }) => updateId));
  const decided = new Map<string, string>();
  const refused = new Set<string>();
  for (const { run, history } of runs) {
    const { runId, firstRunId } = run;
    const fault = (text: string): void => void found.push({ runId, text });
    let last = 0;
    for (const { type, meta } of history) {
      if (type !== "update_accepted" && type !== "update_rejected") continue;
      const messageId = meta?.messageId ?? "";
      const key = `${firstRunId} ${messageId}`;
      const before = decided.get(key);
      if (before !== undefined) fault(`${messageId} is ${type}, but was ${before}`);
      decided.set(key, type);
      if (type === "update_rejected") {
        refused.add(`${runId} ${givenMessageId(messageId)}`);
        continue;
      }
      if (refusing.has(givenMessageId(messageId))) fault(`${messageId} was accepted, but its code refuses it`);
      if ((meta?.number ?? 0) <= last) fault(`${messageId}, message ${meta?.number}, was accepted after ${last}`);
      last = meta?.number ?? 0;
    }
  }
  const traces = new Set(effects.map(({ runId, op }) => `${runId} ${op}`));
  for (const one of refused) {
    const [runId = "", id = ""] = one.split(" ");
    if (traces.has(`${runId} ${workOf(id)}`)) found.push({ runId, text: `${id} was refused, and had an effect` });
  }
  return found;
}
