import { describe, expect, test } from "vitest";
import { countLines, readRows, testLink, writtenCounts } from "./page.ts";

const page = `
| document | what it describes | promises | done | partly | not yet |
|---|---|---:|---:|---:|---:|
| One | something | 2 | 1 | 0 | 1 |
| Two | something else | 1 | 0 | 1 | 0 |
| **all five** | | **3** | **1** | **1** | **1** |

| feature | promises | done | partly | not yet |
|---|---:|---:|---:|---:|
| [Sleeps](#sleeps) | 2 | 1 | 0 | 1 |
| [Steps](#steps) | 1 | 0 | 1 | 0 |
| **all** | **3** | **1** | **1** | **1** |

## Sleeps

| item | promise | document | state | note | shown by |
|---|---|---|---|---|---|
| A-001 | It sleeps. | One | done | | [sleeps › in \\[0, 1)](../a.test.ts)<br>[sleeps](../b.test.ts) |
| A-002 | It dreams. | One | not yet | | |

## Steps

| item | promise | document | state | note | shown by |
|---|---|---|---|---|---|
| B-001 | It walks. | Two | partly | Not far. | [walks](../b.test.ts) |

## Decisions

| item | decision | state | note | shown by |
|---|---|---|---|---|
| D-01 | It rests. | partly | Not long. | [rests](../b.test.ts) |
`;

describe("a row", () => {
  test("is read with the feature that it stands under, and its tests by title and file", () => {
    expect(readRows(page)[0]).toEqual({
      item: "A-001",
      feature: "Sleeps",
      promise: "It sleeps.",
      document: "One",
      state: "done",
      note: "",
      tests: [
        { title: "sleeps › in [0, 1)", file: "a.test.ts" },
        { title: "sleeps", file: "b.test.ts" },
      ],
    });
  });

  test("of a decision has no document", () => {
    expect(readRows(page).at(-1)).toMatchObject({
      item: "D-01",
      document: undefined,
      state: "partly",
      note: "Not long.",
    });
  });

  test("with a cell too many, or with a test that is no link, is refused by its item", () => {
    expect(() => readRows("| A-001 | It | sleeps. | One | done | | |")).toThrowError("A-001: a row has 6 cells");
    expect(() => readRows("| A-001 | It sleeps. | One | done | | sleeps |")).toThrowError("A-001: tests are links");
  });
});

test("a title is linked so that a table can hold it", () => {
  expect(testLink("a [b] <c> | *d*", "x.test.ts")).toBe("[a \\[b\\] \\<c\\> \\| \\*d\\*](../x.test.ts)");
});

describe("the counts", () => {
  const rows = readRows(page).filter(({ document }) => document !== undefined);

  test("of a page that is right are those of its rows", () => {
    expect(writtenCounts(page)).toEqual(countLines(rows, ["One", "Two"]));
  });

  test("differ when a row has changed its state", () => {
    const changed = readRows(page.replace("| not yet | | |", "| partly | | |")).filter(
      (row) => row.document !== undefined,
    );
    expect(writtenCounts(page)).not.toEqual(countLines(changed, ["One", "Two"]));
  });
});
