import { jsonCodec } from "holdfast";
import type { HistoryEvent, Run } from "holdfast/adapter";
import { describe, expect, test } from "vitest";
import type { EffectLine } from "./effects-file.ts";
import type { Evidence, RunEvidence } from "./evidence.ts";
import { judge } from "./judge.ts";
import { NO_CONVERSATIONS } from "./judge-conversations.ts";
import { NO_TASKS } from "./judge-tasks.ts";
import type { LedgerEntry } from "./ledger.ts";

const FIRST = "10.1.1";
const SECOND = "10.2.1";

function run(change: Partial<Run> = {}): Run {
  const fixed = { runId: "r", id: "a", status: "completed", endedAt: 9, compensation: null, continuedFrom: null };
  return { ...fixed, heldBy: null, output: jsonCodec.encode("out", "test"), error: null, ...change } as Run;
}

function completed(seq: number, op: string, token: string, attempt = 1): HistoryEvent {
  const payload = jsonCodec.encode({ value: op, token }, "test");
  return { seq, type: "step_completed", op, at: seq, payload, meta: { attempt } };
}

function attemptFailed(seq: number, op: string, token: string, attempt = 1): HistoryEvent {
  const error = { name: "Error", message: `fails [${token}]`, kind: "Internal", code: null } as never;
  return { seq, type: "step_attempt_failed", op, at: seq, meta: { attempt, error } };
}

function line(phase: EffectLine["phase"], op: string, token: string, more: Partial<EffectLine> = {}): EffectLine {
  const [pid, , epoch] = token.split(".").map(Number) as [number, number, number];
  return {
    phase,
    at: 0,
    pid,
    run: "r",
    op,
    attempt: 1,
    epoch,
    token,
    ...(phase === "begin" ? { seen: [] } : {}),
    ...more,
  };
}

/** Two steps, one after the other, and nothing unusual. */
const HISTORY = [completed(1, "one", FIRST), completed(2, "two", SECOND)];
const LINES = [
  line("begin", "one", FIRST),
  line("end", "one", FIRST),
  line("durable", "one", FIRST, { event: "step_completed" }),
  line("begin", "two", SECOND, { seen: [FIRST] }),
  line("end", "two", SECOND),
];

function evidence(change: { runs?: RunEvidence[]; lines?: EffectLine[] } = {}): Evidence {
  const started = [{ id: "a", expected: { status: "completed", output: "out" } as const }];
  return { started, runs: change.runs ?? [{ run: run(), history: HISTORY }], lines: change.lines ?? LINES };
}

function faults(change: { runs?: RunEvidence[]; lines?: EffectLine[] }): string[] {
  return judge(evidence(change)).findings.map(({ fault, text }) => `${fault}: ${text}`);
}

test("a run that went well is found to have gone well", () => {
  const nothing = { tasks: NO_TASKS, conversations: NO_CONVERSATIONS, findings: [] };
  expect(judge(evidence())).toEqual({ runs: 1, finished: 1, effects: 2, cutOff: 0, ...nothing });
});

test("an execution that a crash has cut off, and the one in its place, are as it should be", () => {
  const lines = [line("begin", "one", "9.1.1"), ...LINES.map((one) => ({ ...one, epoch: 2 }))];
  const again = HISTORY.map((event, i) => completed(event.seq, event.op as string, i === 0 ? "10.1.2" : "10.2.2"));
  const tokens: Record<string, string> = { [FIRST]: "10.1.2", [SECOND]: "10.2.2" };
  const renamed = lines.map((one) => ({
    ...one,
    token: tokens[one.token as string] ?? one.token,
    ...(one.seen ? { seen: one.seen.map((token) => tokens[token] ?? token) } : {}),
  })) as EffectLine[];
  const verdict = judge(evidence({ runs: [{ run: run(), history: again }], lines: renamed }));
  expect(verdict).toMatchObject({ cutOff: 1, findings: [] });
});

describe("a run is lost", () => {
  test("when its start was acknowledged and it is not there", () => {
    expect(faults({ runs: [] })).toEqual([expect.stringMatching(/^lost: .*does not exist/)]);
  });

  test("when it does not end", () => {
    const open = run({ status: "sleeping", endedAt: null });
    expect(faults({ runs: [{ run: open, history: HISTORY }] })).toEqual([expect.stringMatching(/^lost: .*sleeping/)]);
  });
});

