import type { HistoryEvent, Payload, Task, TaskExpiry, TaskFailure, TaskKey, TaskStatus } from "holdfast/adapter";
import * as binary from "../database/binary-array.ts";
import { jsonOf } from "../database/codes.ts";
import type { Row } from "../database/driver.ts";

export function taskOf(row: Row): Task {
  return {
    namespace: row.namespace as string,
    name: row.name as string,
    queue: row.queue as string,
    requires: row.requires as string[],
    priority: row.priority as number,
    status: row.status as TaskStatus,
    heldBy: row.held_by as string | null,
    claimId: row.claim_id as string | null,
    availableAt: row.available_at as number | null,
    ...taskFields(row),
  };
}

type LaneAndHolder =
  | ("namespace" | "name" | "queue" | "requires" | "priority")
  | ("status" | "heldBy" | "claimId" | "availableAt");

/** What the lane and the holder of a task do not say. */
export function taskFields(row: Row): Omit<Task, LaneAndHolder> {
  return {
    runId: row.run_id as string,
    seq: row.seq as number,
    inputSeq: row.input_seq as number,
    op: row.op as string,
    epoch: row.epoch as number,
    secret: (row.secret as string).replaceAll("-", ""),
    attempt: row.attempt as number,
    expiresAt: row.expires_at as number | null,
    expires: row.expires as TaskExpiry | null,
    canceled: row.canceled as boolean,
    deaths: row.deaths as number,
    aloneDeaths: row.alone_deaths as number,
    alone: row.alone as boolean,
    suspect: row.suspect as boolean,
    failOnCrash: row.fail_on_crash as boolean,
    createdAt: row.created_at as number,
    details: row.details as Payload | null,
    failures: jsonOf<TaskFailure[]>(row.failures) ?? [],
    input: row.input as Payload | null,
    spec: specIn(row.meta),
  };
}

function specIn(meta: unknown): Task["spec"] {
  return jsonOf<NonNullable<HistoryEvent["meta"]>>(meta)?.task ?? null;
}

/** Tasks by their keys. */
export const KEYS = {
  p_run: ({ keys }: Keys) => binary.uuidArray(keys, ({ runId }) => runId),
  p_seq: ({ keys }: Keys) => binary.int4Array(keys, ({ seq }) => seq),
};

export interface Keys {
  readonly keys: readonly TaskKey[];
}
