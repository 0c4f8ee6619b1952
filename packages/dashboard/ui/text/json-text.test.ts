import { expect, test } from "vitest";
import { parseJsonText } from "./json-text.ts";

test("what is right is a value, and nothing is no value", () => {
  expect(parseJsonText('{"a":[1,true,null,"x"]}')).toEqual({ ok: true, value: { a: [1, true, null, "x"] } });
  expect(parseJsonText("  ")).toEqual({ ok: true, value: undefined });
});

test.each([
  ['{\n  "a": x\n}', 2, 8, "a value expected"],
  ['{"a": 1,}', 1, 9, "a name in double quotes expected"],
  ["[1 2]", 1, 4, '"," or "]" expected'],
  ['{"a" 1}', 1, 6, '":" expected'],
  ["[1,\n2", 2, 2, "but the text ends"],
  ["1 2", 1, 3, "the end expected"],
  ['{"a": "b\nc"}', 1, 7, "a value expected"],
  ["{a: 1}", 1, 2, "a name in double quotes"],
])("%j is wrong in line %i, column %i", (text, line, column, message) => {
  const parsed = parseJsonText(text);
  expect(parsed).toMatchObject({ ok: false, mistake: { line, column } });
  expect(parsed.ok ? "" : parsed.mistake.message).toContain(message);
});

test("deep brackets do not end the page", () => {
  expect(parseJsonText("[".repeat(100_000))).toMatchObject({ ok: false, mistake: { line: 1, column: 100_001 } });
});
