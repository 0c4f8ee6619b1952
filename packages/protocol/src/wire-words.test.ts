import { expect, test } from "vitest";
import { inWireWords } from "./wire-words.ts";

test.each([
  ["start: queue is 7.", { where: "start", option: "queue" }, "start: task_queue is 7."],
  ["start: startAt is 7.", { where: "start", option: "startAt" }, "start: start_at is 7."],
  ["s: catchUp.max is -3.", { where: "s", option: "catchUp.max" }, "s: max_catchup is -3."],
  ["s: cron[1] is odd.", { where: "s", option: "cron[1]" }, "s: cron_expr is odd."],
  [
    "list: the cursor was not returned by list().",
    { where: "list", option: "the cursor" },
    "list: page_token was not returned with an earlier page.",
  ],
  ["It is paused. handle.resume() lets it continue.", {}, "It is paused. ResumeWorkflow lets it continue."],
  ['Change it with hf.schedules.update("a", …).', {}, "Change it with UpdateWorkflowSchedule."],
  ["hf.queues() shows what waits.", {}, "GetQueueDepth shows what waits."],
  ["The run does not exist.", { id: "queue" }, "The run does not exist."],
])("%s", (text, data, expected) => {
  expect(inWireWords(text, data)).toBe(expected);
});
