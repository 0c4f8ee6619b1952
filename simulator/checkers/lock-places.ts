import type { Checker, Effect, Found } from "../evidence.ts";
import type { LockGrant } from "../lock-evidence.ts";

/**
 * What begins inside of a lock begins while the run holds it, after the grant is durable; nothing at all begins in a run that is to
 * regain one. And by the effects alone: when somebody was let in, fewer than the limit went on inside.
 */
export const lockPlaces: Checker = {
  name: "lock-places",
  needs: ["effects", "lockGrants"],
  check({ effects = [], ledger = [], forks, lockGrants = [] }) {
    const all = [...effects, ...(forks?.effects ?? [])];
    return [...[...all, ...ledger].flatMap(beganOutside), ...tooMany(all, lockGrants)];
  },
};

/** An effect that began, or a transaction that has committed. */
type Happened = Pick<Effect, "runId" | "op" | "at" | "locks" | "regaining">;

function beganOutside({ runId, op, at, locks = [], regaining }: Happened): Found[] {
  const where = `"${op}" began or committed at ${at.toFixed(1)}`;
  const found = locks.flatMap(({ name, fence, held, durable }): Found[] => {
    if (!durable) return [{ runId, text: `${where} inside of "${name}", whose grant ${fence} was not durable` }];
    return held ? [] : [{ runId, text: `${where} inside of "${name}", which it did not hold under ${fence}` }];
  });
  if (regaining !== undefined) found.push({ runId, text: `${where}, but "${regaining}" was not regained` });
  return found;
}

function tooMany(effects: readonly Effect[], grants: readonly LockGrant[]): Found[] {
  const lastUse = new Map<number, number>();
  const firstUse = new Map<number, number>();
  for (const { at, locks = [] } of effects)
    for (const { fence } of locks) {
      firstUse.set(fence, Math.min(at, firstUse.get(fence) ?? at));
      lastUse.set(fence, Math.max(at, lastUse.get(fence) ?? at));
    }
  return grants.flatMap(({ runId, name, fence, limit }): Found[] => {
    const entered = firstUse.get(fence);
    if (entered === undefined) return [];
    const others = grants.filter(
      (other) => other.name === name && other.fence < fence && (lastUse.get(other.fence) ?? 0) > entered,
    );
    if (others.length < limit) return [];
    const beside = others.map((other) => `${other.fence} (${other.runId})`).join(", ");
    return [{ runId, text: `it was inside of "${name}" under ${fence} beside ${beside}; the limit was ${limit}` }];
  });
}
