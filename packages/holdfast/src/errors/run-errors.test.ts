import { describe, expect, test } from "vitest";
import { HoldfastError } from "./holdfast-error.ts";
import { PARKED_ADVICE, parkedText, RunParkedError } from "./run-errors.ts";

describe("the error of a parked run", () => {
  test.each([
    ["A value cannot be read as JSON", "A value cannot be read as JSON."],
    ["It waits (for good)", "It waits (for good)."],
    ["It is done.", "It is done."],
    ["What?", "What?"],
    [undefined, "no reason was recorded."],
  ])("ends the sentence of its reason before it says what to do: %s", (reason, sentence) => {
    expect(parkedText(reason)).toBe(`${sentence} ${PARKED_ADVICE}`);
  });

  test("says what its cause says", () => {
    const cause = new HoldfastError("codec_failed", "The bytes are damaged");
    const { message } = new RunParkedError({ id: "a", runId: "r", workflow: "w", cause });
    expect(message).toBe(`Run "a" of workflow "w" (r) is parked: The bytes are damaged. ${PARKED_ADVICE}`);
  });
});
