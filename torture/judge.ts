/**
 * The judge: a pure function from evidence to findings. Its findings do not depend on any clock:
 *
 * - Every result in history names the execution that it came from (its token), and every effect names the results that
 *   its code had seen. An effect that had seen a result other than the recorded one came before its predecessor was
 *   durable.
 * - A token ends in the epoch under which the run was held. An execution under a later epoch than the recorded one
 *   began after the record was written: it was repeated.
 * - Lines are in the order in which they were written. An execution that begins after the line "the store has
 *   acknowledged the result" was repeated as well, even by a process that believes it still holds the run.
 */
import { isDeepStrictEqual } from "node:util";
import { jsonCodec } from "holdfast";
import type { HistoryEvent } from "holdfast/adapter";
import type { EffectLine } from "./effects-file.ts";
import type { Evidence, RunEvidence } from "./evidence.ts";
import type { Finding, Report } from "./finding.ts";
import { type ConversationCounts, judgeConversations } from "./judge-conversations.ts";
import { epochOf, judgeBegin, tokenOf, tokensOf } from "./judge-lines.ts";
import { addCounts, judgeTasks, NO_TASKS, type TaskCounts } from "./judge-tasks.ts";
import type { LedgerEntry } from "./ledger.ts";
import type { ExpectedEnd } from "./workload.ts";

export interface Verdict {
  /** Whose ends are known in advance. */
  readonly runs: number;
  readonly finished: number;
  readonly effects: number;
  /** Executions whose result never became durable: those cut off by crashes. */
  readonly cutOff: number;
  readonly tasks: TaskCounts;
  readonly conversations: ConversationCounts;
  readonly findings: readonly Finding[];
}

export function judge(evidence: Evidence): Verdict {
  const { started, runs, lines, entries = [], rows = [], answers = [], said = [], debts = [] } = evidence;
  const findings: Finding[] = [];
  const byId = groupBy(runs, ({ run }) => run.id);
  const linesByRun = groupBy(lines, ({ run }) => run);
  const entriesByRun = groupBy(entries, ({ run }) => run);
  const rowsByRun = groupBy(rows, ({ runId }) => runId);
  const answersByRun = groupBy(answers, ({ runId }) => runId);
  let judged = 0;
  let finished = 0;
  let tasks = NO_TASKS;
  // Children without an id of their own have no end that is known in advance; what they did is judged all the same.
  const known = new Set(started.map(({ id }) => id));
  const others = [...byId.keys()].filter((id) => !known.has(id)).map((id) => ({ id, expected: undefined }));
  for (const { id, expected, ...more } of [...started, ...others]) {
    const report: Report = (fault, text) => findings.push({ fault, id, text });
    const chain = byId.get(id) ?? [];
    if (chain.length === 0 && "optional" in more) continue;
    if (expected) judged += 1;
    if (expected && judgeEnd(chain, expected, report)) finished += 1;
    const recorded = new Set(chain.flatMap(({ history }) => history.flatMap(tokensOf)));
    for (const one of chain) {
      const { runId } = one.run;
      const own = linesByRun.get(runId) ?? [];
      judgeEffects(one, own, recorded, report);
      judgeLedger(one, entriesByRun.get(runId) ?? [], report);
      const about = { rows: rowsByRun.get(runId) ?? [], answers: answersByRun.get(runId) ?? [] };
      tasks = addCounts(tasks, judgeTasks({ ...one, ...about, lines: own, recorded }, report));
    }
  }
  const runIds = new Set(runs.map(({ run }) => run.runId));
  for (const { runId, op, status } of rows)
    if (!runIds.has(runId)) findings.push({ fault: "forgotten", id: runId, text: `${op} is ${status} without a run` });
  const recorded = new Set(runs.flatMap(({ history }) => history.flatMap(tokensOf)));
  const begins = lines.filter(({ phase }) => phase === "begin");
  const cutOff = begins.filter(({ task, token }) => task === undefined && !recorded.has(token ?? "")).length;
  const conversations = judgeConversations({ runs, lines, said, debts }, findings);
  return {
    runs: judged,
    finished,
    effects: begins.length,
    cutOff: cutOff + tasks.cutOff,
    tasks,
    conversations,
    findings,
  };
}

// Ends ----------------------------------------------------------------------------------------------------------------

/** True if the run has ended as it should. */
function judgeEnd(chain: readonly RunEvidence[], expected: ExpectedEnd, report: Report): boolean {
  const heads = chain.filter(({ run }) => run.continuedFrom === null);
  const tails = chain.filter(({ run }) => run.status !== "continued");
  const [tail] = tails;
  if (heads.length > 1 || tails.length > 1)
    report("wrong", `was started ${heads.length} times, ended ${tails.length} times`);
  if (!tail) {
    report("lost", "its start was acknowledged, but it does not exist");
    return false;
  }
  const { run } = tail;
  if (run.endedAt === null) {
    report("lost", `has not ended: ${run.status}${run.error ? ` (${run.error.message})` : ""}, held by ${run.heldBy}`);
    return false;
  }
  const output = outputOf(run);
  const why = run.error ? ` (${run.error.message})` : "";
  if (run.status !== expected.status) report("wrong", `is ${run.status}${why}, not ${expected.status}`);
  else if (!isDeepStrictEqual(output, expected.output))
    report("wrong", `returned ${JSON.stringify(output)}, not ${JSON.stringify(expected.output)}`);
  else if (!(expected.compensation ?? [null]).includes(run.compensation))
    report("wrong", `its compensation is ${run.compensation}`);
  return true;
}

