import type { Call } from "../database/call.ts";
import { statusCode } from "../database/codes.ts";
import { newUuidBytes } from "../database/uuid.ts";

const hold = (more: string): string => `
  update holdfast_runs set ${more}epoch = epoch + 1, held_by = ?, claim_id = ?, alone = ?, available_at = null, waiting_for = null,
    started_at = coalesce(started_at, max(?, created_at)), status = iif(status = ?, status, ?)
  where run_key in (select value from json_each(?))`;
const HOLD = hold("");
const HOLD_WITH_MESSAGE = hold("delivered = delivered + 1, ");

/**
 * SQLite keeps the pages that a statement changes as they were, to undo it alone, and writes them to a file when they are more than
 * 64 KiB: 100 to 300 bytes for each run, if they were 20 or 200.
 */
export const RUNS_PER_UPDATE = 12;

/** Takes runs that nobody holds. One statement for many: the fixed cost of a statement is larger than its cost per run. */
export function holdRuns(
  { sql, now }: Call,
  runKeys: readonly number[],
  workerKey: number,
  claimId: string,
  { alone = false, messages = 0 }: { readonly alone?: boolean; readonly messages?: 0 | 1 } = {},
): void {
  const [compensating, running] = [statusCode("compensating"), statusCode("running")];
  const claim = newUuidBytes(claimId);
  for (let at = 0; at < runKeys.length; at += RUNS_PER_UPDATE) {
    const keys = JSON.stringify(runKeys.slice(at, at + RUNS_PER_UPDATE));
    sql.execute(
      messages === 0 ? HOLD : HOLD_WITH_MESSAGE,
      workerKey,
      claim,
      Number(alone),
      now,
      compensating,
      running,
      keys,
    );
  }
}
