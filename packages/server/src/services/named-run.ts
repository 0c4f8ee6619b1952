/** A run that a request names, by its run id or by the id of its user. */

import type { RunDescription, RunHandle } from "holdfast";
import { HoldfastError, type RunStatus } from "holdfast/adapter";
import type { Call } from "./call.ts";
import { refused } from "./pages.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export interface RunNames {
  readonly runId: string;
  readonly externalId?: string;
}

export type RunName = string | { readonly runId: string };

/** As a client takes it. */
export function runName({ runId, externalId = "" }: RunNames, namespace: string): RunName {
  if (runId === "" && externalId === "") throw refused("run_id", "is empty");
  if (runId !== "" && externalId !== "") throw refused("run_id", "and external_id exclude each other");
  if (runId === "") return externalId;
  // Ids of runs are lower-case UUIDs: stores refuse anything else.
  if (UUID.test(runId)) return { runId };
  throw new HoldfastError("run_not_found", `There is no run "${runId.slice(0, 100)}" in namespace "${namespace}".`, {
    data: { runId: runId.slice(0, 100) },
  });
}

export function handleOf(call: Call, names: RunNames): RunHandle {
  return call.client.get(runName(names, call.namespace));
}

/** The run, and the status that it has now. */
export async function describeOf(call: Call, names: RunNames): Promise<RunDescription> {
  return handleOf(call, names).describe();
}

const OPEN: readonly RunStatus[] = ["pending", "running", "sleeping", "waiting", "compensating", "parked"];

export function isOpen(status: RunStatus): boolean {
  return OPEN.includes(status);
}
