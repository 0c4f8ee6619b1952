import type { WatchOutcome, WatchRunsParams } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { isClosedCode } from "../database/codes.ts";
import { newUuidBytes } from "../database/uuid.ts";
import { addressee } from "../inbox.ts";
import { isAllowed } from "../namespaces.ts";
import { readEnd } from "../runs/run-rows.ts";
import { noteTied } from "../runs/run-state.ts";
import { noteWatched } from "./debt-state.ts";

const INSERT = `
  insert into holdfast_watches (chain_key, run_id, namespace, op) values (?, ?, ?, ?)
  on conflict (chain_key, run_id, op) do nothing`;

export function watchRuns(call: Call, { watches }: WatchRunsParams): WatchOutcome[] {
  return watches.map((watch) => watchRun(call, watch));
}

function watchRun(call: Call, { run, by }: WatchRunsParams["watches"][number]): WatchOutcome {
  if (!isAllowed(call, run.namespace, by.namespace)) return { outcome: "not_allowed", end: null };
  const row = addressee(call, run);
  if (!row) return { outcome: "not_found", end: null };
  if (isClosedCode(row.status)) return { outcome: "ended", end: readEnd(call, row.runKey).end };
  call.sql.run(INSERT, row.chainKey, newUuidBytes(by.runId), by.namespace, by.op);
  noteWatched(call, row);
  noteTied(call, row);
  return { outcome: "watching", end: null };
}
