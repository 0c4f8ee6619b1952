import type { HistoryEvent } from "../../src/model/event.ts";
import { replayHistory } from "../../src/replay/replayer.ts";
import type { RunMachine } from "../../src/replay/run-machine.ts";
import { type Code, checkEveryPrefix, playLive } from "./exactness.ts";
import { codeOf } from "./generated-case.ts";
import { immediate } from "./immediate.ts";
import { type Cut, LiveRun, newMachine } from "./live-run.ts";
import { Mismatch } from "./mismatch.ts";
import { type Plan, PlanScript } from "./moves.ts";
import { blocksOf, type Node, nodesOf, type Program } from "./program.ts";
import { snapshotOf } from "./snapshot.ts";

/** Longer than any plan lasts. */
const TIMEOUT_MS = 1e11;

/** A program, what happened to it, and what somebody has put into its code since. */
export interface WaitingCase {
  readonly program: Program;
  readonly plan: Plan;
  readonly crash: number;
  readonly pick: number;
  readonly added: "step" | "sleep" | "sideEffect" | "patched" | "receive";
  readonly otherPlan: Plan;
}

export type WaitingOutcome = "diverged" | "went on" | "nothing to compare";

/**
 * Whether receives have a timeout, as long as none runs out, makes no difference to new code: it is found out in both cases or
 * in none, and does the same. Where it goes on, whatever it writes must again replay exactly.
 */
export async function checkWaitingEitherWay(value: WaitingCase): Promise<WaitingOutcome> {
  const { program, plan, crash, otherPlan } = value;
  const timed = withTimeouts(program, TIMEOUT_MS);
  const live = await playLive(codeOf(timed), new PlanScript(plan));
  const cuts = live.cuts.filter(({ snapshot }) => !live.history.slice(0, snapshot.seq).some(isReceiveTimeout));
  const cut = cuts[crash % cuts.length] as Cut;
  const history = live.history.slice(0, cut.snapshot.seq);
  if (!history.some(isReceiveTimer)) return "nothing to compare";

  const make = (): Code => codeOf(changed(timed, value));
  const [withTimers, without] = await Promise.all([
    conclude(make(), history),
    conclude(codeOf(changed(withTimeouts(program, null), value)), renumbered(history)),
  ]);
  if (withTimers.text !== without.text)
    throw new Mismatch("new code does something else where receives have a timeout", live, {
      history,
      state: `with timeouts:\n${withTimers.text}\nwithout:\n${without.text}`,
    });
  if (withTimers.machine.divergence) return "diverged";

  const code = make();
  const goesOn = new LiveRun({ ...code, script: new PlanScript(otherPlan), history, from: cut });
  await goesOn.play();
  const { divergence } = goesOn.machine;
  if (divergence) throw new Mismatch(`new code diverged while it ran: ${divergence.fault}`, live, goesOn);
  // What the new code has added to turns of the past is written at the end, before anything else happens.
  await checkEveryPrefix(goesOn, make, withTimers.machine.nextSeq - 1);
  return "went on";
}

/** What the code comes to, without what must differ: numbers of events, and the timers themselves. */
async function conclude(code: Code, history: readonly HistoryEvent[]): Promise<{ machine: RunMachine; text: string }> {
  const machine = await replayHistory(newMachine(code.body, history, [], true), immediate);
  const fresh = machine.fresh.filter((event) => !isReceiveTimer(event)).map(({ type, op }) => `fresh ${type} ${op}`);
  const state = snapshotOf(machine, code.log).state.replace(/(pending receive .*) due \S+/g, "$1");
  const lines = machine.divergence ? ["diverged"] : [state, ...fresh];
  return { machine, text: [...lines, ...code.log].join("\n").replace(/\\?"at\\?":\d+/g, "") };
}

function changed(program: Program, { pick, added }: WaitingCase): Program {
  const places = nodesOf(program.body).filter((node) => !isHeld(program, node));
  const place = places[pick % places.length];
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value))
      return value.flatMap((part) => (part?.id === place?.id ? [newNode(added), visit(part)] : [visit(part)]));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, visit(part)]));
  };
  return visit(program) as Program;
}

/** Nothing can be put before an op that stands in an assignment. */
function isHeld(program: Program, node: Node): boolean {
  return nodesOf(program.body).some((other) => other.type === "begin" && blocksOf(other)[0]?.[0] === node);
}

function newNode(added: WaitingCase["added"]): Node {
  const [id, name, via] = [999, "another", "branch" as const];
  const step: Node = {
    ...{ type: "step", id, name, via },
    ...{ failures: 0, attempts: 1, undo: "none", onCrash: "retry" },
  };
  switch (added) {
    case "step":
      return step;
    case "sleep":
      return { type: "sleep", id, name, via, ms: 500, until: false };
    case "sideEffect":
      return { type: "sideEffect", id, name };
    case "patched":
      return { type: "patched", id, patch: "change", body: [step] };
    case "receive":
      return { type: "receive", id, signal: "ping", via, timeoutMs: null };
  }
}

/** Nobody looks at the length of the history: it is another without the timers. */
function withTimeouts(program: Program, timeoutMs: number | null): Program {
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    if (typeof value !== "object" || value === null) return value;
    const node = value as Node;
    if (node.type === "receive") return { ...node, timeoutMs };
    if (node.type === "look" && node.at === "info") return { ...node, at: "now" };
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, visit(part)]));
  };
  return visit(program) as Program;
}

function renumbered(history: readonly HistoryEvent[]): HistoryEvent[] {
  return history.filter((event) => !isReceiveTimer(event)).map((event, i) => ({ ...event, seq: i + 1 }));
}

function isReceiveTimer({ type, op }: HistoryEvent): boolean {
  return type === "timer_created" && op !== null && op.startsWith("receive:");
}

function isReceiveTimeout({ type, op }: HistoryEvent): boolean {
  return type === "timer_fired" && op !== null && op.startsWith("receive:");
}
