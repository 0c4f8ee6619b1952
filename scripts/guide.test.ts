// The code in docs/guide and in the README is compiled and executed as written, and must print what the guide says.
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Block } from "./guide/blocks.ts";
import { runNode, runPrograms } from "./guide/child-process.ts";
import { brokenLinks } from "./guide/links.ts";
import type { ProgramOutcome } from "./guide/program-runner.ts";
import { guideFolder, pageNames, projectReadme, readGuide, root, Workspace } from "./guide/workspace.ts";

/** At most one block in this many may be a fragment: code that is not executed is not known to work. */
const BLOCKS_PER_FRAGMENT = 10;
const PATIENCE_MS = 120_000;

const blocks = readGuide();
const workspace = new Workspace(blocks);
const ofKind = (kind: Block["kind"]) =>
  blocks.filter((block) => block.kind === kind).map((block) => [`${block.page}.md:${block.line}`, block] as const);

afterAll(() => workspace.remove());

describe("the guide", () => {
  test(
    "compiles under the settings of the repository",
    async () => {
      const tsc = path.join(root, "node_modules", "typescript", "bin", "tsc");
      const { stdout, stderr, end } = await runNode([tsc, "--project", workspace.folder]);
      expect(stdout + stderr).toBe("");
      expect(end).toBe(0);
    },
    PATIENCE_MS,
  );

  test("leaves next to nothing unexecuted", () => {
    expect(blocks.length).toBeGreaterThan(20);
    expect(ofKind("fragment").length).toBeLessThanOrEqual(blocks.length / BLOCKS_PER_FRAGMENT);
  });

  test("names every page in its index", () => {
    const index = readFileSync(path.join(guideFolder, "README.md"), "utf8");
    const unnamed = pageNames().filter((page) => page !== "README" && !index.includes(`](${page}.md)`));
    expect(unnamed).toEqual([]);
  });

  test.each(pageNames())("%s.md has no link that leads nowhere", (page) => {
    expect(brokenLinks(path.join(guideFolder, `${page}.md`))).toEqual([]);
  });

  test("begins at a README whose links lead somewhere", () => {
    expect(brokenLinks(projectReadme)).toEqual([]);
  });
});

describe("programs of the guide print what it says", () => {
  const programs = ofKind("program");
  let outcomes: ReadonlyMap<string, ProgramOutcome>;

  beforeAll(async () => {
    outcomes = await runPrograms(programs.map(([, block]) => workspace.pathOf(block)));
  }, PATIENCE_MS);

  test.each(programs)("%s", (_place, block) => {
    const outcome = outcomes.get(workspace.pathOf(block));
    expect(outcome?.fault).toBeUndefined();
    expect(outcome?.printed).toBe(block.output);
  });
});

describe("tests of the guide pass", () => {
  describe.each(ofKind("test"))("%s", async (_place, block) => {
    await import(/* @vite-ignore */ workspace.pathOf(block));
  });
});
