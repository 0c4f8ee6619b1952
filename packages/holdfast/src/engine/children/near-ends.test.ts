import { expect, test } from "vitest";
import type { HistoryEvent } from "../../model/event.ts";
import { type EndDebt, ToldEnds } from "./near-ends.ts";

const PARENT = { namespace: "default", runId: "parent" };

function debtOf(op: string): EndDebt {
  return { debtNo: 1, runId: op, parent: { ...PARENT, op } } as unknown as EndDebt;
}

function ended(op: string): HistoryEvent {
  return { seq: 1, type: "child_completed", op, at: 0 };
}

/** What is paid: with the parent if it is still to be told. */
function toldEnds(...ops: string[]) {
  const paid: string[] = [];
  const told = new ToldEnds(({ runId, parent }) => paid.push(parent ? `${runId}, told` : runId));
  for (const op of ops) told.add(op, debtOf(op));
  return { told, paid };
}

test("an end that the parent has recorded is crossed out, one that waits for its commit is left", () => {
  const { told, paid } = toldEnds("a", "b", "c");
  // b is delivered to the code and not written yet, c is still to be delivered.
  told.written([ended("a")], [ended("b")], (op) => op === "c");
  expect(paid).toEqual(["a"]);
  told.written([ended("b")], [ended("c")], () => false);
  told.written([ended("c")], [], () => false);
  expect(paid).toEqual(["a", "b", "c"]);
});

test("an end that no op waits for, and no event records, is sent", () => {
  const { told, paid } = toldEnds("a", "b");
  const started: HistoryEvent = { seq: 1, type: "child_started", op: "a", at: 0 };
  told.written([], [started], (op) => op === "b");
  expect(paid).toEqual(["a, told"]);
  told.payAll();
  expect(paid).toEqual(["a, told", "b, told"]);
});
