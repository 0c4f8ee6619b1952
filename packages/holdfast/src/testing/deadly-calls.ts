import type { StartRunsParams } from "../ports/store.ts";
import type { StoreMethod } from "../ports/store-calls.ts";
import type { MortalMoment } from "./mortal.ts";

/** Who dies: the worker that does everything, or one that only executes tasks. */
export type Doomed = "worker" | "task worker";

/** The calls of the store at which it dies. */
const DEADLY: Readonly<Record<Doomed, readonly StoreMethod[]>> = {
  worker: [
    "runs.commit",
    "transact",
    "tasks.finish",
    "runs.start",
    "runs.watch",
    "runs.reopenIfFailed",
    "runs.terminate",
    "inbox.deliver",
    "debts.pay",
    "locks.pass",
  ],
  "task worker": ["tasks.claim", "tasks.finish"],
};

/** The run itself is started by a client that lives. */
export function isDeadly(who: Doomed, { method, params }: MortalMoment): boolean {
  if (method === "runs.start" && !(params as StartRunsParams).starts.some(({ parent }) => parent)) return false;
  return DEADLY[who].includes(method);
}
