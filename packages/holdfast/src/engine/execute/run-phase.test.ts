import { expect, test } from "vitest";
import type { ErrorRecord } from "../../model/error-record.ts";
import { RunPhase } from "./run-phase.ts";

const BROKEN: ErrorRecord = { name: "Error", message: "broken", kind: "Unknown" };

function shown(phase: RunPhase): string[] {
  const names = ["held", "here", "leaving", "rewinding", "suspended", "gone", "inTrouble", "explaining"] as const;
  return [...names.filter((name) => phase[name]), ...(phase.parkedWith ? ["parkedWith"] : [])];
}

test("a run that is held may take turns until something is wrong with it", () => {
  const phase = new RunPhase();
  expect(shown(phase)).toEqual(["held", "here"]);
  phase.explain();
  expect(shown(phase)).toEqual(["here", "inTrouble", "explaining"]);
  phase.park(BROKEN);
  expect(shown(phase)).toEqual(["here", "inTrouble", "parkedWith"]);
  phase.beginLeaving();
  expect(shown(phase)).toEqual(["here", "leaving", "inTrouble", "parkedWith"]);
  phase.leave();
  expect(shown(phase)).toEqual(["gone"]);
});

test("a run that the store keeps here goes back to what it was before it was let go of", () => {
  const phase = new RunPhase();
  phase.beginLeaving();
  expect(shown(phase)).toEqual(["here", "leaving"]);
  phase.stay();
  expect(shown(phase)).toEqual(["held", "here"]);
  phase.park(BROKEN);
  phase.beginLeaving();
  phase.stay();
  expect(phase.parkedWith).toBe(BROKEN);
});

test.each(["beginLeaving", "rewind"] as const)(
  "what goes wrong with a run during %s is what it goes back to",
  (begin) => {
    const phase = new RunPhase();
    phase[begin]();
    phase.explain();
    expect(phase.explaining).toBe(true);
    phase.park(BROKEN);
    expect(phase.held).toBe(false);
    phase.stay();
    expect(shown(phase)).toEqual(["here", "inTrouble", "parkedWith"]);
  },
);

test("a suspended run is not here, and is held again when it is claimed again", () => {
  const phase = new RunPhase();
  phase.beginLeaving();
  phase.suspend();
  expect(shown(phase)).toEqual(["suspended"]);
  phase.hold();
  expect(shown(phase)).toEqual(["held", "here"]);
});
