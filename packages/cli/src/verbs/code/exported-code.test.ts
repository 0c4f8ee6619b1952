import { task, workflow } from "holdfast";
import { expect, test } from "vitest";
import { codeText } from "./exported-code.ts";

test("what a file exports is counted and named, and versions are told apart", () => {
  const order = (version: string) => workflow({ name: "order", version }, async () => 1);
  const workflows = [order("1"), order("2"), workflow("refund", async () => 1)];
  const mail = task("mail", async () => 1);
  expect(codeText({ workflows, tasks: [mail] })).toBe("3 workflows (order@1, order@2, refund) and 1 task (mail)");
  expect(codeText({ workflows: [], tasks: [mail] })).toBe("1 task (mail)");
});
