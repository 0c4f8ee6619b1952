/** What must hold however the workers of parents and children die, and the clients that talk to runs: the same for every store. */
import { describe, expect, test } from "vitest";
import type { Point } from "./named-points.ts";
import { untilQuiet } from "./quiet.ts";
import { ENDS_WITHIN_MS, TEST_MS, type Theater } from "./theater.ts";
import type { WorkerRole } from "./worker-messages.ts";
import { workloadNamed } from "./workflows.ts";

/** More are started as long as a victim lives: which process comes past a point is a matter of chance. */
const OPEN_MOST = 12;

interface Case {
  readonly points: readonly [Point, Point, Point];
  readonly victims: WorkerRole;
  readonly workloads: readonly string[];
}

const CASES: readonly Case[] = [
  {
    points: ["before-child", "after-child", "before-outcome"],
    victims: "workflows",
    workloads: ["family", "leaving", "undone", "rivals"],
  },
  {
    points: ["before-message", "after-message", "after-outcome"],
    victims: "workflows",
    workloads: ["talk", "audience", "customer"],
  },
  {
    points: ["before-payment", "after-payment", "after-reply"],
    victims: "workflows",
    workloads: ["leaving", "canceled-parent", "terminated-parent", "customer"],
  },
  {
    points: ["before-message", "after-message", "after-start"],
    victims: "client",
    workloads: ["room", "till"],
  },
];

export function conversationCrashTests(store: string, theater: () => Theater): void {
  describe(`processes on ${store} whose runs talk to each other, and that are killed`, () => {
    test.each(CASES)(
      "($victims) at the points $points.0, $points.1 and $points.2 lose nothing and repeat nothing",
      async ({ points, victims: role, workloads }) => {
        const { fleet, driver, torture } = theater();
        const prefix = `${role} ${points.join("+")}`;
        const roles: WorkerRole[] = [...points.map(() => role), "workflows"];
        await fleet.clear();
        await fleet.keep(roles);
        const victims = fleet.live.slice(0, points.length);
        // Nobody takes the place of the dead before all of them have died.
        await fleet.keep(0);
        for (const [i, victim] of victims.entries()) victim.arm(points[i] as Point);
        let begun = 0;
        while (victims.some(({ alive }) => alive)) {
          theater().begin(workloadNamed(workloads[begun % workloads.length] as string), prefix);
          begun += 1;
          await driver.untilRoom(OPEN_MOST, 1_000);
        }
        await Promise.all(victims.map(({ exited }) => exited));
        expect(victims.map(({ reached }) => reached)).toEqual(points.map((point) => [point]));
        await fleet.keep(roles);
        await driver.untilEnded(ENDS_WITHIN_MS);
        await untilQuiet(torture, ENDS_WITHIN_MS);
        expect((await theater().verdict(prefix)).findings).toEqual([]);
      },
      TEST_MS,
    );
  });
}
