import { expect, test } from "vitest";
import { healthLines } from "./health-lines.ts";

const dead = (name: string, seconds: number): string =>
  `Worker ${name} is offline; its last heartbeat is ${seconds} s old.`;

test("three workers are named, the others counted; what else is wrong stays", () => {
  const reasons = ["a", "b", "c", "d", "e"].map((name) => dead(name, 542));
  const { lines, moreWorkers } = healthLines([...reasons, "3 timers are late, the worst by 2m."]);
  expect(moreWorkers).toBe(2);
  expect(lines).toEqual([
    ...["a", "b", "c"].map((name) => `Worker ${name} is offline; its last heartbeat is 9 m old.`),
    "3 timers are late, the worst by 2m.",
  ]);
});

test("ages are as precise as a person needs", () => {
  expect(healthLines([dead("a", 59), dead("b", 7_300)]).lines).toEqual([
    "Worker a is offline; its last heartbeat is 59 s old.",
    "Worker b is offline; its last heartbeat is 2 h 1 m old.",
  ]);
  expect(healthLines(["No worker is online; the last one left 130 s ago."])).toEqual({
    lines: ["No worker is online; the last one left 2 m ago."],
    moreWorkers: 0,
  });
});
