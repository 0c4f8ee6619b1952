import type { CompensationOutcome, EndedRun, ErrorRecord, Payload } from "holdfast/adapter";
import { jsonOf } from "../database/codes.ts";
import type { Row } from "../database/driver.ts";

/** How a run ended, from a row that has it in columns. */
export function endedRunOf(row: Row): EndedRun {
  return {
    namespace: row.namespace as string,
    runId: row.run_id as string,
    firstRunId: row.chain_id as string,
    id: row.id as string,
    workflow: row.workflow as string,
    version: row.version as string,
    status: row.status as EndedRun["status"],
    output: row.output as Payload | null,
    error: jsonOf<ErrorRecord>(row.error),
    compensation: row.compensation as CompensationOutcome | null,
    eventCount: row.event_count as number,
  };
}
