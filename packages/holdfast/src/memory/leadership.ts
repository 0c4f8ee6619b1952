import type { Leader, LeaderOutlook, WorkerRef } from "../ports/store.ts";
import { scheduleOutlook } from "./schedules.ts";
import type { MemoryState } from "./state.ts";

/** A live worker has registered, or its heartbeat has come: it leads if it may and nobody else does. */
export function lead(
  state: MemoryState,
  { namespace, workerId }: WorkerRef,
  mayLead: boolean,
  now: number,
): { readonly leads?: LeaderOutlook } {
  if (!mayLead) {
    stepDown(state, workerId);
    return {};
  }
  const { leader } = state;
  if (leader?.workerId !== workerId && isLeading(state, leader, now)) return {};
  if (leader?.workerId !== workerId) state.leader = { workerId, namespace, since: now };
  return { leads: { ...scheduleOutlook(state), retains: state.retention.size > 0 } };
}

function isLeading(state: MemoryState, leader: Leader | null, now: number): boolean {
  const worker = leader && state.workers.get(leader.workerId);
  return worker?.status === "online" && worker.leaseExpiresAt > now;
}

export function stepDown(state: MemoryState, workerId: string): void {
  if (state.leader?.workerId !== workerId) return;
  state.leader = null;
  state.hints.push({ type: "leaderless" });
}

export function readLeader(state: MemoryState): Leader | null {
  return state.leader;
}
