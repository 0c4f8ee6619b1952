/** What must hold however workers die: the same tests for every store. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { conversationCrashTests } from "./conversation-crash-tests.ts";
import type { EffectLine } from "./effects-file.ts";
import type { Fleet } from "./fleet.ts";
import type { Point } from "./named-points.ts";
import { sagaCrashTests } from "./saga-crash-tests.ts";
import type { Stage } from "./stage.ts";
import { taskCrashTests } from "./task-crash-tests.ts";
import { ENDS_WITHIN_MS, effectsFileOf, TEST_MS, Theater, untilDeclaredDead } from "./theater.ts";
import { openTortureClient } from "./torture-client.ts";
import type { TorturedWorker } from "./tortured-worker.ts";
import { gated, poison, workloadNamed } from "./workflows.ts";
import type { Workload } from "./workload.ts";

const WORKERS = 2;
/** Processes that migrate side by side, each in a separate place. */
const MIGRATIONS = 4;

/** Not the first time: then there is nothing yet that could be lost. */
const SKIPPED: Partial<Record<Point, number>> = { "before-commit": 4, "after-commit": 3, "in-step": 3 };

/** Two points at a time, one for each of two workers, with runs that are certain to pass them. */
const CASES: readonly { readonly points: readonly [Point, Point]; readonly workloads: readonly string[] }[] = [
  { points: ["before-commit", "after-commit"], workloads: ["chain", "order", "saga", "relay"] },
  { points: ["in-step", "retry-backoff"], workloads: ["hopeless", "order", "once", "hopeless"] },
  { points: ["sleeping", "waiting"], workloads: ["order", "race", "approval", "deadline"] },
  { points: ["before-claim", "after-claim"], workloads: ["chain", "order", "race", "canceled"] },
  { points: ["before-start", "after-start"], workloads: ["chain", "order", "once", "relay"] },
  { points: ["before-heartbeat", "after-heartbeat"], workloads: ["order", "approval", "saga", "chain"] },
  { points: ["before-transaction", "in-transaction"], workloads: ["transfer", "transfer", "chain"] },
  { points: ["after-transaction", "in-transaction"], workloads: ["transfer", "transfer", "order"] },
  { points: ["draining", "draining"], workloads: ["chain", "order", "saga", "once"] },
];

export function crashTests(store: string, openStage: () => Promise<Stage>): void {
  scene(`runs on ${store}`, openStage, (theater) => {
    killedTests(store, theater);
    zombieTests(store, theater);
    poisonTests(store, theater);
  });
  scene(`sagas and tasks on ${store}`, openStage, (theater) => {
    sagaCrashTests(store, theater);
    taskCrashTests(store, theater);
  });
  scene(`conversations and migrations on ${store}`, openStage, (theater) => {
    conversationCrashTests(store, theater);
    migrationTests(store, theater, openStage);
  });
}

/** Tests with a store and workers of their own. Most of the time they wait until a lease is over, so that several scenes play at once. */
function scene(about: string, openStage: () => Promise<Stage>, play: (theater: () => Theater) => void): void {
  describe.concurrent(about, () => {
    let theater: Theater;

    beforeAll(async () => {
      theater = await Theater.open(await openStage());
    });

    afterAll(() => theater.close());

    describe.sequential("one after the other", () => play(() => theater));
  });
}

function killedTests(store: string, theater: () => Theater): void {
  describe(`workers on ${store} that are killed`, () => {
    test.each(CASES)(
      "at the points $points.0 and $points.1 lose nothing and repeat nothing",
      async (one) => {
        const { points, workloads } = one;
        const { fleet, driver } = theater();
        const prefix = points.join("+");
        await fleet.keep(points.length);
        const victims = fleet.live;
        for (const [i, victim] of victims.entries()) {
          const point = points[i] as Point;
          victim.arm(point, "kill", SKIPPED[point]);
          for (const name of workloads) {
            theater().begin(workloadNamed(name), prefix, victim);
            // This run is not held from the start: a worker must claim it.
            theater().begin(workloadNamed(name), prefix);
          }
        }
        if (points.includes("draining")) {
          await Promise.all(victims.map((victim) => victim.ask()));
          for (const victim of victims) victim.drain();
        }
        expect(await Promise.all(victims.map((victim) => victim.exited))).toEqual(["SIGKILL", "SIGKILL"]);
        expect(victims.map(({ reached }) => reached)).toEqual(points.map((point) => [point]));
        await driver.untilEnded(ENDS_WITHIN_MS);
        const count = 2 * workloads.length * points.length;
        expect(await theater().verdict(prefix)).toMatchObject({ findings: [], runs: count, finished: count });
      },
      TEST_MS,
    );

    test(
      "when it has just taken back the runs of another one loses none of them",
      async () => {
        const { fleet, driver } = theater();
        await fleet.keep(WORKERS);
        // Nobody takes the place of the first one: its successor could take its runs back before the second one does.
        await fleet.keep(0);
        const [first, second] = fleet.live as [TorturedWorker, TorturedWorker];
        first.arm("in-step");
        second.arm("after-sweep");
        for (const name of ["chain", "order", "saga"]) theater().begin(workloadNamed(name), "after-sweep", first);
        await Promise.all([first.exited, second.exited]);
        expect([first.reached, second.reached]).toEqual([["in-step"], ["after-sweep"]]);
        await fleet.keep(WORKERS);
        await driver.untilEnded(ENDS_WITHIN_MS);
        expect(await theater().verdict("after-sweep")).toMatchObject({ findings: [], finished: 3 });
      },
      TEST_MS,
    );
  });
}

