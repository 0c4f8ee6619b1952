import { jsonCodec } from "../../packages/holdfast/src/codec/json-codec.ts";
import type { HistoryEvent } from "../../packages/holdfast/src/model/event.ts";
import { isClosed } from "../../packages/holdfast/src/model/run.ts";
import type { Checker, Found, RunEvidence } from "../evidence.ts";
import type { QueryAnswer } from "../talk-evidence.ts";
import { voidEvents } from "../void-events.ts";
import { MEDDLED, type Request } from "../workload/talk.ts";

/**
 * A query is told what follows from the history of the run, everything that others had been told before, and nothing that is not
 * durable. It changes nothing.
 */
export const queries: Checker = {
  name: "queries",
  needs: ["queryAnswers", "meddlings"],
  check({ runs, queryAnswers = [], meddlings = [] }) {
    const byRun = new Map(runs.map((one) => [one.run.runId, one]));
    const found: Found[] = queryAnswers.flatMap((answer) => {
      const run = byRun.get(answer.sketch.runId);
      return run ? judge(answer, run) : [{ text: `${answer.id}: a run answered that does not exist` }];
    });
    for (const { id, told } of meddlings)
      if (told !== "query_failed") found.push({ text: `a query of ${id} tried to change something, and got ${told}` });
    for (const { run, history } of runs)
      if (history.some(({ op }) => op === MEDDLED)) found.push({ runId: run.runId, text: "a query is in its history" });
    return found;
  },
};

function judge({ sketch, durable, known }: QueryAnswer, { run, history }: RunEvidence): Found[] {
  const { runId } = run;
  const { at, log } = sketch;
  const found: Found[] = [];
  if (durable !== undefined && at > durable)
    found.push({ runId, text: `an answer was given at event ${at}, but only ${durable} were durable` });
  const seen = history.slice(0, at);
  const expected = logOf(seen);
  const begun = (entries: readonly string[]): string => entries.filter((entry) => entry.startsWith("+")).join(" ");
  const isVoid = voidEvents(seen);
  // A retry goes back to the failure: ops that a handler has asked for since are done again (which ones they are cannot be told from
  // their names), and the handler ends once more. Its caller keeps the first answer (`updates`).
  const doubtful = new Set(logOf(seen.filter((event) => event.type === "update_accepted" || isVoid.has(event))));
  const ended = (entries: readonly string[]): string =>
    entries.filter((entry) => entry.startsWith("-") && !doubtful.has(entry)).join(" ");
  // What ends in the last turn of a run is not recorded. A run that waits for its next try answers as that will begin.
  const isLast = (isClosed(run.status) && at === history.length) || seen.at(-1)?.type === "run_retried";
  if (
    begun(log) !== begun(expected) ||
    (isLast ? !ended(log).startsWith(ended(expected)) : ended(log) !== ended(expected))
  )
    found.push({ runId, text: `at event ${at} it said ${log.join(" ")}, but history says ${expected.join(" ")}` });
  const missing = known.filter((id) => !log.includes(`-${id}`));
  if (missing.length > 0)
    found.push({ runId, text: `${missing.join(", ")} had been answered, but it said ${log.join(" ")} at event ${at}` });
  return found;
}

/** The updates that have begun and ended, as history has it. */
function logOf(events: readonly HistoryEvent[]): readonly string[] {
  const ids = new Map<string | null, string>();
  return events.flatMap(({ type, op, payload }) => {
    if (type === "update_completed") return [`-${ids.get(op)}`];
    if (type !== "update_accepted" || payload === undefined) return [];
    const { id } = jsonCodec.decode(payload) as Request;
    ids.set(op, id);
    return [`+${id}`];
  });
}