/** What a child returns names the run as well. */
function outputOf({ output, runId }: RunEvidence["run"]): unknown {
  if (output === null) return undefined;
  const decoded = jsonCodec.decode(output);
  const { value, token } = Object(decoded) as { readonly value?: unknown; readonly token?: unknown };
  return token === `run:${runId}` ? value : decoded;
}

// Effects -------------------------------------------------------------------------------------------------------------

interface Settled {
  readonly type: HistoryEvent["type"];
  readonly attempt: number;
  readonly token: string | undefined;
}

function judgeEffects(
  { run, history }: RunEvidence,
  lines: readonly EffectLine[],
  recorded: ReadonlySet<string>,
  report: Report,
): void {
  const settled = settledByOp(history);
  const earlier: EffectLine[] = [];
  for (const line of lines.filter(({ task }) => task === undefined)) {
    earlier.push(line);
    if (line.phase !== "begin") continue;
    const about: Report = (fault, text) =>
      report(
        fault,
        `${line.op} of ${run.runId} (attempt ${line.attempt}, process ${line.pid}, epoch ${line.epoch}) ${text}`,
      );
    judgeBegin(line, earlier.slice(0, -1), recorded, about);
    const durable = earlier.filter(({ phase, op }) => phase === "durable" && op === line.op);
    judgeExecution(line, settled.get(line.op) ?? [], durable, about);
  }
  judgeRecords(history, lines, report);
  if (run.endedAt !== null && !["completed", "continued"].includes(run.status)) judgeUndone(history, lines, report);
}

function judgeExecution(
  line: EffectLine,
  settled: readonly Settled[],
  durable: readonly EffectLine[],
  report: Report,
): void {
  // A result ends the op; a failed attempt ends itself and everything before it.
  const covers = (type: string | undefined, attempt: number): boolean =>
    type !== "step_attempt_failed" || attempt >= line.attempt;
  const acknowledged = durable.find(({ event, attempt }) => covers(event, attempt));
  if (acknowledged) {
    report(
      "repeated",
      `began although process ${acknowledged.pid} had been told that its ${acknowledged.event} is durable`,
    );
    return;
  }
  const earlier = settled.find(
    ({ type, attempt, token }) =>
      token !== undefined &&
      token !== line.token &&
      covers(type, attempt) &&
      epochOf(token) <= line.epoch &&
      (attempt === line.attempt || epochOf(token) < line.epoch),
  );
  if (earlier) report("repeated", `began although execution ${earlier.token} was recorded before (${earlier.type})`);
  if (line.attempt === 1) return;
  const before = settled.some(({ type, attempt }) => type === "step_attempt_failed" && attempt === line.attempt - 1);
  if (!before) report("early", "began although the failure of the previous attempt is not in history");
}

/** Every recorded result must come from an execution. */
function judgeRecords(history: readonly HistoryEvent[], lines: readonly EffectLine[], report: Report): void {
  const ended = new Set(lines.filter(({ phase }) => phase === "end").map(({ token }) => token));
  for (const event of history) {
    const token = event.type === "step_completed" ? tokenOf(event) : undefined;
    if (token !== undefined && !ended.has(token))
      report("wrong", `${event.op} has the result ${token}, which no execution returned`);
  }
}

function judgeUndone(history: readonly HistoryEvent[], lines: readonly EffectLine[], report: Report): void {
  const undone = new Set(history.filter(({ type }) => type === "step_completed").map(({ op }) => op));
  const undoable = new Set(lines.filter((line) => line.undoable).map(({ op }) => op));
  for (const op of undoable) if (!undone.has(`compensate:${op}`)) report("wrong", `${op} began and was not undone`);
}

// Ledger --------------------------------------------------------------------------------------------------------------

/** The steps of the torture workflows that are transactions. */
const BOOKINGS = ["book", "fee", "bonus"];

/** A booking is in the ledger as one balanced pair if, and only if, history says that it was made. */
function judgeLedger({ history }: RunEvidence, entries: readonly LedgerEntry[], report: Report): void {
  const made = history.filter(({ type, meta }) => type === "step_completed" && meta?.messageId !== undefined);
  const recorded = new Set(made.map(({ op }) => op as string));
  const byOp = groupBy(entries, ({ op }) => op);
  for (const op of new Set([...recorded, ...byOp.keys()])) {
    const booked = byOp.get(op) ?? [];
    const sum = booked.reduce((total, { cents }) => total + cents, 0);
    if (booked.length > 2) report("repeated", `${op} is in the ledger ${booked.length / 2} times`);
    else if (!recorded.has(op)) report("wrong", `${op} is in the ledger, but not in history`);
    else if (booked.length < 2 && BOOKINGS.includes(op)) report("lost", `${op} is recorded, but not in the ledger`);
    else if (sum !== 0) report("wrong", `${op} does not balance: ${sum}`);
  }
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

// Tokens --------------------------------------------------------------------------------------------------------------

function settledByOp(history: readonly HistoryEvent[]): Map<string, Settled[]> {
  const settled = history.filter(({ type }) => ["step_completed", "step_failed", "step_attempt_failed"].includes(type));
  const byOp = groupBy(settled, ({ op }) => op ?? "");
  return new Map(
    [...byOp].map(([op, events]) => [
      op,
      events.map((event) => ({ type: event.type, attempt: event.meta?.attempt ?? 1, token: tokenOf(event) })),
    ]),
  );
}
