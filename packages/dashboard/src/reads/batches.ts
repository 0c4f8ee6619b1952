/** Batches: how far each is, whoever carries it out. */
import type { BatchResult, RunStatus, StepView } from "holdfast";
import type { BatchesView, BatchRow } from "../api/settings-messages.ts";
import { rowsOf } from "./listed-rows.ts";
import type { Ask, Scope } from "./scope.ts";

const BATCH_WORKFLOW = "holdfast.batch";
const SHOWN = 50;

export async function batches({ scope }: Ask): Promise<BatchesView> {
  const { runs } = await scope.act.list({ workflow: BATCH_WORKFLOW, limit: SHOWN });
  const ids = [...new Set(runs.map(({ id }) => id))];
  return { batches: await Promise.all(ids.map((id) => batchRow(scope, id))) };
}

export async function batch({ scope, parts }: Ask): Promise<BatchRow> {
  return batchRow(scope, parts["id"] as string);
}

interface BatchInput {
  readonly action: { readonly name: string; readonly who: { readonly by?: string; readonly reason?: string } };
  readonly soFar?: Partial<BatchResult>;
}

/** A batch that goes on has recorded, page by page, what it has done. */
async function batchRow({ act }: Scope, id: string): Promise<BatchRow> {
  const handle = act.batchRun(id);
  const run = await handle.describe();
  const { action, soFar } = run.input as BatchInput;
  const result = (run.output as BatchResult | undefined) ?? progressOf(soFar, await handle.steps());
  return {
    id,
    action: action.name,
    status: statusOf(run.status),
    matched: result.matched,
    done: result.done,
    skippedCount: result.skippedCount,
    skipped: result.skipped,
    createdAt: run.createdAt.getTime(),
    endedAt: run.endedAt?.getTime() ?? null,
    by: action.who.by ?? null,
    reason: action.who.reason ?? null,
  };
}

function statusOf(status: RunStatus): string {
  if (status === "parked") return "paused";
  if (status === "completed" || status === "failed" || status === "canceled") return status;
  return status === "terminated" ? "canceled" : "running";
}

function progressOf(soFar: Partial<BatchResult> | undefined, steps: readonly StepView[]): Omit<BatchResult, "id"> {
  let { matched = 0, done = 0, skippedCount = 0 } = soFar ?? {};
  const skipped = [...(soFar?.skipped ?? [])];
  for (const { op, output } of steps) {
    const found = (output ?? {}) as { runIds?: unknown[]; skipped?: BatchResult["skipped"]; done?: number };
    if (op.startsWith("batch:find")) matched += (found.runIds?.length ?? 0) + (found.skipped?.length ?? 0);
    if (op.startsWith("batch:act")) done += found.done ?? 0;
    skippedCount += found.skipped?.length ?? 0;
    skipped.push(...(found.skipped ?? []));
  }
  return { matched, done, skippedCount, skipped: skipped.slice(0, 1_000) };
}

/** Of the runs that are named, those that exist here. */
export async function existingRuns(scope: Scope, runIds: readonly string[]): Promise<readonly string[]> {
  return (await rowsOf(scope, runIds)).map(({ runId }) => runId);
}
