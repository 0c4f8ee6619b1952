/** The last runs of a workflow, each with its ops. */
import { refusal } from "../answers/refusal.ts";
import type { Grid } from "../api/run-messages.ts";
import { opSummaries } from "./op-summary.ts";
import { wholeNumber } from "./query-values.ts";
import { runRow } from "./run-row.ts";
import type { Ask } from "./scope.ts";

const STATUSES = ["running", "retrying", "waiting", "completed", "failed", "canceled"];
const RUNS_MAX = 50;
const OPS_MAX = 200;
/** Of a longer run nothing is shown but the run itself. */
const EVENTS_MAX = 5_000;

export async function grid({ scope, query }: Ask): Promise<Grid> {
  const { view, namespace } = scope;
  const workflow = query.get("workflow") ?? "";
  if (workflow === "") throw refusal(400, "bad_request", "Say which workflow.");
  const [version, cursor] = [query.get("version"), query.get("cursor")];
  const page = await view.list({
    workflow,
    limit: Math.max(1, wholeNumber(query, "limit", RUNS_MAX, RUNS_MAX)),
    ...(version ? { version } : {}),
    ...(cursor ? { cursor } : {}),
  });
  const rows = await Promise.all(
    page.runs.map(({ runId, historyLength }) =>
      historyLength > EVENTS_MAX ? [] : opSummaries(view.get({ runId }), `${namespace} ${runId}`),
    ),
  );
  const ops = orderOf(rows.map((ones) => ones.map(({ step }) => step.op)));
  const shown = ops.slice(0, OPS_MAX);
  const cells = rows.map((ones) => {
    const byOp = new Map(ones.map((one) => [one.step.op, one]));
    return shown.map((op) => {
      const one = byOp.get(op);
      if (!one) return null;
      return [STATUSES.indexOf(one.step.status), one.step.attempts, one.ms ?? -1, one.seq ?? -1] as const;
    });
  });
  return {
    workflow,
    runs: page.runs.map(runRow),
    cursor: page.cursor,
    ops: shown,
    opsCapped: ops.length > OPS_MAX,
    cells,
    statuses: STATUSES,
  };
}

/** Every op once, each behind the one that it follows in the first run that has it. */
export function orderOf(rows: readonly (readonly string[])[]): string[] {
  const order: string[] = [];
  const known = new Set<string>();
  for (const ops of rows) {
    let at = -1;
    for (const op of ops) {
      if (known.has(op)) at = order.indexOf(op);
      else {
        at += 1;
        order.splice(at, 0, op);
        known.add(op);
      }
    }
  }
  return order;
}
