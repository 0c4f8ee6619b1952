import { jsonCodec } from "holdfast";
import type { Debt, HistoryEvent, Run } from "holdfast/adapter";
import { describe, expect, test } from "vitest";
import type { EffectLine } from "./effects-file.ts";
import type { RunEvidence } from "./evidence.ts";
import type { Finding } from "./finding.ts";
import { judgeConversations } from "./judge-conversations.ts";
import type { Said } from "./say.ts";

const OUTPUT = jsonCodec.encode({ value: "v", token: "run:c" }, "test");

function run(runId: string, change: Partial<Run> = {}): Run {
  const fixed = { id: runId, firstRunId: runId, createdAt: 1, status: "completed", endedAt: 9, continuedFrom: null };
  return { ...fixed, runId, output: null, error: null, ...change } as Run;
}

function lineage(parent: string, op: string | null): NonNullable<Run["lineage"]> {
  return {
    parent: { namespace: "default", runId: parent, id: parent },
    op,
    root: { runId: parent, id: parent },
    depth: 1,
  };
}

function event(seq: number, type: HistoryEvent["type"], op: string, more: Partial<HistoryEvent> = {}): HistoryEvent {
  return { seq, type, op, at: seq, ...more };
}

const STARTED = event(1, "child_started", "ship", {
  meta: { child: { runId: "c", id: "c", workflow: "ship", version: "1" } },
});
const COMPLETED = event(2, "child_completed", "ship", { payload: OUTPUT });
const CHILD = { run: run("c", { output: OUTPUT, lineage: lineage("p", "ship") }), history: [] };

function accepted(seq: number, op: string, token: string): HistoryEvent {
  const payload = jsonCodec.encode({ text: "t", token }, "test");
  return event(seq, "update_accepted", op, { payload, meta: { messageId: token, number: seq } });
}

function answered(seq: number, op: string, value: number): HistoryEvent {
  return event(seq, "update_completed", op, { payload: jsonCodec.encode(value, "test") });
}

const UPDATES = [
  accepted(1, "update:add", "u1"),
  accepted(2, "update:add#2", "u2"),
  answered(3, "update:add", 1),
  answered(4, "update:add#2", 2),
];

interface Told {
  readonly runs?: readonly RunEvidence[];
  readonly lines?: readonly EffectLine[];
  readonly said?: readonly Said[];
  readonly debts?: readonly Debt[];
}

function family(history: readonly HistoryEvent[], parent: Partial<Run> = {}, children = [CHILD]): RunEvidence[] {
  return [{ run: run("p", parent), history }, ...children];
}

function told({ runs = family([STARTED, COMPLETED]), lines = [], said = [], debts = [] }: Told): string[] {
  const findings: Finding[] = [];
  judgeConversations({ runs, lines, said, debts }, findings);
  return findings.map(({ fault, text }) => `${fault}: ${text}`);
}

function saying(token: string, more: Partial<Said>): Said {
  return { id: "p", kind: "update", token, ...more };
}

test("a child that was started once and told of once is as it should be", () => {
  const findings: Finding[] = [];
  const counts = judgeConversations({ runs: family([STARTED, COMPLETED]), lines: [], said: [], debts: [] }, findings);
  expect(counts).toEqual({ children: 1, answered: 1, messages: 0, updates: 0, told: 0 });
  expect(findings).toEqual([]);
});

test("a child whose end was told before its start is as it should be", () => {
  expect(told({ runs: family([COMPLETED]) })).toEqual([]);
});

test("the end of a child that continued as new is that of the last of its chain", () => {
  const lineageOfC = lineage("p", "ship");
  const first = { run: run("c", { status: "continued", lineage: lineageOfC }), history: [] };
  const next = { firstRunId: "c", id: "c", continuedFrom: "c", createdAt: 2, output: OUTPUT, lineage: lineageOfC };
  expect(told({ runs: family([STARTED, COMPLETED], {}, [first, { run: run("d", next), history: [] }]) })).toEqual([]);
});

describe("a child is", () => {
  test("lost, if its start was noted and it does not exist", () => {
    const found = told({ runs: family([STARTED], {}, []) });
    expect(found).toEqual(["lost: p: ship has started c, which does not exist"]);
  });

  test("repeated, if one op has started two", () => {
    const twin = { run: run("d", { lineage: lineage("p", "ship") }), history: [] };
    expect(told({ runs: family([STARTED, COMPLETED], {}, [CHILD, twin]) })).toEqual([
      "repeated: p: ship has started 2 runs, and noted that 1 times",
      "repeated: d: was started by ship of p, which has c",
    ]);
  });

  test("wrong, if its parent has completed and never knew it", () => {
    expect(told({ runs: family([]) })).toEqual([expect.stringMatching(/^wrong: c: .*does not know it/)]);
  });

  test("forgotten, if it is still open", () => {
    const open = { ...CHILD, run: run("c", { status: "waiting", endedAt: null, lineage: lineage("p", "ship") }) };
    expect(told({ runs: family([STARTED], {}, [open]) })).toEqual([expect.stringMatching(/^forgotten: c: is waiting/)]);
  });
});

