import { workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { expect, test } from "vitest";

test("the compensation of a step that ran out of time is told that its outcome is unknown", async () => {
  const told: string[] = [];
  const slow = workflow("slow", (ctx) =>
    ctx.step("charge", () => new Promise<never>(() => {}), {
      timeout: "5s",
      retry: "none",
      compensate: (_, c) => void told.push(c.outcome),
    }),
  );
  const t = await testEngine({ workflows: [slow] });
  await expect(t.run(slow)).rejects.toMatchObject({ cause: { kind: "Timeout" } });
  expect(told).toEqual(["unknown"]);
  await t.close();
});
