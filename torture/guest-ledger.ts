import type { Client } from "holdfast";
import { expect } from "vitest";
import { STEPS } from "./guest.ts";

/** What guests have done, and what they were told: a step that was confirmed is never executed again. */
export class GuestLedger {
  readonly #confirmed = new Set<string>();
  readonly repeated: string[] = [];

  readonly effect = (run: string, step: string): void => {
    if (this.#confirmed.has(`${run} ${step}`)) this.repeated.push(`${run} ${step}`);
  };

  readonly confirmed = (run: string, step: string): void => {
    this.#confirmed.add(`${run} ${step}`);
  };

  /** The run has its result, and every step is recorded once. */
  async check(hf: Client, id: string): Promise<void> {
    const run = hf.get(id);
    expect(await run.result()).toBe("done");
    const history = await run.history();
    const completed = history.filter(({ type }) => type === "step_completed").map(({ op }) => op);
    expect([...completed].sort()).toEqual([...STEPS].sort());
    expect(this.repeated).toEqual([]);
  }
}
