import { expect, test } from "vitest";
import { loadFallback } from "./driver.ts";

test("a Node without SQLite and without the package that stands in for it gets an error that says what to install, and why", async () => {
  const cause = new Error("Cannot find package '@holdfast/sqlite-node20'");
  const { message } = await loadFallback(() => Promise.reject(cause)).then(
    () => expect.unreachable(),
    (error: Error) => {
      expect(error).toMatchObject({ code: "adapter_not_installed", cause });
      return error;
    },
  );
  expect(message).toContain(`Node ${process.versions.node} has no node:sqlite`);
  expect(message).toContain("cannot be loaded: Cannot find package '@holdfast/sqlite-node20'");
  expect(message).toContain("Use Node 22.13 or later, or run: npm install @holdfast/sqlite-node20");
});
