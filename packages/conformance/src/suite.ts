import type { Fixture } from "./fixture.ts";

/** Behavior of one noun: one sentence each, and the code that proves it on an empty store. */
export interface Suite {
  readonly noun: string;
  readonly cases: Readonly<Record<string, SuiteCase>>;
}

export type SuiteCase = (t: Fixture) => Promise<void>;
