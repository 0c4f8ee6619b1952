import { expect, test } from "vitest";
import { workflow } from "../../src/define/definitions.ts";
import { testEngine } from "../../src/testing/test-engine.ts";

test("a step that may happen only once does not happen again when a race has failed and the run is tried again", async () => {
  const done: string[] = [];
  const failing = (name: string) => (): never => {
    done.push(name);
    throw new Error("not this time");
  };
  const contest = workflow({ name: "contest", retry: { attempts: 2, fixed: "1s" } }, (ctx) =>
    ctx.race({
      quick: (c) => c.step("quick", failing("quick"), { retry: "none" }),
      slow: async (c) => {
        await c.sleep("think", "10ms");
        await c.step("pay", () => void done.push("pay"), { onCrash: "fail", retry: "none" });
        await c.step("deliver", failing("deliver"), { retry: "none" });
      },
    }),
  );
  const t = await testEngine({ workflows: [contest] });
  await expect(t.run(contest)).rejects.toThrow();
  expect(done).toEqual(["quick", "pay", "deliver", "quick"]);
  await t.close();
});
