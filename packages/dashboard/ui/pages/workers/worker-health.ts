/** How a worker is, from its heartbeat and its lease: the same words as `hf.health()` has. */
export type WorkerHealth = "healthy" | "late" | "draining" | "expired" | "stopped" | "died";

export interface WorkerFacts {
  readonly status: "online" | "draining" | "offline";
  readonly drainAsked: boolean;
  readonly leaseMs: number;
  readonly heartbeatAt: number;
  readonly leaseExpiresAt: number;
  readonly died: boolean;
}

export interface HealthText {
  readonly health: WorkerHealth;
  readonly about: string;
}

/** A heartbeat that is older than this part of the lease is late: three are due in a lease. */
const LATE_SHARE = 0.5;

export function healthOf(worker: WorkerFacts, now: number): HealthText {
  const { status, drainAsked, leaseMs, heartbeatAt, leaseExpiresAt, died } = worker;
  if (status === "offline")
    return died
      ? { health: "died", about: "Its lease expired, or its process was found to be gone. Others have its runs." }
      : { health: "stopped", about: "It left by itself." };
  if (leaseExpiresAt <= now)
    return { health: "expired", about: "Its lease has expired. The next sweep gives its runs to others." };
  if (status === "draining") return { health: "draining", about: "It claims nothing new and finishes what it has." };
  if (drainAsked)
    return { health: "draining", about: "It was asked to drain, and hears of it with its next heartbeat." };
  if (now - heartbeatAt > leaseMs * LATE_SHARE)
    return { health: "late", about: "A heartbeat is missing. It may be busy, or gone." };
  return { health: "healthy", about: "Its heartbeats come in time." };
}

/** How much of the lease is left, 0 to 1. */
export function leaseLeft({ leaseExpiresAt, leaseMs }: WorkerFacts, now: number): number {
  return Math.min(1, Math.max(0, (leaseExpiresAt - now) / leaseMs));
}

/** What needs somebody comes first; those that are gone come last. */
export const HEALTH_ORDER: readonly WorkerHealth[] = ["expired", "late", "draining", "healthy", "died", "stopped"];
