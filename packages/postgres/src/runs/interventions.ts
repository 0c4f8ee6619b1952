import type {
  ErrorRecord,
  ReopenOutcome,
  ReopenParams,
  RestartOutcome,
  RestartParams,
  RunStatus,
  TerminateOutcome,
  TerminateRunsParams,
} from "holdfast/adapter";
import * as binary from "../database/binary-array.ts";
import { eventTypeCode, jsonBytes } from "../database/codes.ts";
import type { Server } from "../database/server.ts";
import { callOf } from "../database/server-call.ts";
import { outcomesOf, REF, REFS, type Ref, type Refs } from "./run-refs.ts";

const TERMINATE = callOf<Refs & { readonly error: ErrorRecord; readonly notify: boolean }>("terminate_runs", {
  ...REFS,
  p_errors: ({ error }) => binary.byteaArray([jsonBytes(error)]),
  p_notify: ({ notify }) => notify,
});

const REOPEN = callOf<Ref & Pick<ReopenParams, "eventCount" | "event"> & { readonly notify: boolean }>("reopen_run", {
  ...REF,
  p_event_count: ({ eventCount }) => eventCount,
  p_type: ({ event }) => eventTypeCode(event.type),
  p_op: ({ event }) => event.op,
  p_payload: ({ event }) => (event.payload === undefined ? null : Buffer.from(event.payload)),
  p_meta: ({ event }) => (event.meta === undefined ? null : jsonBytes(event.meta)),
  p_notify: ({ notify }) => notify,
});

const RESTART = callOf<RestartParams & { readonly notify: boolean }>("restart_run", {
  p_namespace: ({ namespace }) => namespace,
  p_run: ({ runId }) => runId,
  p_epoch: ({ epoch }) => epoch,
  p_commit: ({ commit }) => commit,
  p_events: ({ eventCount }) => eventCount,
  p_type: ({ event }) => eventTypeCode(event.type),
  p_meta: ({ event }) => (event.meta === undefined ? null : jsonBytes(event.meta)),
  p_notify: ({ notify }) => notify,
});

/** What operators do to runs, no matter which worker holds them. */
export async function terminateRuns(server: Server, params: TerminateRunsParams): Promise<readonly TerminateOutcome[]> {
  const { runs, error } = params;
  return outcomesOf<TerminateOutcome>(await server.write(TERMINATE, { refs: runs, error, notify: server.notify }));
}

export async function reopenRunIfFailed(server: Server, params: ReopenParams): Promise<ReopenOutcome> {
  const { run: ref, eventCount, event } = params;
  const row = await server.writeOne(REOPEN, { ref, eventCount, event, notify: server.notify });
  return { outcome: row.o_outcome as ReopenOutcome["outcome"], status: row.o_status as RunStatus | null };
}

export async function restartRunIfHeld(server: Server, params: RestartParams): Promise<RestartOutcome> {
  const row = await server.writeOne(RESTART, { ...params, notify: server.notify });
  return { outcome: row.o_outcome as RestartOutcome["outcome"] };
}
