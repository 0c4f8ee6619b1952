/**
 * The judge of conversations: whether what the histories of different runs say about each other fits together. A child exists
 * once, its end is its parent's outcome, an update has one answer, which everybody was told, and a signal arrives once.
 */
import { isDeepStrictEqual } from "node:util";
import { jsonCodec } from "holdfast";
import type { Debt, HistoryEvent } from "holdfast/adapter";
import type { EffectLine } from "./effects-file.ts";
import type { RunEvidence } from "./evidence.ts";
import type { Finding, Report } from "./finding.ts";
import type { Said } from "./say.ts";

export interface ConversationCounts {
  /** Runs that other runs have started. */
  readonly children: number;
  /** Of them: those whose end is in the history of their parent. */
  readonly answered: number;
  readonly messages: number;
  readonly updates: number;
  /** Answers that clients were given, for updates and for signals that start a run. */
  readonly told: number;
}

export const NO_CONVERSATIONS: ConversationCounts = { children: 0, answered: 0, messages: 0, updates: 0, told: 0 };

export interface ConversationEvidence {
  readonly runs: readonly RunEvidence[];
  readonly lines: readonly EffectLine[];
  readonly said: readonly Said[];
  readonly debts: readonly Debt[];
}

export function judgeConversations(evidence: ConversationEvidence, findings: Finding[]): ConversationCounts {
  const { runs, debts } = evidence;
  const chains = new Chains(runs);
  for (const { id, kind, runId } of debts)
    findings.push({ fault: "forgotten", id, text: `still owes a ${kind} (run ${runId})` });
  const counts = runs.map((one) => {
    const report: Report = (fault, text) => findings.push({ fault, id: one.run.id, text: `${one.run.runId}: ${text}` });
    judgeLineage(one, chains, report);
    const answered = judgeChildren(one, chains, report);
    const messages = judgeMessages(one, chains, report);
    return { answered, messages };
  });
  const updates = chains.all.map((chain) => judgeInbox(chain, evidence, findings));
  const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
  return {
    children: runs.filter(({ run }) => run.lineage && run.continuedFrom === null).length,
    answered: sum(counts.map(({ answered }) => answered)),
    messages: sum(counts.map(({ messages }) => messages)),
    updates: sum(updates),
    told: evidence.said.length,
  };
}

export function addConversations(a: ConversationCounts, b: ConversationCounts): ConversationCounts {
  return {
    children: a.children + b.children,
    answered: a.answered + b.answered,
    messages: a.messages + b.messages,
    updates: a.updates + b.updates,
    told: a.told + b.told,
  };
}

/** Runs that continue each other, in order. */
type Chain = readonly RunEvidence[];

class Chains {
  readonly all: readonly Chain[];
  readonly #byFirst = new Map<string, RunEvidence[]>();
  readonly #firstOf = new Map<string, string>();
  readonly #byId = new Map<string, Chain>();
  /** First runs of the children that an op has started. */
  readonly #byOp = new Map<string, string[]>();

