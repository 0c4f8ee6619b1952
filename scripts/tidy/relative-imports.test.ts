import { expect, test } from "vitest";
import { checkRelativeImports } from "./relative-imports.ts";

function check(text: string): string[] {
  return checkRelativeImports({ path: "examples/order/main.ts", text }).map(
    ({ line, message }) => `${line}: ${message}`,
  );
}

test.each([
  `import { a } from "./a.ts";`,
  `import { a } from "holdfast";`,
  `import a from "./a.json" with { type: "json" };`,
  `import { startServers } from "../../scripts/test-servers.mjs";`,
])("%j is fine", (text) => {
  expect(check(text)).toEqual([]);
});

test.each([
  `import { a } from "./a";`,
  `import { a } from "./a.js";`,
  `import type { A } from "..";`,
  `export * from "../a/index";`,
  `await import("./a.mjs");`,
])("%j must end in .ts", (text) => {
  expect(check(text)).toEqual([expect.stringContaining("ending in .ts")]);
});

test("styles are imported by the pages of the dashboard only", () => {
  const text = `import styles from "./page.module.css";`;
  expect(check(text)).toHaveLength(1);
  expect(checkRelativeImports({ path: "packages/dashboard/ui/pages/run/run-page.tsx", text })).toEqual([]);
});
