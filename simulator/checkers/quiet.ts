import type { Checker, Found } from "../evidence.ts";

/** An idle system does next to nothing: heartbeats, sweeps, and an occasional poll. */
export const quiet: Checker = {
  name: "quiet",
  needs: ["quiet"],
  check({ quiet: observed }) {
    if (!observed) return [];
    const { ms, workers, leaseMs, fallbackMs, calls } = observed;
    const leases = ms / leaseMs;
    const most: Readonly<Record<string, number>> = {
      // Every third of a lease, and one before each sweep.
      "workers.heartbeat": workers * (leases * 9 + 4),
      "workers.sweep": workers * (leases * 5 + 2),
      // With the claim after a sweep.
      "runs.holdIfParkedByOtherCode": workers * (leases * 5 + 2),
      "tasks.claim": workers * ((ms / Math.min(fallbackMs, 10_000)) * 1.5 + 3),
      // When a limit passes of a task that has ended since.
      "tasks.expired": workers * 3,
      "runs.claim": workers * ((ms / Math.min(fallbackMs, 10_000)) * 1.5 + 3),
      // Once an hour the leader forgets old workers.
      "workers.forget": workers * (ms / 3_600_000 + 1),
      // A watchdog looks once a second: each of them for who keeps watch, and that one for what is wrong.
      readClock: workers * (ms / 1_000 + 2),
      "workers.list": workers * (ms / 1_000 + 2),
      "queues.backlog": ms / 1_000 + 2,
      // The leader may have set its timer for a time of a schedule that was paused afterward.
      "schedules.due": workers,
      // A look for batches, once a minute.
      "runs.count": workers * (ms / 60_000 + 1),
    };
    return Object.entries(calls).flatMap(([name, count]): Found[] =>
      count <= (most[name] ?? 0) ? [] : [{ text: `${count} calls of ${name} in ${ms} ms with nothing to do` }],
    );
  },
};
