// The reference matches the doc comments, and every export is documented.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { brokenLinks } from "./guide/links.ts";
import { exportedNames } from "./reference/declarations.ts";
import { renderEvents } from "./reference/events.ts";
import { renderReference } from "./reference/pages.ts";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const folder = path.join(root, "docs", "reference");
const { pages, faults } = renderReference(root);

describe("the reference", () => {
  test.each([...pages.keys()])("%s is as the sources say (npm run docs writes it)", (file) => {
    expect(readFileSync(path.join(folder, file), "utf8")).toBe(pages.get(file));
  });

  test("docs/EVENTS.md is as the table of events says (npm run docs writes it)", () => {
    expect(readFileSync(path.join(root, "docs", "EVENTS.md"), "utf8")).toBe(renderEvents());
  });

  test("has no page that nothing is behind", () => {
    expect(readdirSync(folder).sort()).toEqual([...pages.keys()].sort());
  });

  test("finds a doc comment on everything, and a default on every option", () => {
    expect(faults).toEqual([]);
  });

  test.each([
    ["packages/holdfast/src/index.ts"],
    ["packages/holdfast/src/testing/index.ts"],
    ["packages/sqlite/src/index.ts"],
    ["packages/postgres/src/index.ts"],
  ])("names everything that %s exports", (entry) => {
    const text = [...pages.values()].join("\n");
    const names = exportedNames(path.join(root, entry));
    expect(names.length).toBeGreaterThan(4);
    expect(names.filter((name) => !text.includes(`### ${name}\n`) && !text.includes(`is a \`${name}\`.`))).toEqual([]);
  });

  test.each([...pages.keys()])("%s has no link that leads nowhere", (file) => {
    expect(brokenLinks(path.join(folder, file))).toEqual([]);
  });

  test("leaves out what only the compiler needs", () => {
    const text = [...pages.values()].join("\n");
    expect(text).toContain(
      "step<T>(name: string, fn: StepFunction<T>, options?: StepOptions<Stored<T>>): Promise<Stored<T>>",
    );
    expect(text.match(/Whole<|S extends string/)).toBeNull();
  });
});
