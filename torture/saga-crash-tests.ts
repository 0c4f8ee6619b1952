/** A saga of twenty steps, whose worker is killed at every point of its way there and back. */
import process from "node:process";
import { describe, expect, test } from "vitest";
import { collectRuns } from "./evidence.ts";
import type { Point } from "./named-points.ts";
import { ENDS_WITHIN_MS, TEST_MS, type Theater } from "./theater.ts";
import { SAGA_STEPS, workloadNamed } from "./workflows.ts";

/** While an effect happens, between an effect and its record, and after the record. */
const POINTS: readonly Point[] = ["in-step", "before-commit", "after-commit"];
const LEGS = Array.from({ length: SAGA_STEPS }, (_, i) => `leg-${i + 1}`);
/** Every step, and the compensation of every step. */
const THERE_AND_BACK = [...LEGS, ...LEGS.map((leg) => `compensate:${leg}`).reverse()];
/** Every op is met at one of the points; with HOLDFAST_TORTURE_ALL, at each of them. */
const EVERY = process.env["HOLDFAST_TORTURE_ALL"] ? 1 : POINTS.length;
/** How many workers are up at a time to be killed. */
const AT_ONCE = 4;
const RESCUERS = 2;

export function sagaCrashTests(store: string, theater: () => Theater): void {
  describe(`a saga of ${SAGA_STEPS} steps on ${store}`, () => {
    test.each(POINTS)(
      "whose worker is killed %s, at any of its steps and compensations, is undone exactly once",
      async (point) => {
        const { fleet, driver } = theater();
        const first = EVERY === 1 ? 0 : POINTS.indexOf(point);
        const moments = THERE_AND_BACK.map((_, i) => i).filter((i) => i >= first && (i - first) % EVERY === 0);
        const count = moments.length;
        await fleet.clear();
        const prefix = `saga-${point}`;
        const killOneByOne = async (): Promise<void> => {
          for (let skip = moments.shift(); skip !== undefined; skip = moments.shift()) {
            // It works on one saga at a time: usually its own, from the first step on.
            const victim = fleet.spawn({ concurrency: 1 });
            await victim.ready;
            victim.arm(point, "kill", skip);
            theater().begin(workloadNamed("long-saga"), prefix, victim);
            expect(await victim.exited, `${point} ${skip}`).toBe("SIGKILL");
            expect(victim.reached).toEqual([point]);
          }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, killOneByOne));
        await fleet.keep(RESCUERS);
        await driver.untilEnded(ENDS_WITHIN_MS);
        expect(await theater().verdict(prefix)).toMatchObject({ findings: [], runs: count, finished: count });
        for (const { history } of await collectRuns(theater().torture.store, `${prefix}:`))
          expect(history.filter(({ type }) => type === "step_completed").map(({ op }) => op)).toEqual(THERE_AND_BACK);
      },
      TEST_MS,
    );
  });
}
