import type { Call } from "../database/call.ts";
import { statusCode } from "../database/codes.ts";
import { newUuidBytes } from "../database/uuid.ts";

const HOLD = `
  update holdfast_runs set epoch = epoch + 1, held_by = ?, claim_id = ?, alone = ?, available_at = null, waiting_for = null,
    started_at = coalesce(started_at, max(?, created_at)), status = iif(status = ?, status, ?)
  where run_key in (select value from json_each(?))`;

/** Takes runs that nobody holds. One statement for all: the fixed cost of a statement is larger than its cost per run. */
export function holdRuns(
  { sql, now }: Call,
  runKeys: readonly number[],
  workerKey: number,
  claimId: string,
  alone = false,
): void {
  const [compensating, running] = [statusCode("compensating"), statusCode("running")];
  const keys = JSON.stringify(runKeys);
  sql.execute(HOLD, workerKey, newUuidBytes(claimId), Number(alone), now, compensating, running, keys);
}
