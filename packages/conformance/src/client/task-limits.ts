import { type TaskDefinition, type TaskSettings, task, workflow } from "holdfast";
import { expect } from "vitest";
import type { ClientFixture } from "./client-fixture.ts";
import type { ClientSuite } from "./client-suite.ts";
import { NEVER } from "./gate.ts";
import { tasksUntil } from "./tasks.ts";

interface Failure {
  readonly code: string;
}

/** How a run learns that its task has failed; the task has its worker, if any, on another connection. */
async function failureOf(
  t: ClientFixture,
  job: TaskDefinition<undefined, unknown>,
  served = job.fn !== undefined,
): Promise<unknown> {
  const [here, there] = [await t.connect(), await t.connect()];
  const main = workflow("main", async (ctx) => ctx.task(job).then(String, (error: Failure) => error.code));
  await here.worker({ workflows: [main] }).start();
  if (served) await there.worker({ tasks: [job] }).start();
  const code = await here.run(main);
  const [dead] = await tasksUntil(there, "dead", 1);
  expect(dead).toMatchObject({ name: job.name, error: { code } });
  return [code, dead?.attempt];
}

/** A task that never ends, and the reasons for which its attempts were aborted. */
function endless(settings: TaskSettings) {
  const reasons: unknown[] = [];
  const job = task({ name: "endless", ...settings }, (_: undefined, { signal }): Promise<unknown> => {
    signal.addEventListener("abort", () => reasons.push((signal.reason as Failure).code));
    return NEVER;
  });
  return { job, reasons };
}

export const taskLimits: ClientSuite = {
  noun: "whose tasks have time limits",
  cases: {
    "ends an attempt that takes too long, and tries again": async (t) => {
      const { job, reasons } = endless({ timeout: "40ms", retry: { attempts: 2, fixed: "10ms" } });
      expect(await failureOf(t, job)).toEqual(["task_timeout", 2]);
      expect(reasons).toEqual(["task_timeout", "task_timeout"]);
    },

    "ends an attempt that is silent for too long, and tries again": async (t) => {
      const { job, reasons } = endless({ heartbeat: "40ms", retry: { attempts: 2, fixed: "10ms" } });
      expect(await failureOf(t, job)).toEqual(["task_heartbeat_timeout", 2]);
      expect(reasons).toEqual(["task_heartbeat_timeout", "task_heartbeat_timeout"]);
    },

    "gives up a task that nobody takes in time": async (t) => {
      const job = task<undefined, unknown>(
        { name: "lonely", queue: "nobody serves it", startTimeout: "40ms" },
        () => 1,
      );
      expect(await failureOf(t, job, false)).toEqual(["task_start_timeout", 1]);
    },

    "gives up a task that takes too long, however often it was tried": async (t) => {
      let calls = 0;
      const job = task<undefined, unknown>(
        { name: "stubborn", totalTimeout: "300ms", retry: { attempts: 10_000, fixed: "5ms" } },
        () => {
          calls += 1;
          throw new Error("again");
        },
      );
      expect(await failureOf(t, job)).toEqual(["task_total_timeout", expect.any(Number)]);
      expect(calls).toBeGreaterThan(0);
    },

    "gives up a task in progress when its total time is over": async (t) => {
      const { job } = endless({ totalTimeout: "40ms" });
      expect(await failureOf(t, job)).toEqual(["task_total_timeout", 1]);
    },

    "ends an attempt that nobody with its token answers in time": async (t) => {
      const retry = { attempts: 2, fixed: "10ms" } as const;
      const job = task<undefined, unknown>({ name: "asked", external: true, timeout: "40ms", retry });
      expect(await failureOf(t, job)).toEqual(["task_timeout", 2]);
    },
  },
};
