import { expect, test } from "vitest";
import { inWireWords } from "./wire-words.ts";

test.each([
  ["start: queue is 7.", { where: "start", option: "queue" }, "task_queue is 7."],
  ["start: startAt is 7.", { where: "start", option: "startAt" }, "start_at is 7."],
  ["s: catchUp.max is -3.", { where: "s", option: "catchUp.max" }, "max_catchup is -3."],
  ["s: cron[1] is odd.", { where: "s", option: "cron[1]" }, "cron_expr is odd."],
  [
    "list: the cursor was not returned by list().",
    { where: "list", option: "the cursor" },
    "page_token was not returned with an earlier page.",
  ],
  ["It is paused. handle.resume() lets it continue.", {}, "It is paused. ResumeWorkflow lets it continue."],
  ['Change it with hf.schedules.update("a", …).', {}, "Change it with UpdateWorkflowSchedule."],
  ["hf.queues() shows what waits.", {}, "GetQueueDepth shows what waits."],
  ['step "mail": timeout is 0.', { where: 'step "mail"', option: "timeout" }, 'step "mail": timeout_ms is 0.'],
  [
    "tasks.complete: the token is a text that is not a token; t.token and hf.tasks.list() return tokens.",
    { where: "tasks.complete", option: "the token" },
    "task_token is a text that is not a token; PollTask answers with tokens.",
  ],
  [
    'handle.terminate() ends it, and result({ onParked: "wait" }) waits.',
    {},
    "TerminateWorkflow ends it, and AwaitWorkflow waits.",
  ],
  ["The run does not exist.", { id: "queue" }, "The run does not exist."],
])("%s", (text, data, expected) => {
  expect(inWireWords(text, data)).toBe(expected);
});
