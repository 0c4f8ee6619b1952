import { isHoldfastError } from "../../packages/holdfast/src/errors/holdfast-error.ts";
import { runChain } from "./parallel.ts";
import type { Node, OpKind } from "./program.ts";

interface LockNode {
  readonly kind: "lock";
  readonly name: string;
  readonly limit: number;
  readonly timeoutMs: number | undefined;
  readonly body: readonly Node[];
}

/** How many locks there are. All workflows share them, and take them in one order: otherwise runs would wait for each other forever. */
const LOCKS = 3;

/** A part that runs while the run holds a lock, or one of its places. */
export const lock: OpKind<LockNode> = {
  kind: "lock",
  draw({ dice, lockRank, settings, nodesInLock }) {
    if (lockRank >= LOCKS) return undefined;
    const rank = dice.int(lockRank + 1, LOCKS);
    const limit = settings.lockLimit || dice.int(1, 3);
    const timeoutMs = dice.chance(0.3) ? dice.pick([50, 1_000, 6_000]) : undefined;
    return { kind: "lock", name: `room${rank}`, limit, timeoutMs, body: nodesInLock(rank, 1, 3) };
  },
  async run({ name, limit, timeoutMs, body }, site) {
    const options = { limit, ...(timeoutMs === undefined ? {} : { timeout: { milliseconds: timeoutMs } }) };
    try {
      return await site.ctx.withLock(name, options, async (held) => {
        const own = { name, held };
        site.rooms.push(own);
        try {
          return await runChain(body, { ...site, locks: [...site.locks, own] });
        } finally {
          site.rooms.splice(site.rooms.indexOf(own), 1);
        }
      });
    } catch (error) {
      // Branches that are plain promises are one part of the run.
      for (const code of ["lock_timeout", "lock_held"] as const) if (isHoldfastError(error, code)) return code;
      throw error;
    }
  },
};
