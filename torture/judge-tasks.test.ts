import { jsonCodec } from "holdfast";
import type { HistoryEvent, Run, Task } from "holdfast/adapter";
import { describe, expect, test } from "vitest";
import type { EffectLine } from "./effects-file.ts";
import { judge } from "./judge.ts";
import type { Answer } from "./token-clerk.ts";

const SPEC = { name: "mail", retry: { attempts: 3, initialMs: 1, factor: 1, maxMs: 1, jitter: 0 } };
const RESULT = "10.1.3";

interface Change {
  readonly run?: Partial<Run>;
  readonly history?: readonly HistoryEvent[];
  readonly lines?: readonly EffectLine[];
  readonly rows?: readonly Task[];
  readonly answers?: readonly Answer[];
}

const SCHEDULED = { seq: 1, type: "task_scheduled", op: "mail", at: 1, meta: { task: SPEC } } as HistoryEvent;

function completed(token: string, attempt = 1): HistoryEvent {
  const payload = jsonCodec.encode({ value: "v", token }, "test");
  return { seq: 2, type: "task_completed", op: "mail", at: 2, payload, meta: { attempt } };
}

function failed(attempt = 3, more: object = {}): HistoryEvent {
  const error = { name: "Error", message: "no", kind: "Internal" } as never;
  return { seq: 2, type: "task_failed", op: "mail", at: 2, meta: { attempt, error, ...more } };
}

function line(phase: EffectLine["phase"], token: string, more: Partial<EffectLine> = {}): EffectLine {
  const [pid, , epoch] = token.split(".").map(Number) as [number, number, number];
  const about = { phase, at: 0, pid, run: "r", op: "mail", attempt: 1, epoch, task: 1, token };
  return { ...about, ...(phase === "begin" ? { seen: [] } : {}), ...more };
}

function durable(event: string, epoch: number, more: Partial<EffectLine> = {}): EffectLine {
  return { phase: "durable", at: 0, pid: 10, run: "r", op: "", attempt: 0, epoch, task: 1, event, ...more };
}

function row(change: Partial<Task> = {}): Task {
  const failures = [1, 2, 3].map((attempt) => ({ attempt, at: 1, name: "Error", message: "no" }));
  const fixed = { runId: "r", seq: 1, op: "mail", status: "dead", attempt: 3, epoch: 6, canceled: false, failures };
  return { ...fixed, ...change } as Task;
}

function answer(token: string, change: Partial<Answer> = {}): Answer {
  return { runId: "r", seq: 1, type: "complete", token, outcome: "done", ...change };
}

const LINES = [line("begin", RESULT), line("end", RESULT), durable("attempt_completed", 3)];

function told({ run = {}, history = [SCHEDULED, completed(RESULT)], lines = LINES, rows, answers }: Change): string[] {
  const fixed = { runId: "r", id: "a", status: "completed", endedAt: 9, compensation: null, continuedFrom: null };
  const one = { ...fixed, heldBy: null, output: jsonCodec.encode("out", "test"), error: null, ...run } as Run;
  const started = [{ id: "a", expected: { status: one.status, output: "out" } as const }];
  const evidence = { started, runs: [{ run: one, history }], lines, rows: rows ?? [], answers: answers ?? [] };
  return judge(evidence).findings.map(({ fault, text }) => `${fault}: ${text}`);
}

test("a task that went well is found to have gone well", () => {
  expect(told({})).toEqual([]);
});

test("the death of a worker, and the execution in its place, are as it should be", () => {
  expect(told({ lines: [line("begin", "9.1.1"), ...LINES] })).toEqual([]);
});

test("so are failed attempts, each with the next one after it", () => {
  const lines = [
    line("begin", "9.1.1"),
    line("end", "9.1.1"),
    durable("attempt_retry", 1),
    line("begin", RESULT, { attempt: 2 }),
    line("end", RESULT, { attempt: 2 }),
  ];
  expect(told({ lines, history: [SCHEDULED, completed(RESULT, 2)] })).toEqual([]);
});

describe("a task is repeated", () => {
  test("when it begins after its result was reported, recorded, or taken over by someone else", () => {
    expect(told({ lines: [...LINES, line("begin", "9.1.1")] })).toEqual([
      expect.stringMatching(/^repeated: mail .* process 10 was told of its end \(attempt_completed\)/),
    ]);
    const recorded = durable("task_completed", 1, { op: "mail", seq: 2, task: undefined as never });
    expect(told({ lines: [...LINES.slice(0, 2), recorded, line("begin", "9.1.5")] })).toEqual([
      expect.stringMatching(/^repeated: .*\(task_completed\)/),
    ]);
    const external = [line("begin", "9.1.1"), durable("attempt_external", 1), ...LINES];
    expect(told({ lines: external })).toEqual([expect.stringMatching(/^repeated: .*\(attempt_external\)/)]);
  });

  test("when it begins under a later epoch than its recorded result", () => {
    expect(told({ lines: [...LINES.slice(0, 2), line("begin", "11.1.5")] })).toEqual([
      expect.stringMatching(/^repeated: .* the result of execution 10\.1\.3 was recorded before/),
    ]);
  });

  test("when an attempt begins again after its failure was reported", () => {
    const lines = [line("begin", "9.1.1"), line("end", "9.1.1"), durable("attempt_retry", 1), line("begin", "9.2.1")];
    expect(told({ lines: [...lines, ...LINES] })).toEqual([expect.stringMatching(/^repeated: .*\(attempt_retry\)/)]);
  });

  test("when history has two results, or two answers were accepted", () => {
    expect(told({ history: [SCHEDULED, completed(RESULT), { ...completed(RESULT), seq: 3 }] })).toEqual([
      "repeated: mail (1) has 2 results in history",
    ]);
    const answers = [answer("answer:1"), answer("answer:2")];
    expect(told({ lines: [], history: [SCHEDULED, completed("answer:1")], answers })).toEqual([
      "repeated: mail (1) was completed 2 times with its token",
    ]);
  });
});

