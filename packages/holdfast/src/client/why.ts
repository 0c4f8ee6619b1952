import { HoldfastError } from "../errors/holdfast-error.ts";
import { formatDuration } from "../model/duration.ts";
import { isClosed, type Run, type RunStatus } from "../model/run.ts";
import type { WorkerRow } from "../model/worker-row.ts";
import type { ClientCore } from "./client-core.ts";

/** Three heartbeats are due in a lease: by then one is missing, and has had time to be late. */
const OVERDUE_SHARE = 0.5;

/** What `hf.why(id)` answers. */
export interface Why {
  readonly status: RunStatus;
  /** What it waits for, in one sentence. */
  readonly reason: string;
  readonly waitingFor: readonly string[];
  readonly dueAt: Date | null;
  readonly workerId: string | null;
}

export async function explainRun(core: ClientCore, id: string): Promise<Why> {
  const { namespace } = core;
  const [run] = await core.call((store) => store.runs.read({ runs: [{ namespace, id }] }));
  if (!run)
    throw new HoldfastError("run_not_found", `There is no run "${id}" in namespace "${namespace}".`, { data: { id } });
  const workers = await core.call((store) => store.workers.list({ namespace }));
  const { now } = await core.call((store) => store.readClock());
  const dueAt = run.availableAt === null ? null : new Date(run.availableAt);
  return {
    status: run.status,
    reason: reasonOf(run, workers, now),
    waitingFor: run.waitingFor,
    dueAt,
    workerId: run.heldBy,
  };
}

/** What the holder is doing, as far as its heartbeats tell. */
function holderText(holder: WorkerRow, now: number): string {
  const { name, status, leaseMs, heartbeatAt, leaseExpiresAt } = holder;
  if (status === "offline") return `Worker ${name} held it and is gone; its runs will be given to others.`;
  const silentMs = Math.max(0, now - heartbeatAt);
  const heard = `its last heartbeat was ${seconds(silentMs)} ago`;
  if (leaseExpiresAt <= now)
    return `Worker ${name} holds it, but ${heard} and its lease ended ${seconds(now - leaseExpiresAt)} ago; the next live worker that sweeps gives its runs to others.`;
  const ends = `in ${seconds(leaseExpiresAt - now)}`;
  if (silentMs > leaseMs * OVERDUE_SHARE)
    return `Worker ${name} holds it, but is overdue: ${heard}, and one is due every ${seconds(leaseMs / 3)}. If it stays silent, its lease ends ${ends}, and its runs are given to others.`;
  return `Worker ${name} is working on it; ${heard}, and its lease ends ${ends}.`;
}

function seconds(ms: number): string {
  return formatDuration(Math.max(0, Math.round(ms / 100) * 100));
}

function reasonOf(run: Run, workers: readonly WorkerRow[], now: number): string {
  if (run.status === "continued") return `It went on as run ${run.continuedAs}.`;
  if (isClosed(run.status))
    return `It is ${run.status}${run.error ? `: ${run.error.message}` : ""}; it waits for nothing.`;
  if (run.status === "parked") return `It is parked: ${run.error?.message ?? "no reason recorded"}`;
  if (run.heldBy !== null) {
    const holder = workers.find((worker) => worker.workerId === run.heldBy);
    return holder ? holderText(holder, now) : `Worker ${run.heldBy} is working on it.`;
  }
  const version = `${run.workflow}@${run.version}`;
  const able = workers.some(
    (w) => w.status === "online" && w.workflows.includes(version) && w.queues.includes(run.queue),
  );
  const wanted = run.waitingFor.length > 0 ? run.waitingFor.map((op) => `"${op}"`).join(", ") : "its turn";
  if (run.availableAt === null) return `It waits for ${wanted}; no timer is set.`;
  if (run.availableAt > now)
    return `It waits for ${wanted}, at the latest until ${new Date(run.availableAt).toISOString()}.`;
  if (!able) return `It is due, but no live worker offers ${version} on queue "${run.queue}".`;
  return `It is due and waits for a free slot${run.suspect ? " on an empty worker, because workers died while they ran it" : ""}.`;
}
