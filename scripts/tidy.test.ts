// The house rules, checked over the whole repository. Each rule is in scripts/tidy, next to a test that it finds what
// it should and nothing else.
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { checkDeterminism } from "./tidy/determinism.ts";
import exceptions from "./tidy/exceptions.json" with { type: "json" };
import { checkFileNames } from "./tidy/file-names.ts";
import { checkImportCycles } from "./tidy/import-cycles.ts";
import { checkImportDirections } from "./tidy/import-directions.ts";
import { checkLeftovers } from "./tidy/leftovers.ts";
import { checkRelativeImports } from "./tidy/relative-imports.ts";
import { checkSizeExceptions, checkSizes } from "./tidy/sizes.ts";
import { checkSkippedTests } from "./tidy/skipped-tests.ts";
import { formatFinding, type Rule } from "./tidy/source.ts";
import { readTree } from "./tidy/tree.ts";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const sources = readTree(root);

const rules: readonly (readonly [title: string, rule: Rule])[] = [
  ["imports point downwards only", checkImportDirections],
  ["every relative import ends in .ts", checkRelativeImports],
  ["time and randomness come from the ports", checkDeterminism],
  ["files and functions keep to their size", (source) => checkSizes(source, exceptions)],
  ["no test is focused, and none is skipped without a reason", checkSkippedTests],
  ["files are named in kebab-case for the noun they export", checkFileNames],
  ["nothing of one machine or of an unfinished change is left", checkLeftovers],
];

describe("the repository", () => {
  test("is read from its root", () => {
    expect(sources.map((source) => source.path)).toEqual(
      expect.arrayContaining(["package.json", "package-lock.json", "scripts/tidy.test.ts", ".npmrc", ".ci/run"]),
    );
  });

  test.each(rules)("%s", (_title, rule) => {
    expect(sources.flatMap(rule).map(formatFinding)).toEqual([]);
  });

  test("no file imports itself through others", () => {
    expect(checkImportCycles(sources).map(formatFinding)).toEqual([]);
  });

  test("the list of size exceptions names only what exists", () => {
    expect(checkSizeExceptions(sources, exceptions).map(formatFinding)).toEqual([]);
  });
});
