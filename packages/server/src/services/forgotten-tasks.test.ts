import type { FinishTasksParams, HeldTask } from "holdfast/adapter";
import { writeToken } from "holdfast/adapter";
import { VirtualClock } from "holdfast/testing";
import { expect, test } from "vitest";
import { FORGOTTEN_MS, ForgottenTasks } from "./forgotten-tasks.ts";

const runId = "01900000-0000-7000-8000-000000000000";
const worker = { namespace: "shop", workerId: "w" };
const held = (seq: number): HeldTask => ({ runId, seq, epoch: 1, canceled: false });
const tokenOf = (seq: number): string => writeToken({ runId, seq, epoch: 1, secret: "0".repeat(32) });

test("a task that its worker does not name is given back after a poll could have brought it, no earlier", async () => {
  let ms = 1_000;
  const clock = Object.assign(new VirtualClock(), { monotonic: () => ms });
  const released: number[] = [];
  const store = {
    workers: { readHeldTasks: async () => [held(1), held(2)] },
    tasks: {
      finish: async ({ finishes }: FinishTasksParams) => {
        released.push(...finishes.map(({ seq }) => seq));
        return { outcomes: [], now: 0 };
      },
    },
  };
  const tasks = new ForgottenTasks({ store, clock });
  expect(await tasks.compare(worker, [tokenOf(1), "nonsense"])).toBe(0);
  ms += FORGOTTEN_MS - 1;
  expect(await tasks.compare(worker, [tokenOf(1)])).toBe(0);
  ms += 1;
  expect(await tasks.compare(worker, [tokenOf(1)])).toBe(1);
  expect(released).toEqual([2]);
});

test("a task that is named again was only on its way", async () => {
  let ms = 0;
  const clock = Object.assign(new VirtualClock(), { monotonic: () => ms });
  const store = {
    workers: { readHeldTasks: async () => [held(1)] },
    tasks: { finish: async () => Promise.reject(new Error("released")) },
  };
  const tasks = new ForgottenTasks({ store, clock });
  expect(await tasks.compare(worker, [])).toBe(0);
  ms += FORGOTTEN_MS;
  expect(await tasks.compare(worker, [tokenOf(1)])).toBe(0);
  ms += FORGOTTEN_MS;
  expect(await tasks.compare(worker, [])).toBe(0);
});
