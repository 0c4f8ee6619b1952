import { expect, test } from "vitest";
import { nameOf, rowsOf } from "./run-grid.ts";

const statuses = ["completed", "failed", "running"];
type Cell = readonly [number, number, number, number] | null;
const done = (ms: number, attempts = 1): Cell => [0, attempts, ms, 1];
const failed = (ms: number, attempts = 1): Cell => [1, attempts, ms, 1];

test("each op is a row and each run a column", () => {
  const rows = rowsOf(
    {
      ops: ["x", "y"],
      cells: [
        [done(1), done(2)],
        [done(1), null],
      ],
      statuses,
    },
    "op",
  );
  expect(rows.map(({ op }) => op)).toEqual(["x", "y"]);
  expect(rows[1]?.cells.map((cell) => cell?.status ?? "-")).toEqual(["completed", "-"]);
});

test("a row counts failures and retries, and knows its median", () => {
  const rows = rowsOf({ ops: ["x"], cells: [[failed(30, 3)], [done(10)], [done(20, 2)]], statuses }, "op");
  expect(rows[0]).toMatchObject({ failed: 1, retried: 2, medianMs: 20 });
  expect(rows[0]?.cells.map((cell) => cell?.share)).toEqual([1, 1 / 3, 2 / 3]);
});

test("an op that nobody has measured has no bar", () => {
  const rows = rowsOf({ ops: ["x"], cells: [[[2, 1, -1, 4]]], statuses }, "op");
  expect(rows[0]).toMatchObject({ medianMs: null, cells: [{ ms: null, share: 0, status: "running" }] });
});

test("ops of a name are folded into one row, and the worst of them is shown and opened", () => {
  const ops = ["begin", "item", "item#2", "item#3"];
  const rows = rowsOf({ ops, cells: [[done(1), done(5), failed(7, 3), null]], statuses }, "name");
  expect(rows.map(({ op }) => op)).toEqual(["begin", "item"]);
  expect(rows[1]?.cells[0]).toMatchObject({ op: "item#2", status: "failed", count: 2, attempts: 4, ms: 12 });
  expect(rows[1]?.retried).toBe(1);
});

test("names are ids without their number", () => {
  const names = ["charge", "charge#2", "a#b", "receive:paid#13"].map(nameOf);
  expect(names).toEqual(["charge", "charge", "a#b", "receive:paid"]);
});

test("an index that the server does not explain breaks nothing", () => {
  expect(rowsOf({ ops: ["x"], cells: [[[9, 1, 1, 1]]], statuses }, "op")[0]?.cells[0]?.status).toBe("unknown");
  expect(rowsOf({ ops: [], cells: [], statuses }, "op")).toEqual([]);
});
