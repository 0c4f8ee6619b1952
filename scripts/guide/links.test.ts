import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { anchorsOf, brokenLinks } from "./links.ts";

test("headings have the anchors that GitHub gives them", () => {
  const markdown = "# What, and why?\n\n```sh\n# no heading\n```\n\n## `result()` of a run\n### Größe_1 – x";
  expect(anchorsOf(markdown)).toEqual(["what-and-why", "result-of-a-run", "größe_1--x"]);
});

test("links to missing files and headings are found, others are not", () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "holdfast-links-"));
  const file = path.join(folder, "a.md");
  const good = "[1](b.md) [2](b.md#two-words) [3](#here) [4](https://example.com/x) [5](.)";
  writeFileSync(path.join(folder, "b.md"), "## Two words\n");
  writeFileSync(file, `# Here\n\n${good} [6](c.md) [7](b.md#three) [8](#there)\n\n\`\`\`ts\n[x](code.md)\n\`\`\`\n`);
  expect(brokenLinks(file)).toEqual(["c.md", "b.md#three", "#there"]);
  rmSync(folder, { recursive: true });
});
