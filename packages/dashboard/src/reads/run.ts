import type { RunData, RunPage } from "../api/run-messages.ts";
import { remainingCompensations } from "./compensation.ts";
import { namedRun } from "./named-run.ts";
import { relatedTo } from "./relations.ts";
import { runDetail, shownAttributes } from "./run-row.ts";
import { type Ask, storeNow } from "./scope.ts";
import { SHOWN_CHARACTERS } from "./shown-value.ts";
import { whyView } from "./why-view.ts";

/** The head of the run page: what it is, and why it waits. */
export async function run(ask: Ask): Promise<RunPage> {
  const { scope } = ask;
  const named = await namedRun(ask);
  const [why, compensations, related, now] = await Promise.all([
    scope.view.why({ runId: named.run.runId }),
    remainingCompensations(named),
    relatedTo(scope, named.run),
    storeNow(scope),
  ]);
  return {
    run: runDetail(scope, named.run, { compensations, ...related }),
    why: await whyView(scope, named.run, why),
    now,
  };
}

export async function runData(ask: Ask): Promise<RunData> {
  const { namespace, values } = ask.scope;
  const { run: described } = await namedRun(ask);
  const { workflow, input, output, error, attributes } = described;
  return {
    input: values.show(input, { namespace, workflow, what: "input" }, SHOWN_CHARACTERS),
    output: values.show(output, { namespace, workflow, what: "output" }, SHOWN_CHARACTERS),
    error: error === null ? null : values.error(error),
    attributes: shownAttributes(attributes),
  };
}
