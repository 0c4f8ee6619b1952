import { expect, test } from "vitest";
import type { Timeline } from "../../../src/api/api-messages.ts";
import { criticalMs, mergedOps, nameOfOp, opsOf, type TimelineOp } from "./timeline-ops.ts";
import { barsOf, rowsOf } from "./timeline-rows.ts";

const COLUMNS: Timeline = {
  runId: "r",
  status: "waiting",
  createdAt: 1000,
  startedAt: 1000,
  endedAt: null,
  now: 9000,
  seq: 9,
  partial: false,
  op: ["charge", "reserve", "approve"],
  kind: [0, 1, 2],
  state: [1, 1, 0],
  asked: [0, 0, 5600],
  began: [4000, 400, -1],
  ended: [4600, 1500, -1],
  due: [-1, -1, -1],
  attempts: [2, 1, 0],
  after: [0, 0, 7],
  first: [1, 2, -1],
  last: [6, 4, -1],
  worker: [0, 0, -1],
  group: [-1, -1, -1],
  kinds: ["step", "task", "receive"],
  statuses: ["waiting", "completed"],
  workers: ["eu-1"],
  groups: [],
  failures: { of: [0], began: [10], ended: [1200], retry: [4000], seq: [3] },
  runs: { of: [], run: [] },
  critical: [0, 2],
  expected: [],
};

test("columns become ops, and what is unknown stays unknown", () => {
  const [charge, , approve] = opsOf(COLUMNS);
  expect(charge).toMatchObject({ op: "charge", kind: "step", state: "completed", worker: "eu-1", critical: true });
  expect(charge?.failures).toEqual([{ began: 10, ended: 1200, retry: 4000, seq: 3 }]);
  expect(approve).toMatchObject({ state: "waiting", began: undefined, worker: undefined });
});

test("bars are the wait in the queue, each attempt, the backoff, and what goes on", () => {
  const [charge, reserve, approve] = opsOf(COLUMNS) as [TimelineOp, TimelineOp, TimelineOp];
  expect(barsOf(charge, 8000).map(({ kind, from, to }) => [kind, from, to])).toEqual([
    ["queued", 0, 10],
    ["failed", 10, 1200],
    ["backoff", 1200, 4000],
    ["done", 4000, 4600],
  ]);
  expect(barsOf(reserve, 8000).map(({ kind }) => kind)).toEqual(["queued", "done"]);
  expect(barsOf(approve, 8000)).toEqual([{ kind: "wait", from: 5600, to: 8000, critical: true }]);
});

test("what comes later replaces ops of the same name and follows the others", () => {
  const old = opsOf(COLUMNS);
  const later = old.slice(2).map((op) => ({ ...op, state: "completed", ended: 9000, critical: false }));
  const merged = mergedOps(old, [...later, { ...later[0], op: "label" } as TimelineOp]);
  expect(merged.map(({ op, state }) => `${op} ${state}`)).toEqual([
    "charge completed",
    "reserve completed",
    "approve completed",
    "label completed",
  ]);
  expect(merged[2]?.critical).toBe(true);
});

test("the critical path counts time once", () => {
  expect(criticalMs(opsOf(COLUMNS), 8000)).toBe(4600 + 2400);
});

test("rows merge by name above the limit, or when asked to", () => {
  expect(nameOfOp("charge#12")).toBe("charge");
  const many = Array.from({ length: 6000 }, (_, index) => ({ ...opsOf(COLUMNS)[0], op: `s#${index}` }) as TimelineOp);
  expect(rowsOf(many, "op")).toHaveLength(1);
  expect(rowsOf(opsOf(COLUMNS), "op").map(({ name }) => name)).toEqual(["charge", "reserve", "approve"]);
});
