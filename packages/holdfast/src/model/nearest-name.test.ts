import { expect, test } from "vitest";
import { nearestName } from "./nearest-name.ts";

const OPTIONS = ["schema", "timeout", "retry", "retryIf", "id", "onCrash", "ifRunning"];

test.each([
  ["shema", "schema"],
  ["tiemout", "timeout"],
  ["Timeout", "timeout"],
  ["retryif", "retryIf"],
  ["retrys", "retry"],
  ["ifRuning", "ifRunning"],
  ["on_crash", "onCrash"],
])("%s is probably %s", (given, meant) => {
  expect(nearestName(given, OPTIONS)).toBe(meant);
});

test.each(["workflow", "x", "", "z".repeat(5_000)])("%s is none of them", (given) => {
  expect(nearestName(given, OPTIONS)).toBeUndefined();
});
