import { describe, test } from "vitest";
import { Dice } from "./differential/dice.ts";
import { randomOperations, type Subject } from "./differential/operations.ts";
import { shrink } from "./differential/shrink.ts";
import { Transcript } from "./differential/transcript.ts";
import { type Parting, tryOperations } from "./differential/trial.ts";
import type { OpenStore } from "./store-under-test.ts";

export interface DifferentialOptions {
  /** One sequence of calls per seed. */
  readonly seeds?: readonly number[];
  /** Calls per sequence. */
  readonly steps?: number;
  /** The same for sequences about conversations and about schedules, which read more after every call. */
  readonly conversationSeeds?: readonly number[];
  readonly conversationSteps?: number;
}

/** Shrinking a failure on a database takes a while. */
const TIMEOUT_MS = 300_000;
const SHRINK_TRIES_MAX = 400;

/**
 * Registers tests that make the same random calls to the memory store and to each of the stores, and require the same
 * answers and the same contents after every call.
 */
export function differential(
  stores: readonly { readonly name: string; readonly open: OpenStore }[],
  options: DifferentialOptions = {},
): void {
  const seeds = options.seeds ?? Array.from({ length: 20 }, (_, i) => i + 1);
  const steps = options.steps ?? 150;
  const talkSeeds = options.conversationSeeds ?? Array.from({ length: 6 }, (_, i) => i + 1);
  const talkSteps = options.conversationSteps ?? 120;
  for (const { name, open } of stores) {
    describe(`${name} does what the memory store does`, () => {
      test.for(seeds)(`in ${steps} random calls, seed %i`, { timeout: TIMEOUT_MS }, async (seed) => {
        const parting = await findParting(open, seed, steps);
        if (parting) throw new Error(report(name, seed, parting));
      });
      const timed = `in ${talkSteps} random calls about schedules, seed %i`;
      test.for(talkSeeds)(timed, { timeout: TIMEOUT_MS }, async (seed) => {
        const parting = await findParting(open, seed, talkSteps, "schedules");
        if (parting) throw new Error(report(name, seed, parting));
      });
      const limited = `in ${talkSteps} random calls about queues with limits, seed %i`;
      test.for(talkSeeds)(limited, { timeout: TIMEOUT_MS }, async (seed) => {
        const parting = await findParting(open, seed, talkSteps, "limits");
        if (parting) throw new Error(report(name, seed, parting));
      });
      const title = `in ${talkSteps} random calls about conversations, seed %i`;
      test.for(talkSeeds)(title, { timeout: TIMEOUT_MS }, async (seed) => {
        const parting = await findParting(open, seed, talkSteps, "conversations");
        if (parting) throw new Error(report(name, seed, parting));
      });
    });
  }
}

/**
 * The shortest sequence found, from this seed, after which the store differs from the memory store. Every other seed makes
 * calls about tasks.
 */
export async function findParting(
  open: OpenStore,
  seed: number,
  steps: number,
  about: Subject = seed % 2 === 0 ? "tasks" : "runs",
): Promise<Parting | undefined> {
  const parting = await tryOperations(open, randomOperations(new Dice(seed), steps, about), about);
  return parting && shrink(open, parting, SHRINK_TRIES_MAX);
}

export function report(name: string, seed: number, { calls, what, world }: Parting): string {
  const transcript = new Transcript(world.names);
  const numbered = calls.map(({ at, call }, i) => `${String(i + 1).padStart(3)}. ${transcript.call(call, at)}`);
  const head = `${name} differs from the memory store (seed ${seed}, shrunk to ${calls.length} calls):`;
  return [head, ...numbered, `  → ${what}`].join("\n");
}
