/** What must hold however the workers of tasks die: the same tests for every store. */
import { describe, expect, test } from "vitest";
import type { Point } from "./named-points.ts";
import { poisonTask } from "./task-workloads.ts";
import { ENDS_WITHIN_MS, TEST_MS, type Theater, untilDeclaredDead } from "./theater.ts";
import type { TorturedWorker } from "./tortured-worker.ts";
import type { WorkerRole } from "./worker-messages.ts";
import { workloadNamed } from "./workflows.ts";

/** More are started as long as a victim lives: which worker takes a task is a matter of chance. */
const OPEN_MOST = 16;

interface Case {
  readonly points: readonly [Point, Point];
  readonly victims: WorkerRole;
  readonly beside: readonly WorkerRole[];
  readonly workloads: readonly string[];
}

const CASES: readonly Case[] = [
  {
    points: ["before-task-claim", "after-task-claim"],
    victims: "tasks",
    beside: ["workflows"],
    workloads: ["parcel", "crowd", "patience"],
  },
  {
    points: ["before-finish", "after-finish"],
    victims: "tasks",
    beside: ["workflows"],
    workloads: ["crowd", "dead-letter", "signature", "repair"],
  },
  {
    points: ["before-beat", "after-beat"],
    victims: "tasks",
    beside: ["workflows"],
    workloads: ["copies", "bet"],
  },
  {
    points: ["in-task", "draining"],
    victims: "tasks",
    beside: ["workflows"],
    workloads: ["crowd", "single", "trip", "recalled"],
  },
  {
    points: ["before-result", "after-result"],
    victims: "workflows",
    beside: ["tasks"],
    workloads: ["parcel", "crowd", "signature"],
  },
  {
    points: ["before-result", "in-task"],
    victims: "both",
    beside: [],
    workloads: ["parcel", "single", "trip", "repair"],
  },
];

export function taskCrashTests(store: string, theater: () => Theater): void {
  describe(`workers of tasks on ${store} that are killed`, () => {
    test.each(CASES)(
      "($victims) at the points $points.0 and $points.1 lose nothing and repeat nothing",
      async ({ points, victims: role, beside, workloads }) => {
        const { fleet, driver } = theater();
        const prefix = `tasks ${points.join("+")}`;
        const roles = [...points.map(() => role), ...beside];
        await fleet.clear();
        await fleet.keep(roles);
        const victims = fleet.live.filter((worker) => worker.role === role);
        // Nobody takes the place of the dead before both have died.
        await fleet.keep(0);
        for (const [i, victim] of victims.entries()) victim.arm(points[i] as Point);
        let begun = 0;
        while (victims.some(({ alive }) => alive)) {
          theater().begin(workloadNamed(workloads[begun % workloads.length] as string), prefix);
          begun += 1;
          const draining = points.indexOf("draining");
          if (begun === OPEN_MOST && draining >= 0) victims[draining]?.drain();
          await driver.untilRoom(OPEN_MOST, 1_000);
          if (driver.open >= OPEN_MOST) await Promise.race(victims.map(({ exited }) => exited));
        }
        await Promise.all(victims.map(({ exited }) => exited));
        expect(victims.map(({ reached }) => reached)).toEqual(points.map((point) => [point]));
        await fleet.keep(roles);
        await driver.untilEnded(ENDS_WITHIN_MS);
        expect(await theater().verdict(prefix)).toMatchObject({ findings: [], runs: begun, finished: begun });
      },
      TEST_MS,
    );
  });

  zombieTests(store, theater);
  poisonTests(store, theater);
}

function zombieTests(store: string, theater: () => Theater): void {
  test(
    `a worker of tasks on ${store} that stands still for longer than its lease finds its results refused, and is of use again`,
    async () => {
      const { fleet, driver } = theater();
      await fleet.clear();
      const workflows = fleet.spawn({ role: "workflows" });
      const zombie = fleet.spawn({ role: "tasks" });
      await Promise.all([workflows.ready, zombie.ready]);
      zombie.arm("before-finish", "stop");
      for (const name of ["crowd", "trip", "single"]) theater().begin(workloadNamed(name), "task zombie");
      expect(await zombie.untilReached()).toBe("before-finish");
      zombie.stopped = true;
      const rescuer = fleet.spawn({ role: "tasks" });
      await rescuer.ready;
      await driver.untilEnded(ENDS_WITHIN_MS);
      zombie.continue();
      await untilDeclaredDead(zombie);
      // It may learn of its death first.
      while ((await zombie.ask()).refusedWrites === 0);
      await end(rescuer);
      theater().begin(workloadNamed("parcel"), "task zombie");
      await driver.untilEnded(ENDS_WITHIN_MS);
      expect(await theater().verdict("task zombie")).toMatchObject({ findings: [], finished: 4 });
    },
    TEST_MS,
  );
}

function poisonTests(store: string, theater: () => Theater): void {
  test(
    `a task on ${store} that kills its worker fails in the end, its dead letter is kept, and its neighbors get through`,
    async () => {
      const { fleet, driver, torture } = theater();
      await fleet.clear();
      await fleet.keep(["tasks", "tasks", "workflows"]);
      const deathsBefore = fleet.deaths;
      const run = await torture.client.start(poisonTask, 0, { id: "poison task" });
      for (const name of ["crowd", "parcel", "copies", "repair"]) theater().begin(workloadNamed(name), "task neighbor");
      await expect(run.result()).rejects.toMatchObject({ code: "run_failed", cause: { code: "task_crashed" } });
      const { tasks } = await torture.client.tasks.list({ runId: run.runId });
      expect(tasks).toMatchObject([{ status: "dead", attempt: 1, error: { code: "task_crashed" } }]);
      await driver.untilEnded(ENDS_WITHIN_MS);
      expect(await theater().verdict("task neighbor")).toMatchObject({ findings: [], finished: 4 });
      expect(driver.retried).toBe(0);
      expect(fleet.deaths - deathsBefore).toBeGreaterThanOrEqual(3);
      await fleet.clear();
    },
    TEST_MS,
  );
}

async function end(worker: TorturedWorker): Promise<void> {
  worker.kill();
  await worker.exited;
}
