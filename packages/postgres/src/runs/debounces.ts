import type { DebounceParams, RefusedStart, StartOutcome } from "holdfast/adapter";
import type { Row } from "../database/driver.ts";
import type { Server } from "../database/server.ts";
import { callOf } from "../database/server-call.ts";
import { runRowOf } from "./run-rows.ts";

const DEBOUNCE = callOf<DebounceParams & { readonly notify: boolean }>("debounce_run", {
  p_run: ({ start }) => start.run.runId,
  p_namespace: ({ start }) => start.run.namespace,
  p_id: ({ start }) => start.run.id,
  p_workflow: ({ start }) => start.run.workflow,
  p_version: ({ start }) => start.run.version,
  p_queue: ({ start }) => start.run.queue,
  p_priority: ({ start }) => start.run.priority,
  p_seed: ({ start }) => start.run.seed,
  p_input: ({ start }) => Buffer.from(start.run.input),
  p_attributes: ({ start }) =>
    Object.keys(start.run.attributes).length === 0 ? null : JSON.stringify(start.run.attributes),
  p_timeout: ({ start }) => wholeMs(start.run.timeoutMs ?? null),
  p_key: ({ start }) => start.run.key ?? null,
  p_pick: ({ start }) => start.pick,
  p_by: ({ key }) => key,
  p_for: ({ forMs }) => wholeMs(forMs),
  p_max: ({ maxMs }) => wholeMs(maxMs),
  p_notify: ({ notify }) => notify,
});

export async function debounceRun(server: Server, params: DebounceParams): Promise<StartOutcome | RefusedStart> {
  const row = await server.writeOne(DEBOUNCE, { ...params, notify: server.notify });
  if (row.o_run === null) return { outcome: "queue_full", run: null };
  return { outcome: row.o_outcome as StartOutcome["outcome"], run: runRowOf(row.o_run as Row) };
}

/** Rounded up, so that nothing is due early. */
function wholeMs(ms: number | null): number | null {
  return ms === null ? null : Math.ceil(ms);
}
