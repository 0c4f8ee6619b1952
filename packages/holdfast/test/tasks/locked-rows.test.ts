import { signal, task, workflow } from "holdfast";
import type { StoreHooks } from "holdfast/adapter";
import { expect, test } from "vitest";
import { openWorld } from "../lab/world.ts";

const double = task("double", (n: number) => 2 * n);
const main = workflow("main", async (ctx, n: number) => {
  const all = await Promise.all(Array.from({ length: n }, (_, i) => ctx.task(double, i)));
  return all.reduce((sum, one) => sum + one, 0);
});

/** The run's row is locked for the first `times` calls. */
function lockedFor(times: number): { readonly hooks: StoreHooks; readonly calls: () => number } {
  let calls = 0;
  const hooks: StoreHooks = {
    "tasks.finish": async ({ finishes }, call) => {
      calls += 1;
      return calls > times ? call() : { outcomes: finishes.map(() => ({ outcome: "busy" })), now: 0 };
    },
  };
  return { hooks, calls: () => calls };
}

test("results whose run is locked are reported again within some tens of milliseconds, all of them in one call", async () => {
  const world = openWorld();
  const { hooks, calls } = lockedFor(20);
  const client = world.client();
  await world.worker(client, { workflows: [main] });
  await world.worker(world.client({ hooks }), { tasks: [double], taskConcurrency: 50 });
  const run = await client.start(main, 50);
  await world.clock.advance("1300ms");
  expect(await run.status()).toBe("completed");
  expect(await run.result()).toBe(2450);
  expect(calls()).toBeLessThanOrEqual(24);
});

test("a token is answered soon after the lock of its run is gone", async () => {
  const world = openWorld();
  const approval = task<undefined, string>({ name: "approval", external: true });
  const asks = workflow("asks", async (ctx) => ctx.task(approval));
  const client = world.client();
  await world.worker(client, { workflows: [asks] });
  const run = await client.start(asks);
  await world.clock.advance("100ms");
  const [{ token } = { token: "" }] = (await client.tasks.list()).tasks;
  const { hooks, calls } = lockedFor(20);
  const completed = world.client({ hooks }).tasks.complete(token as string, "yes");
  await world.clock.advance("1300ms");
  await completed;
  expect(await run.result()).toBe("yes");
  expect(calls()).toBe(21);
});

test("a signal to a run that is locked delays no other signal of the client", async () => {
  const world = openWorld();
  const go = signal<number>("go");
  const waits = workflow("waits", async (ctx) => ctx.receive(go));
  const worker = world.client();
  await world.worker(worker, { workflows: [waits] });
  let locked = true;
  const client = world.client({
    hooks: {
      "inbox.deliver": async (params, call) => {
        const { outcomes } = await call();
        return { outcomes: outcomes.map((one, i) => (busy(params.messages[i]) ? { ...one, outcome: "busy" } : one)) };
      },
    },
  });
  const [a, b] = [await client.start(waits, undefined, { id: "a" }), await client.start(waits, undefined, { id: "b" })];
  const busy = (message: { readonly to: object } | undefined) =>
    locked && JSON.stringify(message?.to).includes(a.runId);
  await world.clock.advance("10ms");
  const first = a.signal(go, 1);
  await world.clock.advance("5ms");
  const second = b.signal(go, 2);
  await world.clock.advance("2ms");
  await second;
  expect(await world.clock.until(b.result())).toBe(2);
  locked = false;
  await world.clock.until(first);
});