describe("attempts are wrong", () => {
  test("when the death of a worker counts as one", () => {
    const lines = [line("begin", "9.1.1"), line("begin", RESULT, { attempt: 2 }), line("end", RESULT, { attempt: 2 })];
    expect(told({ lines, history: [SCHEDULED, completed(RESULT, 2)] })).toEqual([
      expect.stringMatching(/^wrong: .* no execution of the previous attempt had ended/),
    ]);
  });

  test("when there are more of them than the rule allows, or history has another number", () => {
    const lines = [line("begin", "9.1.1", { attempt: 4 }), line("end", "9.1.1", { attempt: 3 }), ...LINES];
    expect(told({ lines })).toContainEqual(expect.stringMatching(/there are only 3 attempts/));
    expect(told({ history: [SCHEDULED, completed(RESULT, 2)] })).toEqual([
      "wrong: mail (1) says attempt 2, but it was attempt 1",
    ]);
  });

  test("when a failure with a token does not count", () => {
    const answers = [answer("answer:1", { type: "fail" }), answer("answer:2")];
    expect(told({ lines: [], history: [SCHEDULED, completed("answer:2")], answers })).toEqual([
      "wrong: mail (1) says attempt 1, but 1 to 1 attempts were failed with tokens",
    ]);
  });
});

describe("a result is lost or wrong", () => {
  test("when an answer was accepted and history has another one, or none", () => {
    const answers = [answer("answer:1"), answer("answer:2", { outcome: "refused" })];
    expect(told({ lines: [], history: [SCHEDULED, completed("answer:2")], answers })).toEqual([
      "wrong: mail (1) has the result answer:2, not the answer answer:1",
    ]);
    expect(told({ lines: [], history: [SCHEDULED], answers, run: { status: "failed" } })).toContain(
      "lost: mail (1) was completed with its token, but history has no result",
    );
  });

  test("when nobody returned or sent it", () => {
    expect(told({ lines: [] })).toEqual([expect.stringMatching(/^wrong: .* no execution returned/)]);
    expect(told({ lines: [], history: [SCHEDULED, completed("answer:9")] })).toEqual([
      expect.stringMatching(/^wrong: .* nobody has sent/),
    ]);
  });

  test("when details that were durable do not reach the next execution", () => {
    const lines = [line("begin", "9.1.1"), durable("beat", 1, { details: 4 }), line("begin", RESULT, { details: 3 })];
    expect(told({ lines: [...lines, ...LINES.slice(1)] })).toEqual([
      expect.stringMatching(/^lost: .* was told the details 3, but 4 were durable/),
    ]);
  });
});

describe("a dead letter", () => {
  const run = { status: "failed" } as const;
  const history = [SCHEDULED, failed()];

  test("is as it should be with the failures of all attempts", () => {
    expect(told({ run, history, lines: [], rows: [row()] })).toEqual([]);
  });

  test("is lost when it was not kept", () => {
    expect(told({ run, history, lines: [] })).toEqual([
      "lost: mail (1) failed for good, but its dead letter was not kept",
    ]);
    expect(told({ run, history: [SCHEDULED, failed(3, { withdrawn: true })], lines: [] })).toEqual([]);
  });

  test("is wrong with fewer attempts than the rule allows, or beside a result", () => {
    expect(told({ run, history: [SCHEDULED, failed(2)], lines: [], rows: [row({ attempt: 2 })] })).toEqual([
      "wrong: mail (1) died with 3 failures in attempt 2 of 3",
    ]);
    expect(told({ rows: [row()] })).toEqual(["wrong: mail (1) is a dead letter, but history has task_completed"]);
  });
});

describe("a task is forgotten", () => {
  test("when it outlives its run, or its result", () => {
    expect(told({ rows: [row({ status: "due" })] })).toEqual([
      "forgotten: mail (1) is still due, although its run is completed",
    ]);
    expect(told({ run: { endedAt: null, status: "running" }, rows: [row({ status: "held" })] })).toContain(
      "forgotten: mail (1) is still held, although history has its task_completed",
    );
  });

  test("when its run waits for it, and it does not exist", () => {
    expect(told({ run: { endedAt: null, status: "waiting" }, history: [SCHEDULED], lines: [] })).toContain(
      "forgotten: mail (1) does not exist, but its run waits for it",
    );
  });

  test("when it has no run, or its run does not know it", () => {
    expect(told({ rows: [row({ runId: "other" })] })).toEqual(["forgotten: mail is dead without a run"]);
    expect(told({ rows: [row({ seq: 7 })] })).toEqual([expect.stringMatching(/^wrong: has a task mail \(7, dead\)/)]);
  });
});
