import type { ClaimTasksParams, ClaimTasksResult, Task } from "holdfast/adapter";
import * as binary from "../database/binary-array.ts";
import type { Row } from "../database/driver.ts";
import type { Server } from "../database/server.ts";
import { callOf } from "../database/server-call.ts";
import { taskFields } from "./task-rows.ts";

export const CLAIM_TASKS = callOf<ClaimTasksParams>("claim_tasks", {
  p_worker: ({ workerId }) => workerId,
  p_claim: ({ claimId }) => claimId,
  p_again: ({ again }) => again,
  p_namespace: ({ namespace }) => namespace,
  p_queues: ({ queues }) => binary.textArray(queues),
  p_names: ({ names }) => binary.textArray(names),
  p_labels: ({ labels }) => binary.textArray(labels),
  p_limit: ({ limit }) => limit,
  p_solo: ({ solo }) => solo,
});

export async function claimTasks(server: Server, params: ClaimTasksParams): Promise<ClaimTasksResult> {
  const rows = await server.write(CLAIM_TASKS, params);
  const stand = rows.at(-1);
  const lanes = stand?.lanes as Readonly<Record<number, Lane>>;
  const taken = rows.filter((row) => row.run_id !== null);
  return {
    live: stand?.live as boolean,
    tasks: taken.map((row) => claimedTask(params, row, lanes[row.lane_id as number] as Lane)),
    now: stand?.now as number,
    moreDue: stand?.more_due as boolean,
    nextDueAt: stand?.next_due_at as number | null,
    suspectDue: stand?.suspect_due as boolean,
  };
}

type Lane = Pick<Task, "name" | "queue" | "requires" | "priority">;

function claimedTask({ namespace, workerId, claimId }: ClaimTasksParams, row: Row, lane: Lane): Task {
  const { name, queue, requires, priority } = lane;
  const held = { status: "held", heldBy: workerId, claimId, availableAt: null } as const;
  return { namespace, name, queue, requires, priority, ...held, ...taskFields(row) };
}
