import { describe, expect, test } from "vitest";
import { checkImportCycles } from "./import-cycles.ts";

function found(files: Readonly<Record<string, string>>): string[] {
  const sources = Object.entries(files).map(([file, text]) => ({ path: `packages/holdfast/${file}`, text }));
  return checkImportCycles(sources).map(({ path, message }) => `${path}: ${message}`);
}

describe("import cycles", () => {
  test("are found through other files, once each, and told with their way", () => {
    const files = {
      "src/b/b.ts": `import { c } from "../c.ts";`,
      "src/a.ts": `import { b } from "./b/b.ts";`,
      "src/c.ts": `import { a } from "./a.ts";`,
    };
    expect(found(files)).toEqual([
      "packages/holdfast/src/a.ts: imports itself: a.ts → b.ts → c.ts → a.ts; move what both need down, or pass it in",
    ]);
  });

  test("count also where only types are imported, or passed on", () => {
    const files = { "src/a.ts": `import type { B } from "./b.ts";`, "src/b.ts": `export { a } from "./a.ts";` };
    expect(found(files)).toHaveLength(1);
  });

  test("are not made by two ways to the same file, by tests, or by other packages", () => {
    const files = {
      "src/a.ts": `import { b } from "./b.ts"; import { c } from "./c.ts"; import { d } from "holdfast";`,
      "src/b.ts": `import { c } from "./c.ts";`,
      "src/c.ts": "export const c = 1;",
      "src/a.test.ts": `import { a } from "./a.ts";`,
    };
    expect(found(files)).toEqual([]);
  });
});
