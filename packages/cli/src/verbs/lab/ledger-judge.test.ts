import { expect, test } from "vitest";
import { judge } from "./ledger-judge.ts";
import { type Effect, STEPS } from "./torture-run.ts";

const effects = (run: string, pid: number): Effect[] => STEPS.map((op) => ({ run, op, pid }));
const evidence = {
  started: ["r-0", "r-1"],
  outputs: new Map([
    ["r-0", 0],
    ["r-1", 5],
  ]),
  killed: new Set([7]),
};

test("a ledger in which every step was done once is without fault", () => {
  const found = judge({ ...evidence, effects: [...effects("r-0", 1), ...effects("r-1", 1)] });
  expect(found).toEqual({ runs: 2, effects: 10, repeated: 0, faults: [] });
});

test("a step may be done again if its worker was killed, and for no other reason", () => {
  const all = [...effects("r-0", 1), ...effects("r-1", 1)];
  const killed = judge({ ...evidence, effects: [{ run: "r-1", op: "b", pid: 7 }, ...all] });
  expect(killed).toMatchObject({ repeated: 1, faults: [] });
  const alive = judge({ ...evidence, effects: [{ run: "r-1", op: "b", pid: 3 }, ...all] });
  expect(alive.faults).toEqual(["Step b of run r-1 was done again, although process 3 was not killed."]);
});

test("a step that was never done, and a wrong output, are faults", () => {
  const missing = judge({ ...evidence, effects: [...effects("r-0", 1), ...effects("r-1", 1).slice(1)] });
  expect(missing.faults).toEqual(["Step a of run r-1 was recorded, but never done."]);
  const wrong = judge({ ...evidence, outputs: new Map(), effects: [...effects("r-0", 1), ...effects("r-1", 1)] });
  expect(wrong.faults).toHaveLength(2);
});
