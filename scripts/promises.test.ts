// docs/PROMISES.md says which test shows which promise. A title that no longer exists shows nothing.
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { brokenLinks } from "./guide/links.ts";
import { countLines, readRows, STATES, writtenCounts } from "./promises/page.ts";
import list from "./promises/promises.json" with { type: "json" };
import { testTitles } from "./promises/test-titles.ts";
import type { Source } from "./tidy/source.ts";
import { readTree } from "./tidy/tree.ts";

const PAGE = "docs/PROMISES.md";
const DECISIONS = "Decisions";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const sources = new Map(readTree(root).map((source) => [source.path, source]));
const page = sources.get(PAGE)?.text ?? "";
const rows = readRows(page);
const promises = rows.filter(({ feature }) => feature !== DECISIONS);

describe(PAGE, () => {
  test("has one row for each promise and each decision", () => {
    const items = [...list.documents.flatMap((document) => document.promises), ...list.decisions];
    expect(rows.map(({ item }) => item).sort()).toEqual(items.sort());
  });

  test("names the document that a promise comes from", () => {
    const documents = new Map(
      list.documents.flatMap(({ title, promises: items }) => items.map((item) => [item, title])),
    );
    expect(promises.filter(({ item, document }) => document !== documents.get(item))).toEqual([]);
  });

  test("has words in every row, a test for what is done, and for what is partly done also a note", () => {
    for (const { item, promise, state, note, tests } of rows) {
      expect(promise, item).toMatch(/^[A-Z`"].*\.$/);
      expect(STATES, item).toContain(state);
      expect(tests.length > 0, `${item} is ${state} and names ${tests.length} tests`).toBe(state !== "not yet");
      if (note !== "" || state === "partly") expect(note, item).toMatch(/^[A-Z`"].*\.$/);
    }
  });

  test("explains no row by another one, nor by a number", () => {
    const unclear = rows.filter(({ promise, note }) => /\b(?:[A-Z][A-Z0-9]|D)-\d+\b/.test(`${promise} ${note}`));
    expect(unclear.map(({ item }) => item)).toEqual([]);
  });

  test("names only tests that exist", () => {
    const missing = rows.flatMap(({ item, tests }) =>
      tests
        .filter(({ title, file }) => !titlesOf(sources.get(file)).includes(title))
        .map(({ title, file }) => `${item}: ${file} has no test “${title}”${whereElse(title)}`),
    );
    expect(missing).toEqual([]);
  });

  test("counts its rows by document and by feature", () => {
    const titles = list.documents.map(({ title }) => title);
    expect(writtenCounts(page)).toEqual(countLines(promises, titles));
  });

  test("has no link that leads nowhere", () => {
    expect(brokenLinks(path.join(root, PAGE))).toEqual([]);
  });
});

const known = new Map<Source, string[]>();

function titlesOf(source: Source | undefined): string[] {
  if (!source?.path.endsWith(".ts")) return [];
  const titles = known.get(source) ?? testTitles(source);
  known.set(source, titles);
  return titles;
}

/** A test that was moved keeps its title. */
function whereElse(title: string): string {
  const files = [...sources.values()].filter((source) => titlesOf(source).includes(title)).map((source) => source.path);
  return files.length === 0 ? "" : `; ${files.join(", ")} has`;
}
