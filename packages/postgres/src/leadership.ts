import type { Leader, ScheduleOutlook } from "holdfast/adapter";
import type { Row } from "./database/driver.ts";
import type { Server } from "./database/server.ts";
import { queryOf } from "./database/server-call.ts";

const LEADER = queryOf<unknown>(
  "read_leader",
  (at) => `select l.worker_id, w.namespace, l.since from ${at}.leader l join ${at}.workers w using (worker_id)`,
  {},
);

export async function readLeader(server: Server): Promise<Leader | null> {
  const [row] = await server.read(LEADER, undefined);
  if (!row) return null;
  return { workerId: row.worker_id as string, namespace: row.namespace as string, since: row.since as number };
}

/** What a registration or a heartbeat has said about leading. */
export function leadingIn(row: Row): { readonly leads?: ScheduleOutlook } {
  if (row.o_leads !== true) return {};
  return { leads: { nextAt: row.o_next_at as number | null, waiting: row.o_waiting as boolean } };
}
