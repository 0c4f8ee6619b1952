import type { ForkOutcome, ForkParams } from "holdfast/adapter";
import { eventTypeCode, jsonBytes } from "../database/codes.ts";
import type { Row } from "../database/driver.ts";
import type { Server } from "../database/server.ts";
import { callOf } from "../database/server-call.ts";
import { isRace } from "../errors.ts";
import { runRowOf } from "./run-rows.ts";

const FORK = callOf<ForkParams & { readonly notify: boolean }>("fork_run", {
  p_run: ({ run }) => run.runId,
  p_namespace: ({ run }) => run.namespace,
  p_id: ({ run }) => run.id,
  p_workflow: ({ run }) => run.workflow,
  p_version: ({ run }) => run.version,
  p_queue: ({ run }) => run.queue,
  p_priority: ({ run }) => run.priority,
  p_seed: ({ run }) => run.seed,
  p_input: ({ run }) => Buffer.from(run.input),
  p_attributes: ({ run }) => (Object.keys(run.attributes).length === 0 ? null : JSON.stringify(run.attributes)),
  p_timeout: ({ run }) => run.timeoutMs ?? null,
  p_key: ({ run }) => run.key ?? null,
  p_origin: ({ origin }) => origin.runId,
  p_copied: ({ copied }) => copied,
  p_judged: ({ judged }) => judged,
  p_numbered_from: ({ numberedFrom }) => numberedFrom,
  p_type: ({ event }) => eventTypeCode(event.type),
  p_payload: ({ event }) => (event.payload === undefined ? null : Buffer.from(event.payload)),
  p_meta: ({ event }) => (event.meta === undefined ? null : jsonBytes(event.meta)),
  p_notify: ({ notify }) => notify,
});

export async function forkRun(server: Server, params: ForkParams): Promise<ForkOutcome> {
  const send = () => server.writeOne(FORK, { ...params, notify: server.notify });
  let row: Row;
  try {
    row = await send();
  } catch (error) {
    // Another call has just taken the id, perhaps a copy of this one.
    if (!isRace(error)) throw error;
    row = await send();
  }
  return {
    outcome: row.o_outcome as ForkOutcome["outcome"],
    run: row.o_run === null ? null : runRowOf(row.o_run as Row),
  };
}
