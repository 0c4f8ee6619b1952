import type { QueueLimits } from "holdfast/adapter";
import type { Call } from "../call.ts";
import type { Dice } from "../dice.ts";
import type { World } from "../world.ts";

const QUEUES = ["default", "slow"];

export function someKey(dice: Dice): { readonly key?: string } {
  return dice.chance(0.7) ? { key: dice.of("k", "k", "l", "m") } : {};
}

/** The revisions that the queues of a world were asked to have, the newest last. */
const asked = new WeakMap<World, Map<string, string[]>>();

/** Mostly with the revision that the queue has, and else as a copy of an earlier call, or with one that has come too late. */
export function setQueueCall(world: World, dice: Dice): Call {
  const namespace = dice.of("default", "default", "default", "other");
  const queue = dice.pick(QUEUES) as string;
  const limits = dice.chance(0.12) ? null : someLimits(dice);
  const known = asked.get(world) ?? new Map<string, string[]>();
  asked.set(world, known);
  const revisions = known.get(`${namespace} ${queue}`) ?? [];
  known.set(`${namespace} ${queue}`, revisions);
  const some = dice.chance(0.8) ? revisions.at(-1) : dice.of<string | undefined>(undefined, ...revisions);
  const next = revisions.length > 0 && dice.chance(0.1) ? (dice.pick(revisions) as string) : world.newRevision();
  if (some === revisions.at(-1)) revisions.push(next);
  const params = { namespace, queue, limits, revision: some ?? null, next };
  return { method: "queues.setIfRevision", params };
}

function someLimits(dice: Dice): QueueLimits {
  const places = () => (dice.chance(0.6) ? { concurrency: dice.of(0, 1, 1, 2, 3) } : {});
  const rate = () =>
    dice.chance(0.25)
      ? { rate: { limit: dice.of(1, 2, 3, 20), perMs: dice.of(100, 1_000), burst: dice.of(1, 2) } }
      : {};
  return {
    ...places(),
    ...rate(),
    ...(dice.chance(0.5) ? { perKey: { ...places(), ...rate() } } : {}),
    ...(dice.chance(0.3) ? { weights: { k: dice.of(2, 3, 0.5) } } : {}),
    ...(dice.chance(0.3) ? { agingMs: dice.of(1, 50, 700) } : {}),
    fair: true,
  };
}

export function lookAtQueuesCall(_world: World, dice: Dice): Call {
  const key = dice.chance(0.5) ? { key: dice.of("k", "l", "") } : {};
  const queue = dice.chance(0.5) ? { queue: dice.of("default", "slow", "none") } : {};
  const namespace = dice.of("default", "default", "other");
  if (dice.chance(0.5))
    return { method: "queues.backlog", params: { namespace, atMost: 1_000, lateMs: dice.of(0, 5, 500) } };
  return { method: "queues.list", params: { namespace, ...queue, ...key, holdersMax: dice.of(1, 100) } };
}

/** Whether a queue has limits now. Whoever is claimed there, and in which order, is decided in every store alike. */
export function isLimited(world: World, namespace: string, queue: string): boolean {
  const there = world.contents.queues?.[namespace] ?? [];
  return there.some(({ name, limits }) => name === queue && limits !== null);
}

/** A claim in one queue with limits can be decided whatever its limit. In several queues it depends on their order. */
export function claimedQueues(queues: readonly string[], world: World, dice: Dice): readonly string[] {
  return world.limited ? [dice.pick(queues) as string] : queues;
}
