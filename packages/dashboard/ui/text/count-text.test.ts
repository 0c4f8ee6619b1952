import { expect, test } from "vitest";
import { cappedText, countOf } from "./count-text.ts";

test("one run is no runs", () => {
  expect([0, 1, 12_480].map((count) => countOf(count, "run"))).toEqual(["0 runs", "1 run", "12,480 runs"]);
});

test("a count that stopped early says so", () => {
  expect([cappedText(1_000, true), cappedText(7)]).toEqual(["1,000+", "7"]);
});
