import { type Client, task, workflow } from "holdfast";
import { expect } from "vitest";
import type { ClientFixture } from "./client-fixture.ts";
import type { ClientSuite } from "./client-suite.ts";
import { tasksUntil } from "./tasks.ts";

/** How many runs are answered at once. */
const RUNS = 12;

const approval = task<number, string>({ name: "approval", external: true, retry: { attempts: 2, fixed: "10ms" } });
const order = workflow("order", async (ctx, n: number) =>
  ctx.task(approval, n).catch((error: { readonly message: string }) => error.message),
);

/** Two connections, and a worker for orders. */
async function office(t: ClientFixture): Promise<readonly [Client, Client]> {
  const clients = [await t.connect(), await t.connect()] as const;
  await clients[0].worker({ workflows: [order] }).start();
  return clients;
}

async function tokenOf(client: Client): Promise<string> {
  const [found] = await tasksUntil(client, "external", 1);
  return found?.token as string;
}

export const taskTokens: ClientSuite = {
  noun: "that finishes tasks with their tokens",
  cases: {
    "has one of two answers at the same moment accepted, and the run gets that one": async (t) => {
      const [here, there] = await office(t);
      const runs = await Promise.all(Array.from({ length: RUNS }, (_, n) => here.start(order, n)));
      const waiting = await tasksUntil(here, "external", RUNS);
      const answer = async ({ token = "", runId }: (typeof waiting)[number]) => {
        const said = await Promise.allSettled([
          here.tasks.complete(token, `${runId} here`),
          there.tasks.complete(token, `${runId} there`),
        ]);
        const refused = said.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
        expect(refused).toEqual([expect.objectContaining({ code: "task_closed" })]);
        return `${runId} ${said[0].status === "fulfilled" ? "here" : "there"}`;
      };
      const accepted = await Promise.all(waiting.map(answer));
      const results = await Promise.all(runs.map((run) => run.result()));
      expect(results.sort()).toEqual(accepted.sort());
      for (const { token = "" } of waiting)
        await expect(there.tasks.complete(token, "late")).rejects.toMatchObject({ code: "task_closed" });
    },

    "has a completion or a failure accepted, never both": async (t) => {
      const [here, there] = await office(t);
      const run = await here.start(order, 1);
      const token = await tokenOf(here);
      const said = await Promise.allSettled([
        here.tasks.complete(token, "yes"),
        there.tasks.fail(token, new Error("no")),
      ]);
      expect(said.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      if (said[0].status === "rejected") await there.tasks.complete(await tokenOf(here), "yes");
      expect(await run.result()).toBe("yes");
    },

    "counts a failure as an attempt, and has another token for the next one": async (t) => {
      const [here, there] = await office(t);
      const run = await here.start(order, 1);
      const first = await tokenOf(here);
      await there.tasks.fail(first, new Error("not now"));
      const [again] = await tasksUntil(here, "external", 1);
      expect(again).toMatchObject({ attempt: 2, error: { message: "not now" } });
      await expect(here.tasks.complete(first, "yes")).rejects.toMatchObject({ code: "task_closed" });
      await expect(here.tasks.heartbeat(first)).rejects.toMatchObject({ code: "task_closed" });
      await here.tasks.fail(again?.token as string, new Error("never"));
      expect(await run.result()).toBe("never");
      expect(await tasksUntil(there, "dead", 1)).toMatchObject([{ attempt: 2, runId: run.runId }]);
    },

    "completes what a worker has begun": async (t) => {
      const [here, there] = [await t.connect(), await t.connect()];
      const print = task<string, number>("print", (_text, { completeLater }) => completeLater());
      const main = workflow("main", async (ctx) => ctx.task(print, "book"));
      await here.worker({ workflows: [main] }).start();
      const printer = there.worker({ tasks: [print] });
      await printer.start();
      const run = await here.start(main);
      const token = await tokenOf(here);
      expect(await here.tasks.heartbeat(token, { page: 3 })).toEqual({ canceled: false });
      expect(await there.tasks.get(token)).toMatchObject({ status: "external", lastDetails: { page: 3 }, attempt: 1 });
      await printer.drain();
      await here.tasks.complete(token, 12);
      expect(await run.result()).toBe(12);
    },

    "is told that a token belongs to no task, or to one that is over": async (t) => {
      const [here, there] = await office(t);
      const run = await here.start(order, 1);
      const token = await tokenOf(here);
      const forged = `${token.slice(0, -32)}${"0".repeat(32)}`;
      await expect(there.tasks.complete(forged, "yes")).rejects.toMatchObject({ code: "task_not_found" });
      await run.terminate("enough");
      await expect(there.tasks.complete(token, "yes")).rejects.toMatchObject({ code: "task_closed" });
    },
  },
};
