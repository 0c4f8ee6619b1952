import { type RunStatus, signal, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const OPEN: RunStatus[] = ["pending", "running", "sleeping", "waiting", "compensating", "parked"];
const paid = signal("paid");

function order(version: string) {
  return workflow({ name: "order", version }, async (ctx) => {
    await ctx.receive(paid);
    return `by ${version}`;
  });
}

test("a new version is tried beside the old one, becomes the default, and the old one goes when its last run has ended", async () => {
  const fleet = openFleet();
  const hf = fleet.client();
  const before = await fleet.worker({ workflows: [order("1")] });
  await hf.versions.setDefault("order", "1");
  const old = await hf.start("order");

  // Both are there, and nothing changes for runs that name no version. Some are given the new one by name.
  const both = await fleet.worker({ workflows: [order("1"), order("2")] });
  await fleet.clock.until(before.drain());
  const [canary, usual] = [await hf.start("order", undefined, { version: "2" }), await hf.start("order")];
  await Promise.all([canary, usual].map((run) => run.signal(paid)));
  expect([await fleet.result(canary), await fleet.result(usual)]).toEqual(["by 2", "by 1"]);

  // The new one is the default: new runs get it, the one that exists stays.
  await hf.versions.setDefault("order", "2");
  const fresh = await hf.start("order");
  await fresh.signal(paid);
  expect(await fleet.result(fresh)).toBe("by 2");
  expect(await hf.count({ workflow: "order", version: "1", status: OPEN })).toBe(1);
  await old.signal(paid);
  expect(await fleet.result(old)).toBe("by 1");
  expect(await hf.count({ workflow: "order", version: "1", status: OPEN })).toBe(0);

  // No worker offers the old one anymore, and no run needs it.
  await fleet.worker({ workflows: [order("2")] });
  await fleet.clock.until(both.drain());
  const online = (await hf.workers.list()).filter(({ status }) => status === "online");
  expect(online.map(({ workflows }) => workflows)).toEqual([["order@2"]]);
  const last = await hf.start("order");
  await last.signal(paid);
  expect(await fleet.result(last)).toBe("by 2");
});