describe("an end is wrong", () => {
  const ends = (change: Partial<Run>) => faults({ runs: [{ run: run(change), history: HISTORY }] });

  test("with another output, another status, or compensations that nobody asked for", () => {
    expect(ends({ output: jsonCodec.encode("other", "test") })).toEqual([
      expect.stringMatching(/^wrong: returned "other"/),
    ]);
    expect(ends({ status: "failed" })).toEqual([expect.stringMatching(/^wrong: is failed/)]);
    expect(ends({ compensation: "compensated" })).toEqual([expect.stringMatching(/^wrong: its compensation/)]);
  });

  test("when two runs have the id", () => {
    const runs = [run(), run({ runId: "s" })].map((one) => ({ run: one, history: [] }));
    expect(faults({ runs, lines: [] })).toEqual([expect.stringMatching(/^wrong: was started 2 times/)]);
  });

  test("when a step that began is not undone", () => {
    const lines = LINES.map((one) => (one.op === "one" ? { ...one, undoable: true } : one));
    expect(faults({ runs: [{ run: run({ status: "failed" }), history: HISTORY }], lines })).toContain(
      "wrong: one began and was not undone",
    );
  });

  test("when history has a result that nobody worked for", () => {
    expect(faults({ lines: LINES.filter(({ op, phase }) => op !== "two" || phase !== "end") })).toEqual([
      expect.stringMatching(/^wrong: two has the result .* no execution returned/),
    ]);
  });
});

describe("a step is repeated", () => {
  test("when it begins under a later claim than its recorded result", () => {
    expect(faults({ lines: [line("begin", "one", "11.1.2"), ...LINES] })).toEqual([
      expect.stringMatching(/^repeated: one .* execution 10\.1\.1 was recorded before/),
    ]);
  });

  test("when it begins twice under one claim", () => {
    expect(faults({ lines: [line("begin", "one", "10.7.1"), ...LINES] })).toEqual([
      expect.stringMatching(/^repeated: one/),
    ]);
  });

  test("when it begins after the result was acknowledged, also by somebody who held the run before", () => {
    expect(faults({ lines: [...LINES, line("begin", "one", "9.1.0")] })).toEqual([
      expect.stringMatching(/^repeated: one .* had been told that its step_completed is durable/),
    ]);
  });

  test("when it may begin only once, and does so twice", () => {
    const lines = [line("begin", "one", "9.1.0", { once: true }), line("begin", "one", FIRST, { once: true })];
    expect(faults({ lines: [...lines, ...LINES.slice(1)] })).toEqual([expect.stringMatching(/may begin only once/)]);
  });

  test("when an attempt begins again whose failure was recorded", () => {
    const history = [attemptFailed(1, "one", FIRST), completed(2, "one", "10.3.1", 2)];
    const lines = [
      line("begin", "one", FIRST),
      line("begin", "one", "10.3.1", { attempt: 2 }),
      line("end", "one", "10.3.1", { attempt: 2 }),
    ];
    const runs = [{ run: run(), history }];
    expect(faults({ runs, lines })).toEqual([]);
    expect(faults({ runs, lines: [...lines, line("begin", "one", "11.1.2")] })).toEqual([
      expect.stringMatching(/^repeated: one .*attempt 1/),
    ]);
  });
});

describe("an effect comes too early", () => {
  test("when its code had seen a result that history does not know", () => {
    const lines = LINES.map((one) => (one.op === "two" && one.phase === "begin" ? { ...one, seen: ["9.1.1"] } : one));
    expect(faults({ lines })).toEqual([expect.stringMatching(/^early: two .* had seen 9\.1\.1/)]);
  });

  test("when the failure of the attempt before is not in history", () => {
    const lines = LINES.map((one) => (one.op === "two" ? { ...one, attempt: 2 } : one));
    expect(faults({ lines })).toEqual([expect.stringMatching(/^early: two .* the previous attempt/)]);
  });
});

test("an effect comes too late when the lease of its process has run out", () => {
  const lines = LINES.map((one) => (one.op === "two" && one.phase === "begin" ? { ...one, lateMs: 700 } : one));
  expect(faults({ lines })).toEqual([expect.stringMatching(/^late: two .* began 700 ms after its lease expired/)]);
});

describe("a ledger", () => {
  const booked: HistoryEvent = { seq: 3, type: "step_completed", op: "book", at: 3, meta: { messageId: "r\tbook" } };
  const pair = (cents = 5): LedgerEntry[] => [
    { run: "r", op: "book", account: "from", cents: -5 },
    { run: "r", op: "book", account: "to", cents },
  ];
  const told = (entries: readonly LedgerEntry[], history = [...HISTORY, booked]): string[] =>
    judge({ ...evidence({ runs: [{ run: run(), history }] }), entries }).findings.map(
      ({ fault, text }) => `${fault}: ${text}`,
    );

  test("with one pair for a booking that history knows is as it should be", () => {
    expect(told(pair())).toEqual([]);
  });

  test("with two pairs for one booking was booked twice", () => {
    expect(told([...pair(), ...pair()])).toEqual(["repeated: book is in the ledger 2 times"]);
  });

  test("without the booking that history knows has lost it", () => {
    expect(told([])).toEqual(["lost: book is recorded, but not in the ledger"]);
  });

  test("with a booking that history does not know, or that does not balance, is wrong", () => {
    expect(told(pair(), [...HISTORY])).toEqual(["wrong: book is in the ledger, but not in history"]);
    expect(told(pair(6))).toEqual(["wrong: book does not balance: 1"]);
  });
});
