import type { WorkerRow } from "holdfast";
import type { WorkerEvents, WorkersView, WorkerView } from "../api/operation-messages.ts";
import { wholeNumber } from "./query-values.ts";
import { type Ask, storeNow } from "./scope.ts";

const GONE_SHOWN_MS = 86_400_000;

export async function workers({ scope }: Ask): Promise<WorkersView> {
  const [rows, health, now] = await Promise.all([scope.view.workers.list(), scope.view.health(), storeNow(scope)]);
  const judged = new Map(health.workers.map(({ workerId, health: state }) => [workerId, state]));
  const shown = rows.filter(({ stoppedAt }) => stoppedAt === null || now - stoppedAt < GONE_SHOWN_MS);
  const views = shown.map((row) => workerView(row, row.status === "offline" ? "gone" : judged.get(row.workerId), now));
  const rank = ({ health: state }: WorkerView): number => (state === "gone" ? 1 : 0);
  return {
    workers: views.sort((a, b) => rank(a) - rank(b) || b.startedAt - a.startedAt),
    leader: health.leader?.workerId ?? null,
    now,
  };
}

function workerView(row: WorkerRow, health: WorkerView["health"] | undefined, now: number): WorkerView {
  const { namespace: _, host, pid, tasks, ...rest } = row;
  return {
    ...rest,
    health: health ?? (row.leaseExpiresAt < now ? "unhealthy" : "healthy"),
    host: host ?? null,
    pid: pid ?? null,
    tasks: tasks ?? [],
  };
}

export async function workerEvents({ scope, query }: Ask): Promise<WorkerEvents> {
  const [workerId, cursor] = [query.get("workerId"), query.get("cursor")];
  const page = await scope.view.workers.events({
    limit: Math.max(1, wholeNumber(query, "limit", 100, 500)),
    ...(workerId ? { workerId } : {}),
    ...(cursor ? { cursor } : {}),
  });
  return { events: page.events.map((event) => ({ ...event, at: event.at.getTime() })), cursor: page.cursor };
}
