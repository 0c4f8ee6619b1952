/** Locks in the reference machine: history says when a request is granted, and the code goes in. */
import { HoldfastError } from "../packages/holdfast/src/errors/holdfast-error.ts";
import type { HeldLock } from "../packages/holdfast/src/replay/context/context.ts";
import type { Part } from "./reference-branches.ts";
import { quiet } from "./reference-values.ts";

/** A lock that a part of the code has asked for and not left. */
export interface TakenLock {
  readonly name: string;
  readonly part: Part;
}

type WithLock = (name: string, options: unknown, fn: (lock: HeldLock) => unknown) => Promise<unknown>;

/** `granted` comes to false when the time is over. */
export function withLockIn(taken: TakenLock[], part: Part, granted: (name: string) => Promise<unknown>): WithLock {
  const inside: WithLock = async (name, _options, fn) => {
    if (taken.some((lock) => lock.name === name && isAround(lock.part, part)))
      throw new HoldfastError("lock_held", "it is held by the same part");
    const own: TakenLock = { name, part };
    taken.push(own);
    try {
      if ((await granted(name)) === false) throw new HoldfastError("lock_timeout", "it was not granted in time");
      return await fn({ fence: 0 });
    } finally {
      taken.splice(taken.indexOf(own), 1);
    }
  };
  return (name, options, fn) => quiet(inside(name, options, fn));
}

function isAround(outer: Part, part: Part): boolean {
  for (let one: Part | undefined = part; one; one = one.parent) if (one === outer) return true;
  return false;
}
