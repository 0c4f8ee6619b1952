import type { Mutation } from "./mutation.ts";

/** Sabotages of locks. */
export const LOCK_MUTATIONS: readonly Mutation[] = [
  {
    name: "keeps the locks of a run that has ended",
    file: "memory/runs/ends.ts",
    find: "  if (state.locksOf.has(row.runId)) giveBackLocks(state, row, now);\n",
    replace: "",
    caughtBy: "lock-line",
  },
  {
    name: "grants a lock that others hold",
    file: "memory/locks/lock-state.ts",
    find: "  const held = wanted.filter(({ fence }) => fence !== null).length;\n",
    replace: "  const held = 0;\n",
    caughtBy: "lock-places",
  },
  {
    name: "records the same grant of a lock twice",
    file: "engine/locks/run-locks.ts",
    find: "lock.seq !== lockSeq || lock.held || lock.lost;",
    replace: "lock.seq !== lockSeq || lock.lost;",
    caughtBy: "lock-line",
  },
  {
    name: "does not hold back a step inside of a lock after a retry",
    file: "replay/driven-machine.ts",
    find: "    return this.locks.regaining && !this.compensating;\n",
    replace: "    return false;\n",
    caughtBy: "lock-places",
  },
  {
    name: "creates tasks before the lock around them is regained",
    file: "engine/execute/outside-work.ts",
    find: "    if (this.#run.machine.regaining) return;\n",
    replace: "",
    caughtBy: "lock-line",
  },
  {
    name: "forgets to pass the locks of a terminated run on",
    file: "memory/locks/lock-state.ts",
    find: '  if (given.length > 0) owe(state, row, "lock", now);\n',
    replace: '  if (given.length > 0 && row.status !== "terminated") owe(state, row, "lock", now);\n',
    caughtBy: "lock-line",
  },
  {
    name: "leaves a request for a lock in line when its time is over",
    file: "replay/ops/lock.ts",
    find: "  if (!machine.locks.remove(lock) || machine.outcome",
    replace: "  if (!machine.locks.remove(lock) || !lock.entered || machine.outcome",
    caughtBy: "lock-line",
  },
  {
    name: "grants a lock to whoever came last",
    file: "memory/locks/lock-state.ts",
    find: "wanted.filter(({ fence }) => fence === null).slice(0, free)) {",
    replace: "wanted.filter(({ fence }) => fence === null).reverse().slice(0, free)) {",
    caughtBy: "lock-line",
  },
  {
    name: "gives the same fence of a lock out twice",
    file: "memory/locks/lock-state.ts",
    find: "    state.newestFence += 1;\n",
    replace: "    state.newestFence += asks.length > 0 ? 1 : 0;\n",
    caughtBy: "lock-line",
  },
];
