import { hostname } from "node:os";
import { workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { expect, test } from "vitest";

test("the lives of workers are on record: when they started, were heard of, stopped or died, and where they ran", async () => {
  const idle = workflow("idle", async () => 1);
  const t = await testEngine({ workflows: [idle] });
  const other = t.client.worker({ workflows: [idle], name: "other", lease: "30s", labels: { zone: "b" } });
  await other.start();
  await t.clock.advance("11s");
  const row = await t.client.workers.get(other.workerId);
  expect(row?.labels).toEqual({ host: hostname(), pid: String(process.pid), zone: "b" });
  await other.stop();
  const events = (await t.client.workers.events()).filter((event) => event.name === "other");
  expect(events.map((event) => event.type)).toEqual(["started", "heartbeat", "stopped"]);
  await t.close();
});
