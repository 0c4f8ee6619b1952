import type { Lineage } from "../model/child.ts";
import type { NewRun, RunRow } from "../model/run.ts";
import type { StartRunsParams } from "./starts.ts";

/** What a store has decided about a run that it has just created. */
export interface NewRunDecisions extends Pick<RunRow, "version" | "createdAt" | "deadlineAt" | "availableAt"> {
  /** The worker that holds it from the beginning, and since when. */
  readonly holder: StartRunsParams["holdBy"];
  readonly now: number;
  readonly lineage?: Lineage | undefined;
}

/**
 * The row of a run that has just been created, without reading it. Field by field: spreads of so many fields are slow, and
 * this happens once per start.
 */
export function newRunRow(run: NewRun, decisions: NewRunDecisions): RunRow {
  const { version, createdAt, deadlineAt, availableAt, holder, now, lineage } = decisions;
  // As it is read back: stores keep the bytes of a UUID, not its letters.
  const runId = run.runId.toLowerCase();
  const row: RunRow & { lineage?: Lineage; key?: string } = {
    namespace: run.namespace,
    runId,
    id: run.id,
    firstRunId: runId,
    workflow: run.workflow,
    version,
    queue: run.queue,
    priority: run.priority,
    seed: run.seed,
    status: holder ? "running" : "pending",
    epoch: holder ? 1 : 0,
    commit: 0,
    heldBy: holder ? holder.workerId : null,
    claimId: holder ? holder.claimId : null,
    availableAt,
    eventCount: 0,
    delivered: 0,
    consumed: 0,
    deaths: 0,
    aloneDeaths: 0,
    alone: false,
    suspect: false,
    createdAt,
    startedAt: holder ? Math.max(now, createdAt) : null,
    endedAt: null,
    deadlineAt,
    timeoutMs: run.timeoutMs ?? null,
    attributes: run.attributes,
    waitingFor: [],
    compensation: null,
    continuedFrom: null,
    continuedAs: null,
  };
  if (lineage) row.lineage = lineage;
  if (run.key !== undefined) row.key = run.key;
  return row;
}
