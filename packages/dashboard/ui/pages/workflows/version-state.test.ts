import { expect, test } from "vitest";
import { shareText, startShare, stateOf, type VersionFacts } from "./version-state.ts";

const facts = (over: Partial<VersionFacts>): VersionFacts => ({
  version: "1",
  isDefault: false,
  share: 0,
  deprecated: false,
  open: 0,
  workers: 1,
  ...over,
});

test("a version that nothing needs is safe to remove", () => {
  expect(stateOf(facts({}), false)).toEqual({ safeToRemove: true, reasons: [], unserved: false });
});

test("each thing that needs a version is named", () => {
  const say = (over: Partial<VersionFacts>, only = false) => stateOf(facts(over), only).reasons;
  expect(say({ open: 1 })).toEqual(["1 open run"]);
  expect(say({ open: 10_000, openIsCapped: true })).toEqual(["10,000+ open runs"]);
  expect(say({ isDefault: true }, true)).toEqual(["new runs get it"]);
  expect(say({}, true)).toEqual(["it is the only version"]);
  expect(say({ share: 0.05 })).toEqual(["it is the canary of 5 % of the starts"]);
  expect(say({ schedules: 2 })).toEqual(["2 schedules name it"]);
});

test("deprecated alone does not make it safe, and none of these needs a worker", () => {
  expect(stateOf(facts({ deprecated: true, open: 2 }), false).safeToRemove).toBe(false);
  expect(stateOf(facts({ workers: 0 }), false).unserved).toBe(false);
});

test("open runs without a worker are unserved", () => {
  expect(stateOf(facts({ open: 3, workers: 0 }), false).unserved).toBe(true);
});

test("the canary takes its share from the default", () => {
  const versions = [
    { version: "1", isDefault: true, share: 0 },
    { version: "2", isDefault: false, share: 0.05 },
    { version: "3", isDefault: false, share: 0 },
  ];
  expect(["1", "2", "3", "4"].map((version) => startShare(versions, version))).toEqual([0.95, 0.05, 0, null]);
});

test("without a default nobody knows what a start gets", () => {
  expect(startShare([{ version: "1", isDefault: false, share: 0 }], "1")).toBeNull();
});

test("shares are short", () => {
  expect([1, 0.05, 0.125, 0.005, 0.0001].map(shareText)).toEqual(["100 %", "5 %", "12.5 %", "0.5 %", "0.01 %"]);
});
