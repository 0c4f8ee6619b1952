import { expect, test } from "vitest";
import type { DrivenOp } from "../../replay/op.ts";
import { SeededSource } from "../../testing/seeded-source.ts";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import type { ExecutorHost } from "../execute/executor-host.ts";
import type { QueuedDraft } from "../execute/message-draft.ts";
import { GivenUpTasks, type TaskOwner } from "./given-up-tasks.ts";

test("what became of a task is asked of the store, once the commit that creates it is durable, and never guessed before", async () => {
  const asked: number[] = [];
  const pushed: QueuedDraft[] = [];
  const clock = new VirtualClock();
  const host = {
    clock,
    random: new SeededSource(1),
    record: () => ({ name: "HoldfastError", message: "given up", kind: "Unknown" }),
    store: {
      tasks: {
        cancel: async ({ tasks }: { tasks: readonly { readonly seq: number }[] }) => {
          asked.push(...tasks.map(({ seq }) => seq));
          return { outcomes: tasks.map(() => ({ outcome: "never_began" })) };
        },
      },
    },
  } as unknown as ExecutorHost;
  const run = {
    run: { namespace: "default", runId: "r" },
    here: true,
    push: (draft: QueuedDraft) => void pushed.push(draft),
    poke: () => {},
  } as unknown as TaskOwner;
  const op = {
    id: "charge",
    pending: true,
    task: { seq: 3, lost: false, spec: { name: "charge" } },
  } as unknown as DrivenOp;
  const tasks = new GivenUpTasks(host, run);

  tasks.close([op], { durableSeq: 0 });
  tasks.born({ durableSeq: 2 });
  await clock.settle();
  expect({ asked, pushed, waits: tasks.asking }).toEqual({ asked: [], pushed: [], waits: true });

  tasks.born({ durableSeq: 3 });
  await clock.settle();
  expect(asked).toEqual([3]);
  expect(pushed).toMatchObject([{ type: "task_failed", op: "charge", meta: { neverBegan: true, withdrawn: true } }]);
  expect(tasks.asking).toBe(false);
});
