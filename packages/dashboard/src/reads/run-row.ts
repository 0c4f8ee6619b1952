import type { RunDescription, RunSummary } from "holdfast";
import type { RunRow, ShortWhy } from "../api/list-messages.ts";
import type { RunDetail } from "../api/run-messages.ts";
import { actionsOf } from "./run-actions.ts";
import type { Scope } from "./scope.ts";
import { BRIEF_CHARACTERS } from "./shown-value.ts";

const SCHEDULE_ATTRIBUTE = "holdfast.schedule";

export function runRow(run: RunSummary): RunRow {
  const { why, attributes } = run;
  const { runId, id, workflow, version, queue, priority, key, status, compensation, workerId, historyLength } = run;
  return {
    runId,
    id,
    workflow,
    version,
    queue,
    priority,
    key,
    status,
    state: why.kind === "backoff" ? "retrying" : status,
    paused: why.kind === "paused",
    compensation,
    attributes: shownAttributes(attributes),
    createdAt: run.createdAt.getTime(),
    startedAt: run.startedAt?.getTime() ?? null,
    endedAt: run.endedAt?.getTime() ?? null,
    updatedAt: run.updatedAt.getTime(),
    availableAt: run.availableAt?.getTime() ?? null,
    deadlineAt: run.deadlineAt?.getTime() ?? null,
    workerId,
    historyLength,
    waitingFor: run.waitingFor,
    why: shortWhy(why),
  };
}

export function shownAttributes(attributes: RunSummary["attributes"]): RunRow["attributes"] {
  return JSON.parse(JSON.stringify(attributes)) as RunRow["attributes"];
}

function shortWhy({ kind, text, op, at, since, error }: RunSummary["why"]): ShortWhy {
  return {
    kind,
    text,
    ...(op === undefined ? {} : { op }),
    ...(at === undefined ? {} : { at: at.getTime() }),
    ...(since === undefined ? {} : { since: since.getTime() }),
    ...(error == null ? {} : { error }),
  };
}

/** What the row does not say. */
export type Beside = Pick<RunDetail, "compensations" | "related" | "relatedCapped">;
export const NOTHING_BESIDE: Beside = { compensations: [], related: 0, relatedCapped: false };

export function runDetail(scope: Scope, run: RunDescription, beside: Beside): RunDetail {
  const { namespace, values } = scope;
  const { workflow, error, attributes } = run;
  const schedule = attributes[SCHEDULE_ATTRIBUTE];
  return {
    ...runRow(run),
    namespace,
    input: values.show(run.input, { namespace, workflow, what: "input" }, BRIEF_CHARACTERS),
    output: values.show(run.output, { namespace, workflow, what: "output" }, BRIEF_CHARACTERS),
    error: error === null ? null : values.error(error),
    continuedFrom: run.continuedFrom,
    continuedAs: run.continuedAs,
    parent: run.parent && { runId: run.parent.runId, id: run.parent.id, op: run.parent.op },
    root: run.root,
    depth: run.depth,
    forkedFrom: run.forkedFrom,
    schedule: typeof schedule === "string" ? schedule : null,
    actions: actionsOf(run),
    ...beside,
  };
}
