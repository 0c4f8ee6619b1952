import { type Client, type RunHandle, type TaskView, task, workflow } from "holdfast";
import { expect } from "vitest";
import type { ClientSuite } from "./client-suite.ts";
import { gate, NEVER } from "./gate.ts";

/** Asks until there are that many tasks of that status; time is counted in round trips to the store. */
export async function tasksUntil(
  client: Client,
  status: TaskView["status"],
  count: number,
): Promise<readonly TaskView[]> {
  for (;;) {
    const { tasks: found } = await client.tasks.list({ status });
    if (found.length === count) return found;
  }
}

/** A task that one worker cannot finish, and what its attempts were. */
function stuckFor(worker: string) {
  const begun = gate();
  const attempts: string[] = [];
  const on = (name: string) =>
    task("job", (n: number, t) => {
      attempts.push(`${name} ${t.attempt}`);
      begun.open();
      return name === worker ? (NEVER as Promise<string>) : `${n} by ${name}`;
    });
  return { on, attempts, begun: begun.opened };
}

export const tasks: ClientSuite = {
  noun: "whose runs schedule tasks",
  cases: {
    "has the tasks of one connection executed by a worker of another": async (t) => {
      const [here, there] = [await t.connect(), await t.connect()];
      const double = task("double", (n: number) => 2 * n);
      const main = workflow("main", async (ctx, n: number) => {
        const [a, b] = await Promise.all([ctx.task(double, n), ctx.task(double, n + 1)]);
        return a + b + (await ctx.task(double, 100));
      });
      await here.worker({ workflows: [main] }).start();
      await there.worker({ tasks: [double] }).start();
      expect(await here.run(main, 1)).toBe(206);
      expect((await here.tasks.list()).tasks).toEqual([]);
    },

    "executes them in the process of the run as well, each once": async (t) => {
      const client = await t.connect();
      let calls = 0;
      const count = task("count", () => {
        calls += 1;
        return calls;
      });
      const main = workflow("main", async (ctx) => [await ctx.task(count), await ctx.task(count)]);
      await client.worker({ workflows: [main], tasks: [count] }).start();
      expect(await client.run(main)).toEqual([1, 2]);
      expect(calls).toBe(2);
    },

    "sends a task only to workers that have its name, its queue and all its labels": async (t) => {
      const [here, there] = [await t.connect(), await t.connect()];
      const done: string[] = [];
      const by = (worker: string) => ({
        render: task(
          { name: "render", queue: "gpu", requires: ["gpu=a100"] },
          () => void done.push(`render by ${worker}`),
        ),
        thumb: task({ name: "thumb", queue: "gpu" }, () => void done.push(`thumb by ${worker}`)),
        mail: task({ name: "mail", queue: "mail" }, () => void done.push(`mail by ${worker}`)),
      });
      const all = (worker: string) => Object.values(by(worker));
      const { render, thumb, mail } = by("nobody");
      const main = workflow("main", async (ctx) => {
        const slow = ctx.task(render, undefined, { requires: ["fast"] });
        await Promise.all([slow, ctx.task(thumb), ctx.task(mail)]);
      });
      await here.worker({ workflows: [main] }).start();
      const run = await here.start(main);
      await tasksUntil(here, "due", 3);
      await here.worker({ tasks: all("slow"), queues: ["gpu"], labels: { gpu: "a100" } }).start();
      await there.worker({ tasks: all("other"), queues: ["mail"], labels: { gpu: "h100", fast: "yes" } }).start();
      expect(await tasksUntil(here, "due", 1)).toMatchObject([{ name: "render", requires: ["fast", "gpu=a100"] }]);
      await there.worker({ tasks: all("right"), labels: { gpu: "a100", fast: "yes" } }).start();
      await run.result();
      expect(done.sort()).toEqual(["mail by other", "render by right", "thumb by slow"]);
    },

    "has tasks of a higher priority done first, and the one that waits longest first within it": async (t) => {
      const [here, there] = [await t.connect(), await t.connect()];
      const order: string[] = [];
      const note = task("note", (name: string) => void order.push(name));
      const main = workflow("main", async (ctx, [name, priority]: readonly [string, number]) => {
        await ctx.task(note, name, { priority });
      });
      await here.worker({ workflows: [main] }).start();
      const wanted = [
        ["low", -1],
        ["first", 0],
        ["second", 0],
        ["high", 5],
      ] as const;
      const runs: RunHandle[] = [];
      for (const input of wanted) {
        runs.push(await here.start(main, input));
        await tasksUntil(here, "due", runs.length);
      }
      await there.worker({ tasks: [note], taskConcurrency: 1 }).start();
      await Promise.all(runs.map((run) => run.result()));
      expect(order).toEqual(["high", "first", "second", "low"]);
    },

    "tells a task through its signal that its run was canceled, and forgets it": async (t) => {
      const [here, there] = [await t.connect(), await t.connect()];
      const [begun, aborted] = [gate(), gate()];
      const long = task("long", (_: undefined, { signal }) => {
        signal.addEventListener("abort", () => aborted.open());
        begun.open();
        return NEVER;
      });
      const main = workflow("main", (ctx) => ctx.task(long));
      await here.worker({ workflows: [main] }).start();
      // A lease as short as it gets: the signal comes with a hint, or with the next heartbeat.
      await there.worker({ tasks: [long], lease: "1s" }).start();
      const run = await here.start(main);
      await begun.opened;
      await run.cancel("enough");
      await expect(run.result()).rejects.toMatchObject({ code: "run_canceled" });
      await aborted.opened;
      expect((await here.tasks.list()).tasks).toEqual([]);
    },

    "lets a worker that drains finish its tasks, and leaves new ones to others": async (t) => {
      const [here, there] = [await t.connect(), await t.connect()];
      const [begun, done] = [gate(), gate()];
      const on = (name: string) =>
        task("job", async (n: number) => {
          begun.open();
          await done.opened;
          return `${n} by ${name}`;
        });
      const main = workflow("main", async (ctx, n: number) => ctx.task(on("nobody"), n));
      await here.worker({ workflows: [main] }).start();
      const worker = there.worker({ tasks: [on("first")] });
      await worker.start();
      const first = await here.start(main, 1);
      await begun.opened;
      const drained = worker.drain();
      const second = await here.start(main, 2);
      await tasksUntil(here, "due", 1);
      done.open();
      await drained;
      expect(await first.result()).toBe("1 by first");
      await here.worker({ tasks: [on("second")] }).start();
      expect(await second.result()).toBe("2 by second");
    },

    "gives the tasks of a worker that is stopped to others, and counts no attempt": async (t) => {
      const [here, there] = [await t.connect(), await t.connect()];
      const { on, attempts, begun } = stuckFor("first");
      const main = workflow("main", async (ctx) => ctx.task(on("nobody"), 7));
      await here.worker({ workflows: [main] }).start();
      const worker = there.worker({ tasks: [on("first")] });
      await worker.start();
      const run = await here.start(main);
      await begun;
      await worker.stop();
      await here.worker({ tasks: [on("second")] }).start();
      expect(await run.result()).toBe("7 by second");
      expect(attempts).toEqual(["first 1", "second 1"]);
    },

    "keeps what has failed for good as a dead letter, and takes it up again": async (t) => {
      const [here, there] = [await t.connect(), await t.connect()];
      let broken = true;
      const ship = task({ name: "ship", retry: { attempts: 2, fixed: "10ms" } }, (id: string, { attempt }) => {
        if (broken) throw new Error(`no carrier ${attempt}`);
        return `shipped ${id}`;
      });
      const main = workflow("main", async (ctx) => ctx.task(ship, "o-1"));
      await here.worker({ workflows: [main] }).start();
      await there.worker({ tasks: [ship] }).start();
      const run = await here.start(main, undefined, { id: "order-1" });
      await expect(run.result()).rejects.toMatchObject({ code: "run_failed", cause: { message: "no carrier 2" } });
      const [dead] = await tasksUntil(there, "dead", 1);
      const failures = [{ message: "no carrier 1" }, { message: "no carrier 2" }];
      expect(dead).toMatchObject({ name: "ship", input: "o-1", attempt: 2, failures, runId: run.runId });
      broken = false;
      const token = dead?.token as string;
      await there.tasks.retry(token);
      expect(await run.result()).toBe("shipped o-1");
      expect((await here.tasks.list()).tasks).toEqual([]);
      await expect(here.tasks.retry(token)).rejects.toMatchObject({ code: "task_closed" });
    },
  },
};
