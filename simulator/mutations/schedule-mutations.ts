import type { Mutation } from "./mutation.ts";

export const SCHEDULE_MUTATIONS: readonly Mutation[] = [
  {
    name: "changes a schedule that has changed meanwhile",
    file: "memory/schedules.ts",
    find: '  if ((known?.revision ?? null) !== revision) return { outcome: "moved" };\n',
    replace: '  if (revision === null && known) return { outcome: "moved" };\n',
    caughtBy: "schedules",
  },
  {
    name: "makes up for the latest time alone",
    file: "calls/scheduled-runs.ts",
    find: "latestBetween(spec, earliest - 1, now, catchUpMax)",
    replace: "latestBetween(spec, earliest - 1, now, 1)",
    caughtBy: "schedules",
  },
  {
    name: "forgets the times that came while there was no leader",
    file: "calls/scheduled-runs.ts",
    find: "  const missed = missedBetween(spec, nextAt, firstKept - 1, why);\n",
    replace: "  times.splice(0, times.length - 1);\n  const missed: never[] = [];\n",
    caughtBy: "schedules",
  },
  {
    name: "starts the next run of a schedule beside the open one",
    file: "model/decisions/schedule.ts",
    find: 'if (this.#overlap === "allow" || !this.#isOpen) return this.#start(at);',
    replace: 'if (this.#overlap !== "skip" || at > 0) return this.#start(at);',
    caughtBy: "schedules",
  },
  {
    name: "starts the next run of a schedule, and leaves the one going that should make way",
    file: "memory/schedules.ts",
    find: "  if (terminates && makesWay) terminate(state, makesWay, terminates.error, now);\n",
    replace: "",
    caughtBy: "schedules",
  },
  {
    name: "fires a schedule that is paused",
    file: "client/schedules/schedule-change.ts",
    find: "const nextAt = definition.paused ? null : keeps",
    replace: "const nextAt = keeps",
    caughtBy: "schedules",
  },
];
