import { expect, test } from "vitest";
import type { Beat } from "./beats.ts";
import { type BeatEvidence, type BeatRun, judgeBeat } from "./judge-beats.ts";

const TIMES = [1_000, 2_000, 3_000];
const id = (at: number): string => `s@${new Date(at).toISOString()}`;

function run(at: number, fields: Partial<BeatRun> = {}): BeatRun {
  return {
    id: id(at),
    runId: `run ${at}`,
    scheduledAt: at,
    status: "completed",
    createdAt: at,
    endedAt: at + 900,
    ...fields,
  };
}

function evidence(fields: Partial<BeatEvidence> = {}, beat: Partial<Beat> = {}): BeatEvidence {
  return {
    beat: { id: "s", overlap: "skip", everyMs: 1_000, endless: false, foreign: false, ...beat },
    times: TIMES,
    foreignTimes: [],
    state: { nextAt: null, buffered: [] },
    decisions: TIMES.map((at) => ({ at, what: "fired", runId: `run ${at}` })),
    runs: TIMES.map((at) => run(at)),
    foreignRuns: [],
    ...fields,
  };
}

const [FIRST, SECOND, THIRD] = evidence().decisions;

test("a schedule whose times were fired, each with its run, is in order", () => {
  expect(judgeBeat(evidence())).toEqual([]);
  expect(judgeBeat(evidence({}, { overlap: "allow" }))).toEqual([]);
});

test("a time that was buffered may be fired later, or skipped where another one takes its place", () => {
  const decisions = [FIRST, { at: 2_000, what: "buffered" }, { at: 2_000, what: "skipped" }, THIRD] as never;
  const runs = [run(1_000, { status: "canceled" }), run(3_000, { status: "waiting", endedAt: null })];
  expect(judgeBeat(evidence({ decisions, runs }, { overlap: "cancel-other", endless: true }))).toEqual([]);
  expect(judgeBeat(evidence({ decisions, runs: [run(1_000), run(3_000)] }, { overlap: "buffer-all" }))).toMatchObject([
    { fault: "wrong", text: expect.stringContaining("buffered skipped") },
  ]);
});

const foreignRun = { id: id(2_000), status: "waiting", delivered: 0 };
const beside = {
  foreignTimes: [2_000],
  decisions: [FIRST, { at: 2_000, what: "failed" }, THIRD] as never,
  runs: [run(1_000), run(3_000)],
};

test("a time whose id somebody else has fails, and that run is left alone", () => {
  expect(judgeBeat(evidence({ ...beside, foreignRuns: [foreignRun] }))).toEqual([]);
  for (const touched of [{ status: "terminated" }, { delivered: 1 }])
    expect(judgeBeat(evidence({ ...beside, foreignRuns: [{ ...foreignRun, ...touched }] }))).toMatchObject([
      { fault: "wrong", text: expect.stringContaining("was touched") },
    ]);
});

test("the last of the runs that never end is not stopped, except for a time whose id somebody else has", () => {
  const stopped = (at: number) => run(at, { status: "terminated" });
  const runs = [stopped(1_000), stopped(3_000)];
  const endless = { overlap: "terminate-other", endless: true } as const;
  expect(judgeBeat(evidence({ ...beside, runs }, endless))).toMatchObject([
    { text: expect.stringContaining("the last one") },
  ]);
  const decisions = [FIRST, SECOND, { at: 3_000, what: "failed" }] as never;
  const early = { foreignTimes: [3_000], decisions, runs: [stopped(1_000), stopped(2_000)] };
  expect(judgeBeat(evidence(early, endless))).toEqual([]);
});

test.each<[string, Partial<BeatEvidence>, string, string]>([
  ["a time without a decision", { decisions: [FIRST, THIRD] as never, runs: [run(1_000), run(3_000)] }, "lost", "has"],
  ["a time with two", { decisions: [FIRST, SECOND, SECOND, THIRD] as never }, "wrong", "[fired fired]"],
  ["a missed time", { decisions: [FIRST, { at: 2_000, what: "missed" }, THIRD] as never }, "wrong", "[missed]"],
  ["another time", { decisions: [FIRST, SECOND, THIRD, { at: 7, what: "skipped" }] as never }, "wrong", "none of its"],
  ["a fired time without a run", { runs: [run(1_000), run(3_000)] }, "lost", "has no run"],
  ["a time with two runs", { runs: [...TIMES.map((at) => run(at)), run(3_000)] }, "repeated", "two runs"],
  ["a run that was not fired", { runs: [...TIMES.map((at) => run(at)), run(9_000)] }, "wrong", "none of its times"],
  ["a run of another id", { runs: [run(1_000), run(2_000), run(3_000, { id: "s" })] }, "wrong", "is said to be"],
  ["another run", { runs: [run(1_000), run(2_000), run(3_000, { runId: "x" })] }, "wrong", "as another run"],
  ["a run that has not ended", { runs: [run(1_000), run(2_000), run(3_000, { status: "running" })] }, "lost", "ended"],
  ["runs that overlap", { runs: [run(1_000, { endedAt: 2_001 }), run(2_000), run(3_000)] }, "wrong", "before run"],
  ["a time that is left", { state: { nextAt: 4_000, buffered: [] } }, "lost", "a time is left"],
  ["a buffered time that is left", { state: { nextAt: null, buffered: [1] } }, "lost", "a time is left"],
  ["a schedule that is gone", { state: null }, "lost", "is gone"],
])("%s is found", (_, fields, fault, text) => {
  expect(judgeBeat(evidence(fields))).toContainEqual({ fault, id: "s", text: expect.stringContaining(text) });
});
