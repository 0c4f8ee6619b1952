/** What workers, leaders, watchdogs and movers do besides running workflows, each in one call of the store. */
import type { RateRow, RestartParams, Store } from "holdfast/adapter";

export const NAMESPACE = "default";

export type Chore =
  | { readonly do: "purge"; readonly endedBefore: number }
  | { readonly do: "rates"; readonly workerId: string; readonly rates: readonly RateRow[] }
  | { readonly do: "restart"; readonly run: Omit<RestartParams, "event"> }
  | { readonly do: "identify"; readonly storeId: string };

export function doChore(store: Store, chore: Chore): Promise<unknown> {
  switch (chore.do) {
    case "purge":
      return store.runs.purge({
        namespace: NAMESPACE,
        endedBefore: chore.endedBefore,
        limit: 250,
        statuses: ["completed"],
      });
    case "rates":
      return store.workers.addRates({ namespace: NAMESPACE, workerId: chore.workerId, no: 1, rates: chore.rates });
    case "restart":
      return store.runs.restartIfHeld({
        ...chore.run,
        event: { type: "run_restarted", op: null, meta: { by: "somebody", reason: "it makes no progress" } },
      });
    case "identify":
      return store.transfers.identify({ storeId: chore.storeId });
  }
}
