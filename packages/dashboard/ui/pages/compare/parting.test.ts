import { expect, test } from "vitest";
import type { ComparedOp, ComparedSide } from "../../../src/api/api-messages.ts";
import { describeParting, differenceText, isParting, slower } from "./parting.ts";

const NONE = { form: "none", text: "", truncated: false, bytes: 0 } as const;
const side = (over: Partial<ComparedSide> = {}): ComparedSide => ({
  status: "completed",
  attempts: 1,
  ms: 10,
  result: NONE,
  error: null,
  seq: 1,
  ...over,
});
const row = (over: Partial<ComparedOp> = {}): ComparedOp => ({
  op: "charge",
  kind: "step",
  a: side(),
  b: side(),
  differs: [],
  ...over,
});

test("each way to part has its sentence", () => {
  const say = (over: Partial<ComparedOp>) => describeParting({ rows: [row(over)], parts: 0, total: 1 });
  expect(say({ a: null, differs: ["missing"] })).toBe("They part at charge: only B does it.");
  expect(say({ b: null, differs: ["missing"] })).toBe("They part at charge: only A does it.");
  expect(say({ differs: ["result"] })).toBe("They part at charge: another result.");
  expect(say({ a: side({ status: "failed", attempts: 3 }), differs: ["status", "attempts"] })).toBe(
    "They part at charge: failed in A, completed in B, 3 and 1 attempts.",
  );
});

test("runs that are alike say so, and so do runs that have not begun", () => {
  expect(describeParting({ rows: [row()], parts: null, total: 1 })).toBe("They do the same, with the same results.");
  expect(describeParting({ rows: [], parts: null, total: 0 })).toBe("Neither has done anything yet.");
});

test("a parting on another page is named by its row", () => {
  expect(describeParting({ rows: [], parts: 4, total: 2_000 }, 1_000)).toBe("They part at row 5.");
});

test("more attempts alone are told and are not a parting", () => {
  const retried = row({ a: side({ attempts: 2 }), differs: ["attempts"] });
  expect(differenceText(retried)).toBe("2 and 1 attempts");
  expect(isParting(retried)).toBe(false);
  expect(isParting(row({ differs: ["result"] }))).toBe(true);
  expect(isParting(row({ a: null }))).toBe(true);
});

test("how much slower is known if both were measured", () => {
  expect(slower(row({ b: side({ ms: 25 }) }))).toBe(15);
  expect(slower(row({ a: side({ ms: null }) }))).toBeNull();
  expect(slower(row({ b: null }))).toBeNull();
});
