import { task, workflow } from "holdfast";
import type { StoreHooks } from "holdfast/adapter";
import { expect, test } from "vitest";
import { Gate, openWorld } from "../lab/world.ts";

const TIMES = { lease: "60s", drainTimeout: "60s", tuning: {} } as const;

/** A connection on which one call takes effect at once and is answered later. */
class LateAnswer {
  readonly reached = new Gate();
  readonly answered = new Gate();

  readonly hold = async <T>(call: () => Promise<T>): Promise<T> => {
    const answer = await call();
    this.reached.open();
    await this.answered.opened;
    return answer;
  };
}

for (const how of ["drain", "stop"] as const)
  test(`a task that is claimed while its worker begins to ${how} is given back, for it has not begun`, async () => {
    const world = openWorld();
    const begunBy: string[] = [];
    const pay = (by: string) => task({ name: "pay", onCrash: "fail" }, () => begunBy.push(by));
    const main = workflow("main", async (ctx) => ctx.task(pay("")));
    await world.worker(world.client(), { workflows: [main], ...TIMES });
    const claim = new LateAnswer();
    const hooks: StoreHooks = {
      "tasks.claim": async (_params, call) => {
        const answer = await call();
        return answer.tasks.length === 0 ? answer : claim.hold(async () => answer);
      },
    };
    const worker = await world.worker(world.client({ hooks }), { tasks: [pay("leaving")], ...TIMES });
    const run = await world.client().start(main);
    await world.clock.until(claim.reached.opened);
    const left = how === "drain" ? worker.drain() : worker.stop();
    await world.clock.settle();
    claim.answered.open();
    await world.clock.until(left);
    await world.worker(world.client(), { tasks: [pay("next")], ...TIMES });
    expect(await world.result(run)).toBe(1);
    expect(begunBy).toEqual(["next"]);
  });

for (const how of ["drain", "stop"] as const)
  test(`a task that is scheduled for a worker that begins to ${how} is given back, for it has not begun`, async () => {
    const world = openWorld();
    const begunBy: string[] = [];
    const pay = (by: string) => task({ name: "pay", onCrash: "fail" }, () => begunBy.push(by));
    const main = workflow("main", async (ctx) => ctx.task(pay("")));
    const commit = new LateAnswer();
    const hooks: StoreHooks = {
      "runs.commit": async (params, call) =>
        params.commits.some(({ tasks = [] }) => tasks.length > 0) ? commit.hold(call) : call(),
    };
    const client = world.client({ hooks });
    await world.worker(client, { workflows: [main], name: "runs", ...TIMES });
    const worker = await world.worker(client, { tasks: [pay("leaving")], name: "tasks", ...TIMES });
    await world.clock.settle();
    const run = await client.start(main);
    await world.clock.until(commit.reached.opened);
    expect([...world.store.state.tasks.values()]).toMatchObject([{ status: "held" }]);
    const left = how === "drain" ? worker.drain() : worker.stop();
    await world.clock.settle();
    commit.answered.open();
    await world.clock.until(left);
    await world.worker(world.client(), { tasks: [pay("next")], ...TIMES });
    expect(await world.result(run)).toBe(1);
    expect(begunBy).toEqual(["next"]);
  });
