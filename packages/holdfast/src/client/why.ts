import { HoldfastError } from "../errors/holdfast-error.ts";
import { isClosed, type Run, type RunStatus } from "../model/run.ts";
import type { WorkerRow } from "../model/worker-row.ts";
import type { ClientCore } from "./client-core.ts";

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
  const [run] = await core.call((store) => store.readRuns({ runs: [{ namespace, id }] }));
  if (!run)
    throw new HoldfastError("run_not_found", `There is no run "${id}" in namespace "${namespace}".`, { data: { id } });
  const workers = await core.call((store) => store.listWorkers({ namespace }));
  const dueAt = run.availableAt === null ? null : new Date(run.availableAt);
  return {
    status: run.status,
    reason: reasonOf(run, workers, core.ports.clock.now()),
    waitingFor: run.waitingFor,
    dueAt,
    workerId: run.heldBy,
  };
}

function reasonOf(run: Run, workers: readonly WorkerRow[], now: number): string {
  if (run.status === "continued") return `It went on as run ${run.continuedAs}.`;
  if (isClosed(run.status))
    return `It is ${run.status}${run.error ? `: ${run.error.message}` : ""}; it waits for nothing.`;
  if (run.status === "parked") return `It is parked: ${run.error?.message ?? "no reason recorded"}`;
  if (run.heldBy !== null) {
    const holder = workers.find((worker) => worker.workerId === run.heldBy);
    const gone = holder?.status === "offline" ? ", which is gone; its runs will be given to others" : "";
    return `Worker ${holder?.name ?? run.heldBy} is working on it${gone}.`;
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
