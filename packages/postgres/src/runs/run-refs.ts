import type { RunRef } from "holdfast/adapter";
import * as binary from "../database/binary-array.ts";
import type { Row } from "../database/driver.ts";

/** Runs by namespace, and by run id or the user's id. */
export const REFS = {
  p_run: ({ refs }: Refs) => binary.uuidArray(refs, (ref) => ("runId" in ref ? ref.runId : null)),
  p_namespace: ({ refs }: Refs) => binary.textArray(refs, (ref) => ref.namespace),
  p_id: ({ refs }: Refs) => binary.textArray(refs, (ref) => ("runId" in ref ? null : ref.id)),
};

export interface Refs {
  readonly refs: readonly RunRef[];
}

/** The same for one run. */
export const REF = {
  p_run: ({ ref }: Ref) => ("runId" in ref && binary.isUuid(ref.runId) ? ref.runId : null),
  p_namespace: ({ ref }: Ref) => ref.namespace,
  p_id: ({ ref }: Ref) => ("runId" in ref ? null : ref.id),
};

export interface Ref {
  readonly ref: RunRef;
}

/** Rows with a position from 1, an outcome, the run, its status and whether it owes something; position 0 holds the hints. */
export function outcomesOf<T extends { readonly outcome: string }>(rows: readonly Row[]): T[] {
  const outcomes: T[] = [];
  for (const row of rows) {
    if (row.i === 0) continue;
    const outcome = { outcome: row.outcome, runId: row.run_id, status: row.status };
    outcomes[(row.i as number) - 1] = (row.owes === true ? { ...outcome, owes: true } : outcome) as unknown as T;
  }
  return outcomes;
}
