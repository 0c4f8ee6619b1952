import type { Leader, LeaderOutlook, ScheduleOutlook } from "holdfast/adapter";
import type { Call } from "./database/call.ts";
import { OFFLINE, workerStatusCode } from "./database/codes.ts";
import { uuidText } from "./database/uuid.ts";
import { retains } from "./retention.ts";

const LEADER = `
  select w.worker_key as workerKey, w.worker_id as workerId, w.namespace, w.status, w.lease_expires_at as leaseExpiresAt, l.since
  from holdfast_leader l join holdfast_workers w on w.worker_key = l.worker_key`;
const TAKE = `
  insert into holdfast_leader (one, worker_key, since) values (1, ?, ?)
  on conflict (one) do update set worker_key = excluded.worker_key, since = excluded.since`;

const STEP_DOWN_OFFLINE = `
  delete from holdfast_leader where one = 1
     and (select w.status from holdfast_workers w where w.worker_key = holdfast_leader.worker_key) = ?`;

const NEXT = "select next_at as nextAt from holdfast_schedules where next_at > ? order by next_at limit 1";
const ANY_WAITING = "select 1 as yes from holdfast_schedules where waits > 0 limit 1";

interface StoredLeader {
  readonly workerKey: number;
  readonly workerId: Uint8Array;
  readonly namespace: string;
  readonly status: number;
  readonly leaseExpiresAt: number;
  readonly since: number;
}

/** A live worker has registered, or its heartbeat has come: it leads if it may and nobody else does. */
export function lead(call: Call, workerKey: number, mayLead: boolean): { readonly leads?: LeaderOutlook } {
  if (!mayLead) {
    stepDown(call, workerKey);
    return {};
  }
  const leader = call.sql.get<StoredLeader>(LEADER);
  if (leader?.workerKey !== workerKey) {
    if (leader && isLeading(leader, call.now)) return {};
    call.sql.run(TAKE, workerKey, call.now);
  }
  // All times are later than this.
  return { leads: { ...outlookAfter(call, Number.MIN_SAFE_INTEGER), retains: retains(call) } };
}

/** When the leader has something to do, as far as times after that one are concerned. */
export function outlookAfter({ sql }: Call, at: number): ScheduleOutlook {
  const nextAt = sql.get<{ nextAt: number }>(NEXT, at)?.nextAt ?? null;
  return { nextAt, waiting: sql.get(ANY_WAITING) !== undefined };
}

function isLeading({ status, leaseExpiresAt }: StoredLeader, now: number): boolean {
  return status === workerStatusCode("online") && leaseExpiresAt > now;
}

export function stepDown({ sql, hints }: Call, workerKey: number): void {
  if (sql.run("delete from holdfast_leader where one = 1 and worker_key = ?", workerKey) > 0)
    hints.push({ type: "leaderless" });
}

/** A leader that is offline was declared dead: one that stops steps down itself. */
export function stepDownIfOffline({ sql, hints }: Call): void {
  if (sql.run(STEP_DOWN_OFFLINE, OFFLINE) > 0) hints.push({ type: "leaderless" });
}

export function readLeader({ sql }: Call): Leader | null {
  const leader = sql.get<StoredLeader>(LEADER);
  return leader ? { workerId: uuidText(leader.workerId), namespace: leader.namespace, since: leader.since } : null;
}
