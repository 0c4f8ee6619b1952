import fc from "fast-check";
import { Mismatch } from "./mismatch.ts";

const settings = (name: string): number | undefined => (process.env[name] ? Number(process.env[name]) : undefined);

/** Enough to find a fault in these tests themselves. */
const STACK_FRAMES = 2;

const USUAL_SEED = 20_261_115;

/** How many cases to try; `HOLDFAST_PROPERTY_RUNS` asks for more (or fewer). */
export function casesToTry(usual: number): number {
  return settings("HOLDFAST_PROPERTY_RUNS") ?? usual;
}

/** Plenty: it only ends a run that hangs. */
export function timeoutMsFor(count: number): number {
  return 60_000 + count * 60;
}

/**
 * Checks the property on so many values and explains the smallest one that fails, as its author would write it.
 * `HOLDFAST_PROPERTY_SEED` repeats a run.
 */
export async function checkProperty<T>(
  arbitrary: fc.Arbitrary<T>,
  count: number,
  holds: (value: T) => Promise<void>,
  describe: (value: T) => string,
): Promise<void> {
  // The usual run is the same for everybody; whoever asks for a number of cases gets new ones every time.
  const usual = settings("HOLDFAST_PROPERTY_RUNS") === undefined ? USUAL_SEED : undefined;
  const seed = settings("HOLDFAST_PROPERTY_SEED") ?? usual;
  // Programs make errors by the thousand, and nobody looks at where they were made: stacks would be a third of the time.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = STACK_FRAMES;
  const result = await fc.check(fc.asyncProperty(arbitrary, holds), {
    numRuns: count,
    ...(seed === undefined ? {} : { seed }),
  });
  Error.stackTraceLimit = stackTraceLimit;
  if (!result.failed) return;
  const error = result.errorInstance;
  const [value] = result.counterexample ?? [];
  const text = [
    `Failed after ${result.numRuns} cases and ${result.numShrinks} simplifications; HOLDFAST_PROPERTY_SEED=${result.seed} repeats it.`,
    "",
    value === undefined ? "no counterexample" : describe(value),
    "",
    error instanceof Mismatch || !(error instanceof Error) ? String(error) : error.stack,
  ];
  throw new Error(text.join("\n"));
}
