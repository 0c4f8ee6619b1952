import type { WorkerView } from "../../../src/api/api-messages.ts";

type Offer = Pick<WorkerView, "health" | "workflows" | "queues">;

/** The queue to offer for a start: one that a living worker takes this workflow from. Empty: the default will do, or nobody knows better. */
export function startQueue(workflow: string, workers: readonly Offer[]): string {
  const queues = workers
    .filter(({ health }) => health === "healthy" || health === "degraded")
    .filter(({ workflows }) => workflows.some((offered) => offered.startsWith(`${workflow}@`)))
    .flatMap((worker) => worker.queues);
  return queues.includes("default") ? "" : (queues[0] ?? "");
}