describe("an outcome is", () => {
  test("repeated, if there are two", () => {
    const runs = family([STARTED, COMPLETED, { ...COMPLETED, seq: 3 }]);
    expect(told({ runs })).toEqual(["repeated: p: ship has 2 outcomes"]);
  });

  test("wrong, if the child has ended in another way, or returned something else", () => {
    const failed = { ...CHILD, run: run("c", { status: "failed", lineage: lineage("p", "ship") }) };
    expect(told({ runs: family([STARTED, COMPLETED], {}, [failed]) })).toEqual([
      "wrong: p: ship was told that c is completed, but it is failed",
    ]);
    const other = { ...CHILD, run: { ...CHILD.run, output: jsonCodec.encode("other", "test") } };
    expect(told({ runs: family([STARTED, COMPLETED], {}, [other]) })).toEqual([
      "wrong: p: ship was told another output than that of c",
    ]);
  });

  test("wrong, if a run was told another result of one that it waited for", () => {
    const sent = event(3, "message_sent", "result:c", {
      payload: jsonCodec.encode(1, "test"),
      meta: { to: { id: "c" } },
    });
    expect(told({ runs: family([STARTED, COMPLETED, sent]) })).toEqual([
      "wrong: p: result:c was told another output than that of c",
    ]);
  });
});

describe("an update is", () => {
  const runs = [{ run: run("p"), history: UPDATES }];

  test("as it should be, if everybody was told the answer that history has", () => {
    const line = { phase: "told", run: "p", op: "u2", answer: 2 } as EffectLine;
    expect(told({ runs, said: [saying("u1", { value: 1 }), saying("u1", { value: 1 })], lines: [line] })).toEqual([]);
  });

  test("wrong, if somebody was told another answer, alive or not", () => {
    expect(told({ runs, said: [saying("u1", { value: 2 })] })).toEqual([
      "wrong: update u1 was answered with 2, but history has 1",
    ]);
    const line = { phase: "told", run: "p", op: "u2", answer: 7 } as EffectLine;
    expect(told({ runs, lines: [line] })).toEqual(["wrong: update u2 was answered with 7, but history has 2"]);
  });

  test("lost, if it was refused, or if history does not have its answer", () => {
    const said = [saying("u1", { code: "run_closed" }), saying("u3", { value: 3 })];
    expect(told({ runs, said })).toEqual([
      "lost: update u1 was refused: run_closed",
      "lost: update u3 was answered with 3, but history does not have it",
    ]);
  });

  test("repeated, if it was handled twice, also in two runs of a chain", () => {
    const first = { run: run("p", { status: "continued" }), history: UPDATES.slice(0, 3) };
    const again = [accepted(1, "update:add", "u1"), answered(2, "update:add", 3)];
    const next = { run: run("q", { id: "p", firstRunId: "p", continuedFrom: "p", createdAt: 2 }), history: again };
    expect(told({ runs: [first, next] })).toEqual([
      "repeated: has taken messages twice: u1",
      "repeated: update u1 has two answers",
    ]);
  });
});

test("a signal that was taken out of the inbox twice is repeated", () => {
  const signal = (seq: number) => event(seq, "signal_received", "nudge", { meta: { messageId: "s" } });
  const found = told({ runs: [{ run: run("p"), history: [signal(1), signal(2)] }] });
  expect(found).toEqual(["repeated: has taken messages twice: nudge s"]);
});

test("a signal that a run has carried on to its successor is as it should be", () => {
  const history = [event(1, "signal_received", "nudge", { meta: { messageId: "s" } })];
  const next = run("q", { id: "p", firstRunId: "p", continuedFrom: "p", createdAt: 2 });
  expect(
    told({
      runs: [
        { run: run("p", { status: "continued" }), history },
        { run: next, history },
      ],
    }),
  ).toEqual([]);
});

test("a debt that nobody has paid is forgotten", () => {
  const debt = { debtNo: 1, namespace: "default", runId: "p", id: "p", kind: "close", children: [] } as Debt;
  expect(told({ debts: [debt] })).toEqual(["forgotten: still owes a close (run p)"]);
});
