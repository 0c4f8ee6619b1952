import { expect, test } from "vitest";
import { checkFileNames } from "./file-names.ts";

function check(path: string): string[] {
  return checkFileNames({ path, text: "" }).map(({ message }) => message);
}

test.each([
  "packages/holdfast/src/model/run.ts",
  "packages/holdfast/src/engine/run-executor.test.ts",
  "packages/postgres/migrations/0001-initial.sql",
  "vitest.config.ts",
  "docs/ARCHITECTURE.md",
])("%s is fine", (path) => {
  expect(check(path)).toEqual([]);
});

test.each(["src/runExecutor.ts", "src/RunExecutor.ts", "src/run_executor.ts", "src/runHandle/run.ts", "src/run-.ts"])(
  "%s is not kebab-case",
  (path) => {
    expect(check(path)).toEqual([expect.stringContaining("is not kebab-case")]);
  },
);

test.each([
  "src/utils.ts",
  "src/helpers/run.ts",
  "src/common.ts",
  "src/types.ts",
  "src/lease-manager.ts",
  "src/test-utils.ts",
])("%s says nothing", (path) => {
  expect(check(path)).toEqual([expect.stringContaining("says nothing about its content")]);
});
