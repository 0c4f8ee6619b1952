import type { Replacement } from "../bundle.ts";

/** A small sabotage of the engine, and the invariant that it breaks. */
export interface Mutation extends Replacement {
  /** What the sabotaged engine does, as in "an engine that …". */
  readonly name: string;
  readonly caughtBy: string;
}
