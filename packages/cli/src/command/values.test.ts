import { expect, test } from "vitest";
import { timeOf } from "./values.ts";

const now = Date.parse("2026-03-01T12:00:00Z");

test.each([
  ["2h", "ago", "2026-03-01T10:00:00.000Z"],
  ["2h", "ahead", "2026-03-01T14:00:00.000Z"],
  ["+2h", "ago", "2026-03-01T14:00:00.000Z"],
  ["-2h", "ahead", "2026-03-01T10:00:00.000Z"],
  ["1.5d", "ahead", "2026-03-03T00:00:00.000Z"],
  ["2026-04-01", "ago", "2026-04-01T00:00:00.000Z"],
] as const)("%s of an option that looks %s is %s", (text, direction, time) => {
  expect(timeOf(text, "--at", now, direction).toISOString()).toBe(time);
});

test("what is no time is refused with an example of the direction", () => {
  expect(() => timeOf("soon", "--at", now, "ahead")).toThrow(/--at is "soon".*2h for in two hours/);
  expect(() => timeOf("1", "--after", now, "ago")).toThrow(/2h for two hours ago/);
});
