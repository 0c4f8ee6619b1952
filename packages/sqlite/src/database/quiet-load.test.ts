import process from "node:process";
import { expect, onTestFinished, test, vi } from "vitest";
import { loadQuietly } from "./quiet-load.ts";

function watchedWarnings() {
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  onTestFinished(() => warn.mockRestore());
  return warn;
}

test("the warning that SQLite is experimental is not shown, any other one is", () => {
  const warn = watchedWarnings();
  const loaded = loadQuietly(() => {
    process.emitWarning("SQLite is an experimental feature and might change at any time", "ExperimentalWarning");
    process.emitWarning("Something else is experimental", "ExperimentalWarning");
    process.emitWarning(new Error("an error as a warning"));
    return "driver";
  });
  expect(loaded).toBe("driver");
  expect(warn.mock.calls).toEqual([
    ["Something else is experimental", "ExperimentalWarning"],
    [new Error("an error as a warning")],
  ]);
});

test("warnings are what they were once it is loaded, or could not be", () => {
  const warn = watchedWarnings();
  const before = process.emitWarning;
  expect(() =>
    loadQuietly(() => {
      throw new Error("no such module");
    }),
  ).toThrow("no such module");
  expect(process.emitWarning).toBe(before);
  process.emitWarning("SQLite is an experimental feature");
  expect(warn).toHaveBeenCalledTimes(1);
});
