import { workflow } from "holdfast";
import { expect } from "vitest";
import type { ClientSuite } from "./client-suite.ts";

export const retrying: ClientSuite = {
  noun: "whose runs are tried again",
  cases: {
    "lets a run with several failed steps go on after one repair": async (t) => {
      const client = await t.connect();
      const executed: string[] = [];
      let down = true;
      const wide = workflow("wide", async (ctx) => {
        const step = (name: string) => () => {
          executed.push(name);
          if (down) throw new Error(`${name} is down`);
        };
        await ctx.step("handled", step("handled"), { retry: "none" }).catch(() => ctx.step("instead", () => "instead"));
        const all = ["a", "b", "c"].map((name) => ctx.step(name, step(name), { retry: "none" }));
        const failed = (await Promise.allSettled(all)).find(({ status }) => status === "rejected");
        if (failed) throw new Error("some have failed");
        return "done";
      });
      await client.worker({ workflows: [wide] }).start();
      const run = await client.start(wide);
      await expect(run.result()).rejects.toMatchObject({ code: "run_failed", cause: { message: "some have failed" } });
      expect(Object.keys((await run.describe()).error ?? {})).not.toContain("retryFrom");
      down = false;
      executed.length = 0;
      await run.retry();
      expect(await run.result()).toBe("done");
      expect(executed.sort()).toEqual(["a", "b", "c"]);
    },

    "has a run that waits for its next try due at its deadline, if that comes first": async (t) => {
      const client = await t.connect();
      const hopeless = workflow({ name: "hopeless", retry: { attempts: 3, fixed: "2h" }, timeout: "1h" }, (ctx) =>
        ctx.step("bad", () => Promise.reject(new Error("down")), { retry: "none" }),
      );
      await client.worker({ workflows: [hopeless] }).start();
      const run = await client.start(hopeless);
      let { status, availableAt, deadlineAt } = await run.describe();
      // Time is counted in round trips to the store.
      while (status !== "sleeping") ({ status, availableAt, deadlineAt } = await run.describe());
      expect(availableAt).toEqual(deadlineAt);
    },

    "refuses to try a run again that has not failed": async (t) => {
      const client = await t.connect();
      const buggy = workflow(
        "buggy",
        async (_ctx, input: { readonly a?: { readonly b: string } }) => input.a?.b.length,
      );
      await client.worker({ workflows: [buggy] }).start();
      const done = await client.start(buggy, {});
      await done.result();
      await expect(done.retry()).rejects.toMatchObject({ code: "run_not_failed", data: { status: "completed" } });
      const parked = await client.start(buggy, { a: {} as never });
      await expect(parked.result()).rejects.toMatchObject({ code: "run_parked" });
      await expect(parked.retry()).rejects.toMatchObject({
        code: "run_not_failed",
        data: { status: "parked" },
        message: expect.stringContaining("Use resume()."),
      });
    },
  },
};