  constructor(runs: readonly RunEvidence[]) {
    for (const one of runs) {
      const { runId, firstRunId, continuedFrom, lineage } = one.run;
      this.#firstOf.set(runId, firstRunId);
      const chain = this.#byFirst.get(firstRunId) ?? [];
      chain.push(one);
      this.#byFirst.set(firstRunId, chain);
      if (!lineage || continuedFrom !== null || lineage.op === null) continue;
      const key = `${lineage.parent.runId}\t${lineage.op}`;
      this.#byOp.set(key, [...(this.#byOp.get(key) ?? []), runId]);
    }
    for (const chain of this.#byFirst.values()) chain.sort((a, b) => a.run.createdAt - b.run.createdAt);
    this.all = [...this.#byFirst.values()];
    for (const chain of this.all) this.#byId.set((chain[0] as RunEvidence).run.id, chain);
  }

  of(runId: string): Chain | undefined {
    return this.#byFirst.get(this.#firstOf.get(runId) ?? "");
  }

  named(id: string): Chain | undefined {
    return this.#byId.get(id);
  }

  children(runId: string, op: string): readonly string[] {
    return this.#byOp.get(`${runId}\t${op}`) ?? [];
  }
}

function endOf(chain: Chain | undefined): RunEvidence["run"] | undefined {
  return chain?.at(-1)?.run;
}

// Children ------------------------------------------------------------------------------------------------------------

/** A run that was started by another is known there, unless that one has ended before it could be. */
function judgeLineage({ run }: RunEvidence, chains: Chains, report: Report): void {
  const { lineage } = run;
  if (lineage && run.endedAt === null) report("forgotten", `is ${run.status}, but nothing will happen any more`);
  if (!lineage || lineage.op === null || run.continuedFrom !== null) return;
  const parent = chains.of(lineage.parent.runId)?.find((one) => one.run.runId === lineage.parent.runId);
  if (!parent) return report("wrong", `has a parent that does not exist: ${lineage.parent.runId}`);
  // A parent whose worker has died may learn of the end before it learns that the start took effect.
  const own = parent.history.filter(({ type, op }) => type.startsWith("child_") && op === lineage.op);
  const started = own.find(({ type }) => type === "child_started")?.meta?.child?.runId;
  const by = `${lineage.op} of ${lineage.parent.runId}`;
  if (started !== undefined && started !== run.runId) report("repeated", `was started by ${by}, which has ${started}`);
  const settled = ["completed", "continued"].includes(parent.run.status) && !isGivenUp(parent.history, lineage.op);
  if (own.length === 0 && settled) report("wrong", `was started by ${by}, whose history does not know it`);
}

function isGivenUp(history: readonly HistoryEvent[], op: string): boolean {
  return history.some((event) => event.type === "op_canceled" && event.op === op);
}

/** Every child op has started one run, and has at most one outcome: that run's end. Returns how many have one. */
function judgeChildren({ run, history }: RunEvidence, chains: Chains, report: Report): number {
  const ops = new Set(history.filter(({ type }) => type.startsWith("child_")).map(({ op }) => op as string));
  let answered = 0;
  for (const op of ops) {
    const own = history.filter((event) => event.op === op);
    const started = own.filter(({ type }) => type === "child_started");
    const outcomes = own.filter(({ type }) => type === "child_completed" || type === "child_failed");
    const runs = chains.children(run.runId, op);
    if (started.length > 1 || runs.length > 1)
      report("repeated", `${op} has started ${runs.length} runs, and noted that ${started.length} times`);
    if (outcomes.length > 1) report("repeated", `${op} has ${outcomes.length} outcomes`);
    const child = started[0]?.meta?.child?.runId;
    if (child !== undefined && runs[0] !== child) report("lost", `${op} has started ${child}, which does not exist`);
    const [outcome] = outcomes;
    if (outcome) judgeOutcome(op, outcome, endOf(chains.of(child ?? runs[0] ?? "")), report);
    else if (run.status === "completed" && !isGivenUp(history, op) && isAwaited(own))
      report("lost", `${op} has no outcome`);
    if (outcome) answered += 1;
  }
  return answered;
}

/** A parent may end without the result of a child that it only started. */
function isAwaited(events: readonly HistoryEvent[]): boolean {
  return !events.some(({ type }) => type === "child_started");
}

function judgeOutcome(op: string, event: HistoryEvent, end: RunEvidence["run"] | undefined, report: Report): void {
  const { type, payload, meta } = event;
  if (type === "child_failed" && meta?.status === undefined) return; // it was never started
  if (!end) return report("wrong", `${op} has the outcome of a run that does not exist`);
  const status = type === "child_completed" || type === "message_sent" ? "completed" : meta?.status;
  if (end.status !== status) report("wrong", `${op} was told that ${end.runId} is ${status}, but it is ${end.status}`);
  else if (status === "completed" && !isSame(payload, end.output))
    report("wrong", `${op} was told another output than that of ${end.runId}`);
}

function isSame(a: Uint8Array | null | undefined, b: Uint8Array | null | undefined): boolean {
  return Buffer.compare(a ?? new Uint8Array(0), b ?? new Uint8Array(0)) === 0;
}

// Messages ------------------------------------------------------------------------------------------------------------

/** Every message has one outcome; what `resultOf` was told is what the other run has returned. Returns how many there are. */
function judgeMessages({ history }: RunEvidence, chains: Chains, report: Report): number {
  const sent = history.filter(({ type }) => type === "message_sent" || type === "message_failed");
  const ops = new Set<string>();
  for (const event of sent) {
    const op = event.op as string;
    if (ops.has(op)) report("repeated", `${op} has two outcomes`);
    ops.add(op);
    if (op.startsWith("result:")) judgeOutcome(op, event, endOf(chains.named(event.meta?.to?.id ?? "")), report);
  }
  return sent.length;
}

/** No message was taken out of the inbox twice, and everybody was told the same answer. Returns how many updates there are. */
function judgeInbox(chain: Chain, { said, lines }: ConversationEvidence, findings: Finding[]): number {
  const { id } = (chain[0] as RunEvidence).run;
  const report: Report = (fault, text) => findings.push({ fault, id, text });
  // A signal that the code has not received yet is carried on: it is in the history of the successor as well.
  const signals = chain.map(({ history }) => idsOf(history, "signal_received"));
  const twice = [...signals, chain.flatMap(({ history }) => idsOf(history, "update_accepted"))].flatMap(repeatedIn);
  if (twice.length > 0) report("repeated", `has taken messages twice: ${twice.join(", ")}`);
  const answers = answersOf(chain, report);
  for (const one of said.filter((saying) => saying.id === id)) {
    if (one.code !== undefined) report("lost", `${one.kind} ${one.token} was refused: ${one.code}`);
    else if (one.kind !== "signal-with-start") judgeAnswer(one.token, one.value, answers, report);
  }
  for (const { op, answer } of lines.filter(({ phase, run }) => phase === "told" && run === id))
    if (answer !== null) judgeAnswer(op, answer, answers, report);
  return answers.size;
}

function idsOf(history: readonly HistoryEvent[], type: HistoryEvent["type"]): string[] {
  const events = history.filter((event) => event.type === type);
  return events.map(({ op, meta }) => (type === "signal_received" ? `${op} ${meta?.messageId}` : `${meta?.messageId}`));
}

function repeatedIn(ids: readonly string[]): string[] {
  return ids.filter((id, i) => ids.indexOf(id) !== i);
}

function judgeAnswer(token: string, value: unknown, answers: ReadonlyMap<string, unknown>, report: Report): void {
  if (!answers.has(token)) report("lost", `update ${token} was answered with ${value}, but history does not have it`);
  else if (!isDeepStrictEqual(answers.get(token), value))
    report("wrong", `update ${token} was answered with ${value}, but history has ${answers.get(token)}`);
}

/** The answers in history, by the tokens of the updates. Each of them is a number of its own. */
function answersOf(chain: Chain, report: Report): Map<string, unknown> {
  const answers = new Map<string, unknown>();
  for (const { history } of chain) {
    const tokens = new Map<string, string>();
    for (const { type, op, payload } of history) {
      if (type === "update_accepted") tokens.set(op as string, tokenIn(payload));
      const token = type === "update_completed" ? tokens.get(op as string) : undefined;
      if (token === undefined) continue;
      const value = payload === undefined ? undefined : jsonCodec.decode(payload);
      if (answers.has(token)) report("repeated", `update ${token} has two answers`);
      if ([...answers.values()].includes(value)) report("wrong", `two updates were answered with ${value}`);
      answers.set(token, value);
    }
  }
  return answers;
}

function tokenIn(payload: Uint8Array | undefined): string {
  return payload === undefined ? "" : ((jsonCodec.decode(payload) as { token?: string }).token ?? "");
}
