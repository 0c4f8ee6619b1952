import { task, workflow } from "holdfast";
import { encrypted } from "holdfast/codecs";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const key = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);

test("why says of a task whose worker lacks the key that it was given back, not that it has failed", async () => {
  const work = task("work", () => 1);
  const order = workflow("order", (ctx) => ctx.task(work, "secret"));
  const fleet = openFleet();
  const codec = encrypted({ current: "k1", keys: { k1: key(1) } });
  await fleet.worker({ workflows: [order] }, { codec });
  const blind = await fleet.worker({ tasks: [work] }, { codec: encrypted({ current: "k2", keys: { k2: key(2) } }) });
  const client = fleet.client({ codec });
  const run = await client.start(order);
  await fleet.clock.settle();
  const why = await client.why(run.id);
  expect(why.reason).toContain('Task "work" was given back, and no attempt was counted');
  expect(why.reason).not.toContain("failed");
  expect(why.causes).toMatchObject([{ kind: "backoff", op: "work", attempt: 0 }]);
  await fleet.clock.until(blind.stop());
  await fleet.worker({ tasks: [work] }, { codec });
  expect(await fleet.result(run)).toBe(1);
});
