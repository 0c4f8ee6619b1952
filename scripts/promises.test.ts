// docs/PROMISES.md says which test shows which item of the checklist. A title that no longer exists shows nothing.
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { testTitles } from "./promises/test-titles.ts";
import { readTree } from "./tidy/tree.ts";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const sources = new Map(readTree(root).map((source) => [source.path, source]));

/** The items that the document answers for, as ranges of numbers. */
const ITEMS: Readonly<Record<string, readonly (readonly [first: number, last: number])[]>> = {
  K2: [[1, 102]],
  SE: [
    [2, 6],
    [8, 8],
    [11, 20],
    [26, 33],
    [102, 105],
    [129, 130],
  ],
  WM: [
    [1, 1],
    [6, 6],
    [8, 10],
    [18, 33],
    [41, 44],
  ],
  KS: [
    [3, 19],
    [21, 25],
    [28, 59],
    [64, 68],
    [80, 105],
    [132, 133],
    [136, 137],
  ],
  D: [[17, 19]],
};

/** Decisions have two digits, everything else has three. */
function itemOf(prefix: string, number: number): string {
  return `${prefix}-${String(number).padStart(prefix === "D" ? 2 : 3, "0")}`;
}

const rows = (sources.get("docs/PROMISES.md")?.text ?? "")
  .split("\n")
  .filter((line) => /^\| [A-Z0-9]+-\d+ \|/.test(line))
  .map((line) => {
    const cells = line.split("|").map((cell) => cell.trim());
    const [, item = "", promise = "", shownBy = "", files = "", remarks = ""] = cells;
    return { item, promise, titles: listOf(shownBy), files: listOf(files), remarks, cells: cells.length };
  });

function listOf(cell: string): string[] {
  return cell === "—" ? [] : cell.split("<br>").map((part) => part.trim().replaceAll("`", ""));
}

function pathOf(file: string): string {
  return /^(?:packages|scripts)\//.test(file) ? file : `packages/holdfast/test/${file}`;
}

describe("docs/PROMISES.md", () => {
  test("has one row for each item", () => {
    const items = Object.entries(ITEMS).flatMap(([prefix, ranges]) =>
      ranges.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, i) => itemOf(prefix, first + i))),
    );
    expect(rows.map(({ item }) => item)).toEqual(items);
  });

  test("has a promise in every row, and a test unless the remarks say that it is still to come", () => {
    for (const { item, promise, titles, files, remarks, cells } of rows) {
      expect(cells, item).toBe(7);
      expect(promise, item).not.toBe("");
      expect(files.length, item).toBe(titles.length);
      if (titles.length === 0) expect(remarks, item).toMatch(/^Not yet/);
    }
  });

  test("names only tests that exist", () => {
    const missing = rows.flatMap(({ item, titles, files }) =>
      titles.flatMap((title, i) => {
        const file = pathOf(files[i] ?? "");
        const source = sources.get(file);
        if (source === undefined) return [`${item}: there is no file ${file}`];
        return testTitles(source).includes(title) ? [] : [`${item}: ${file} has no test “${title}”`];
      }),
    );
    expect(missing).toEqual([]);
  });
});
