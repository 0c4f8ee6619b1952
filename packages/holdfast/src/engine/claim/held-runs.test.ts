import { expect, test } from "vitest";
import { MemoryStore } from "../../memory/store.ts";
import type { Run } from "../../model/run.ts";
import { hookedStore } from "../../ports/store-calls.ts";
import { SeededSource } from "../../testing/seeded-source.ts";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import { HeldRuns, type HeldRunsParams } from "./held-runs.ts";

test("a run whose history is read while its worker gets another id gives its slot back", async () => {
  const clock = new VirtualClock();
  const memory = new MemoryStore({ clock, notifier: { publish: () => {}, subscribe: () => () => {} } });
  let workerId = "first";
  const store = hookedStore(memory, {
    "histories.read": async () => {
      workerId = "second";
      return [[{ seq: 1, type: "attributes_set", op: null, at: 0 }]];
    },
  });
  const left: string[] = [];
  const entered: string[] = [];
  const held = new HeldRuns({
    ports: { clock, random: new SeededSource(1), store },
    registry: { code: () => ({}) },
    cacheSize: 10,
    host: () => {
      entered.push(workerId);
      throw new Error("it is not executed");
    },
    workerId: () => workerId,
    onLeft: (runId: string) => void left.push(runId),
    onBegun: () => {},
  } as unknown as HeldRunsParams);

  held.activate({ namespace: "default", runId: "r", epoch: 2, eventCount: 1, workflow: "w", version: "1" } as Run, []);
  expect(held.count).toBe(1);
  let emptied = false;
  void held.untilEmpty().then(() => {
    emptied = true;
  });
  await clock.settle();
  expect({ count: held.count, left, entered, emptied }).toEqual({ count: 0, left: ["r"], entered: [], emptied: true });
});
