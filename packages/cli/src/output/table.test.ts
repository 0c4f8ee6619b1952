import { expect, test } from "vitest";
import { paintFor } from "./paint.ts";
import { type Column, tableLines } from "./table.ts";
import { cutEnd, cutLine, cutMiddle, harmless, oneLine, widthOf } from "./width.ts";

const plain = paintFor({ env: {} }, { write() {} });
const colored = paintFor({ env: {} }, { write() {}, isTTY: true });

interface Row {
  readonly id: string;
  readonly status: string;
  readonly note?: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "ID", value: ({ id }) => id, cut: "middle" },
  { title: "STATUS", value: ({ status }) => status, paint: (text) => colored.red(text) },
  { title: "NOTE", value: ({ note }) => note ?? "", cut: "end", optional: true },
];

test("a table is as wide as it must be, and leaves out a column that nobody fills", () => {
  const lines = tableLines([{ id: "a", status: "failed" }], COLUMNS, undefined, plain);
  expect(lines).toEqual(["ID  STATUS", `a   ${colored.red("failed")}`]);
});

test.each([26, 30, 40, 60])("a table of long texts fits into %d columns", (width) => {
  const row = {
    id: "0199c9a2-6a3e-7c4e-8b1e-2f3a4b5c6d7e",
    status: "failed",
    note: "the card network is busy ".repeat(3),
  };
  const lines = tableLines([row, { ...row, id: "o-1" }], COLUMNS, width, plain);
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
  // What can be cut shares the room: neither is cut to nothing.
  expect(lines[1]).toContain("…");
  expect(lines[1]).toContain("failed");
});

test.each([14, 20])("in %d columns, where no table fits, values stand below each other", (width) => {
  const row = { id: "0199c9a2-6a3e-7c4e-8b1e", status: "failed", note: "the card network is busy" };
  const lines = tableLines([row, { id: "o-1", status: "failed" }], COLUMNS, width, plain);
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
  expect(lines.map((line) => line.split(" ")[0])).toEqual(["ID", "STATUS", "NOTE", "", "ID", "STATUS"]);
});

test("an id is cut in the middle, and both of its ends stay", () => {
  expect(cutMiddle("0199c9a2-6a3e-7c4e", 9)).toBe("0199…7c4e");
  expect(cutMiddle("short", 9)).toBe("short");
  expect(cutEnd("card network", 6)).toBe("card …");
});

test("a colored line is cut to the width of the terminal, and its colors end with it", () => {
  const line = `${colored.red("abc")} ${colored.green("defgh")}`;
  expect(cutLine(line, 6)).toBe("\u001b[31mabc\u001b[39m \u001b[32md\u001b[0m…");
  expect(cutLine(line, 9)).toBe(line);
});

test("letters of East Asia count twice, combining marks and colors not at all", () => {
  expect(widthOf("注文")).toBe(4);
  expect(widthOf("e\u0301")).toBe(1);
  expect(widthOf(colored.red("abc"))).toBe(3);
  expect(widthOf(cutEnd("注文注文", 5))).toBeLessThanOrEqual(5);
});

test("values cannot move the cursor or color the terminal", () => {
  expect(oneLine("a\u001b[2Jb\nc\u0007")).toBe("a[2Jb c");
  expect(harmless("a\u001b]0;title\u0007b\nc")).toBe("a]0;titleb\nc");
});
