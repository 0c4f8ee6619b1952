import type { Leader, LeaderOutlook } from "holdfast/adapter";
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
export function leadingIn(row: Row): { readonly leads?: LeaderOutlook } {
  if (row.o_leads !== true) return {};
  const { o_next_at: nextAt, o_waiting: waiting, o_retains: retains } = row;
  return { leads: { nextAt: nextAt as number | null, waiting: waiting as boolean, retains: retains as boolean } };
}
