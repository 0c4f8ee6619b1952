import type { ClaimRunsParams, ClaimRunsResult, Message, Run } from "holdfast/adapter";
import * as binary from "./binary-array.ts";
import type { Row } from "./driver.ts";
import { messagesOf, runOf } from "./run-rows.ts";

/** The parameters of claim_runs, in its order. */
export function claimValues(params: ClaimRunsParams): unknown[] {
  return [
    params.workerId,
    params.claimId,
    params.again,
    params.namespace,
    binary.textArray(params.queues),
    binary.textArray(params.handlers.map((handler) => handler.workflow)),
    binary.textArray(params.handlers.map((handler) => handler.version)),
    params.limit,
    params.solo,
  ];
}

/** One row at least; without a run if nothing was taken. */
export function claimResult(rows: readonly Row[]): ClaimRunsResult {
  const [first] = rows;
  const runs: Run[] = [];
  const messages: Message[] = [];
  for (const row of rows) {
    if (row.run_id === null) continue;
    runs.push(runOf(row));
    if (row.m_number !== null) messages.push(...messagesOf(row, () => row.run_id as string));
  }
  return {
    live: first?.live as boolean,
    runs,
    messages,
    now: first?.now as number,
    nextDueAt: first?.next_due_at as number | null,
    suspectDue: first?.suspect_due as boolean,
  };
}
