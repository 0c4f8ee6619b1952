import { task, workflow } from "holdfast";
import { expect, test } from "vitest";
import { Line, openWorld, WORKER_CALLS } from "../lab/world.ts";

const TIMES = { lease: "30s", tuning: {} } as const;
const CALLS = [...WORKER_CALLS, "tasks.claim", "tasks.finish", "tasks.beat", "tasks.expired"] as const;

for (const [title, limits] of [
  ["reported all the time", { heartbeat: "6s" }],
  ["ended in time", { timeout: "31s" }],
] as const)
  test(`an attempt that ${title} while the store was away is not expired when it is back`, async () => {
    for (let awayMs = 30_000; awayMs < 40_000; awayMs += 500) await isNotExpired(limits, awayMs);
  });

async function isNotExpired(limits: object, awayMs: number): Promise<void> {
  const world = openWorld();
  let calls = 0;
  const job = task({ name: "job", ...limits }, async (_: undefined, t) => {
    calls += 1;
    for (let beat = 0; beat < 30; beat++) {
      void t.heartbeat();
      await world.later(1_000);
    }
    return t.attempt;
  });
  const main = workflow("main", async (ctx) => ctx.task(job));
  const line = new Line(...CALLS);
  await world.worker(world.client({ hooks: line.hooks }), { workflows: [main], ...TIMES });
  await world.worker(world.client({ hooks: line.hooks }), { tasks: [job], ...TIMES });
  const run = await world.client().start(main);
  await world.clock.advance("8s");
  // Afterwards all workers look for expired tasks and repeat their calls, each when its turn comes.
  line.down = true;
  await world.clock.advance(`${awayMs}ms`);
  line.down = false;
  expect(await world.result(run), `away for ${awayMs} ms`).toBe(1);
  expect(calls, `away for ${awayMs} ms`).toBe(1);
}
