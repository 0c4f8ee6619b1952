import { workflow } from "holdfast";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

test("a hint makes the workers of its queue look at once, and no others", async () => {
  const job = workflow("job", async () => "done");
  const fleet = openFleet();
  const client = fleet.client();
  await fleet.worker({ workflows: [job], queues: ["mine"] });
  await fleet.clock.settle();
  const claims = (): number => fleet.store.calls["runs.claim"] ?? 0;

  const before = claims();
  const ignored = [
    await client.start(job, undefined, { queue: "other" }),
    await fleet.client({ namespace: "elsewhere" }).start(job, undefined, { queue: "mine" }),
  ];
  await fleet.clock.settle();
  expect(await Promise.all(ignored.map((run) => run.status()))).toEqual(["pending", "pending"]);
  expect(claims()).toBe(before);

  const began = fleet.clock.now();
  const heard = await client.start(job, undefined, { queue: "mine" });
  expect(await fleet.result(heard)).toBe("done");
  expect(claims()).toBeGreaterThan(before);
  expect(fleet.clock.now()).toBe(began);
});
