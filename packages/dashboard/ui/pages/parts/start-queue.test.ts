import { expect, test } from "vitest";
import { startQueue } from "./start-queue.ts";

const worker = (queues: string[], health: "healthy" | "unhealthy" = "healthy") => ({
  health,
  queues,
  workflows: ["mail@1"],
});

test("the queue of a living worker that has the workflow is offered, unless the default will do", () => {
  expect(startQueue("mail", [worker(["bulk"])])).toBe("bulk");
  expect(startQueue("mail", [worker(["bulk"]), worker(["default"])])).toBe("");
  expect(startQueue("mail", [worker(["bulk"], "unhealthy")])).toBe("");
  expect(startQueue("mai", [worker(["bulk"])])).toBe("");
});