function zombieTests(store: string, theater: () => Theater): void {
  const asWorkload = (end: Workload["end"]): Workload => ({ name: "gated", definition: gated, end });

  describe(`a worker on ${store} that stands still for longer than its lease`, () => {
    test(
      "starts nothing that it has lost, has its results refused, and is of use again",
      async () => {
        const { fleet, driver } = theater();
        await fleet.clear();
        const zombie = fleet.spawn({ gated: true });
        await zombie.ready;
        // Right after a heartbeat: when it continues, its backoff is over before it asks the store whether its lease is
        // still valid.
        zombie.arm("after-heartbeat", "tell");
        await zombie.untilReached();
        zombie.arm("retry-backoff", "stop");
        theater().begin(
          asWorkload(() => ({ status: "completed", output: 4 })),
          "zombie",
          zombie,
        );
        expect(await zombie.untilReached()).toBe("retry-backoff");
        zombie.stopped = true;
        const rescuer = fleet.spawn();
        await rescuer.ready;
        await driver.untilEnded(ENDS_WITHIN_MS);
        const before = linesOf(theater(), zombie);
        // Its backoff is over, its step returns, and what the step waited for is durable: only the lease holds it back.
        zombie.openGate();
        zombie.continue();
        await untilDeclaredDead(zombie);
        const after = linesOf(theater(), zombie).slice(before.length);
        expect(after.filter(({ phase }) => phase === "begin")).toEqual([]);
        rescuer.kill();
        await rescuer.exited;
        theater().begin(workloadNamed("chain"), "zombie");
        await driver.untilEnded(ENDS_WITHIN_MS);
        expect(linesOf(theater(), zombie).length).toBeGreaterThan(before.length + after.length);
        expect(await theater().verdict("zombie")).toMatchObject({ findings: [], finished: 2 });
        zombie.kill();
        await zombie.exited;
      },
      TEST_MS,
    );

    test(
      "and had just sent its results off, finds them refused",
      async () => {
        const { fleet, driver } = theater();
        const zombie = fleet.spawn();
        await zombie.ready;
        zombie.arm("before-commit", "stop", 2);
        for (const name of ["chain", "order", "chain"]) theater().begin(workloadNamed(name), "refused", zombie);
        expect(await zombie.untilReached()).toBe("before-commit");
        const rescuer = fleet.spawn();
        await rescuer.ready;
        await driver.untilEnded(ENDS_WITHIN_MS);
        zombie.continue();
        await untilDeclaredDead(zombie);
        // It may learn of its death before its writes are answered.
        while ((await zombie.ask()).refusedWrites === 0);
        expect(await theater().verdict("refused")).toMatchObject({ findings: [], finished: 3 });
        for (const worker of [zombie, rescuer]) worker.kill();
        await Promise.all([zombie.exited, rescuer.exited]);
      },
      TEST_MS,
    );
  });
}

function linesOf(theater: Theater, { pid }: TorturedWorker): EffectLine[] {
  return theater.lines().filter((line) => line.pid === pid);
}

function poisonTests(store: string, theater: () => Theater): void {
  test(
    `a run on ${store} that kills its worker is parked in the end, and its neighbors get through`,
    async () => {
      const { fleet, driver, torture } = theater();
      await fleet.keep(WORKERS);
      const deathsBefore = fleet.deaths;
      const [first] = fleet.live as [TorturedWorker];
      const run = await torture.client.start(poison, 0, { id: "poison" });
      for (const name of ["chain", "order", "approval", "race", "relay"]) {
        theater().begin(workloadNamed(name), "neighbor", first);
        theater().begin(workloadNamed(name), "neighbor");
      }
      await driver.untilEnded(ENDS_WITHIN_MS);
      await untilParked(run);
      expect((await run.describe()).error?.code).toBe("crash_loop");
      expect(await theater().verdict("neighbor")).toMatchObject({ findings: [], finished: 10 });
      expect(driver.resumed).toBe(0);
      expect(fleet.deaths - deathsBefore).toBeGreaterThanOrEqual(5);
      await run.terminate();
      await fleet.keep(0);
    },
    TEST_MS,
  );
}

async function untilParked(run: { status(): Promise<string> }): Promise<void> {
  while ((await run.status()) !== "parked");
}

function migrationTests(store: string, theater: () => Theater, openStage: () => Promise<Stage>): void {
  test(
    `a process that dies at any statement of the migration on ${store} leaves a store that the next one can open`,
    async () => {
      let kills = 0;
      for (let survivors = 0; survivors === 0; ) {
        const statements = Array.from({ length: MIGRATIONS }, (_, i) => kills + i + 1);
        const survived = await Promise.all(
          statements.map((statement) => migrateUntil(statement, theater().fleet, openStage)),
        );
        survivors = survived.filter(Boolean).length;
        kills += MIGRATIONS - survivors;
      }
      expect(kills).toBeGreaterThan(4);
    },
    TEST_MS,
  );
}

/** Whether the migration has fewer statements than this. */
async function migrateUntil(dieAtStatement: number, fleet: Fleet, openStage: () => Promise<Stage>): Promise<boolean> {
  const stage = await openStage();
  const worker = fleet.spawn({ place: stage.place, effectsFile: effectsFileOf(stage), dieAtStatement });
  const survived = await worker.ready.then(
    () => true,
    () => false,
  );
  const { client } = await openTortureClient(stage.place);
  expect(await client.count()).toBe(0);
  await client.close();
  worker.kill();
  await worker.exited;
  await stage.remove();
  return survived;
}
