import { type State, Status } from "../../components/status.tsx";
import type { WorkerHealth } from "./worker-health.ts";

const SHAPES: Readonly<Record<WorkerHealth, readonly [State, string]>> = {
  healthy: ["completed", "healthy"],
  late: ["waiting", "late"],
  draining: ["continued", "draining"],
  expired: ["failed", "lease expired"],
  died: ["failed", "died"],
  stopped: ["terminated", "stopped"],
};

/** The health of a worker: shape, word and color. */
export function WorkerMark({ health }: { readonly health: WorkerHealth }) {
  const [shape, word] = SHAPES[health];
  return <Status value={shape} word={word} />;
}
