import { parkNote, type SweepParams, type SweepResult } from "holdfast/adapter";
import * as binary from "./database/binary-array.ts";
import { eventTypeCode, jsonBytes } from "./database/codes.ts";
import type { Server } from "./database/server.ts";
import { callOf } from "./database/server-call.ts";

export const SWEEP = callOf<SweepParams & { readonly notify: boolean }>("sweep_workers", {
  p_suspect_after: ({ suspectAfter }) => suspectAfter,
  p_park_after: ({ parkAfter }) => parkAfter,
  p_park_error: ({ parkError }) => jsonBytes(parkError),
  p_park_type: () => eventTypeCode("run_parked"),
  p_park_meta: ({ parkError }) => jsonBytes(parkNote(parkError).meta),
  p_grace: ({ timeoutGraceMs }) => Math.ceil(timeoutGraceMs),
  p_timeout_error: ({ timeoutError }) => jsonBytes(timeoutError),
  p_limit: ({ limit }) => limit,
  p_gone: ({ gone }) => (gone ? binary.uuidArray(gone) : null),
  p_notify: ({ notify }) => notify,
});

export async function sweepWorkers(server: Server, params: SweepParams): Promise<SweepResult> {
  const row = await server.writeOne(SWEEP, { ...params, notify: server.notify });
  return {
    now: row.o_now as number,
    dead: row.o_dead as number,
    returned: row.o_returned as number,
    tasksReturned: row.o_tasks_returned as number,
    parked: row.o_parked as number,
    timedOut: row.o_timed_out as number,
    more: row.o_more as boolean,
    nextExpiryAt: row.o_next_expiry_at as number | null,
    nextTaskExpiryAt: row.o_next_task_expiry_at as number | null,
    ...(row.o_owes === true && { owes: true }),
  };
}
