import type { HistoryEvent } from "../../src/model/event.ts";
import { replayHistory } from "../../src/replay/replayer.ts";
import { playLive } from "./exactness.ts";
import { codeOf } from "./generated-case.ts";
import { immediate } from "./immediate.ts";
import { newMachine } from "./live-run.ts";
import { Mismatch } from "./mismatch.ts";
import { type Plan, PlanScript } from "./moves.ts";
import { type Node, nodesOf, type Program, type SleepNode, type StepNode } from "./program.ts";

/** A program, what happened to it, and which of its ops somebody changed afterwards. */
export interface ChangedCase {
  readonly program: Program;
  readonly plan: Plan;
  readonly pick: number;
  readonly change: "renamed" | "of another kind" | "preceded by a new timer";
}

/**
 * Code that does not match its history must be found out: no later than at the first event about the op, before anything is
 * written. Returns whether there was anything to change.
 */
export async function checkChangeIsFound({ program, plan, pick, change }: ChangedCase): Promise<boolean> {
  const live = await playLive(codeOf(program), new PlanScript(plan));
  const known = changeable(program, live.history, change);
  const target = known[pick % known.length];
  if (!target) return false;
  const { body } = codeOf(replaceNode(program, target, change));
  const machine = await replayHistory(newMachine(body, live.history), immediate);
  const what = `node ${target.id} is ${change}, and replay`;
  const fault = (text: string): Mismatch => new Mismatch(`${what} ${text}`, live, { history: machine.fresh });
  const { divergence } = machine;
  if (!divergence) throw fault("did not notice");
  if (machine.fresh.length > 0) throw fault("wrote something");
  const first = live.history.find((event) => event.op === target.name) as HistoryEvent;
  if (divergence.seq > first.seq) throw fault(`noticed only at event ${divergence.seq}, not at ${first.seq}`);
  return true;
}

/** Ops with names of their own, of which history knows. */
function changeable(
  program: Program,
  history: readonly HistoryEvent[],
  change: ChangedCase["change"],
): (StepNode | SleepNode)[] {
  const nodes = nodesOf(program.body);
  const held = new Set(nodes.flatMap((node) => (node.type === "begin" ? [node.op.id] : [])));
  return nodes.filter((node): node is StepNode | SleepNode => {
    if (node.type !== "step" && node.type !== "sleep") return false;
    // Nothing can be put before an op that stands in an assignment.
    if (change === "preceded by a new timer" && held.has(node.id)) return false;
    return node.name.startsWith("own") && history.some((event) => event.op === node.name);
  });
}

function replaceNode(program: Program, target: StepNode | SleepNode, change: ChangedCase["change"]): Program {
  const nodes = changed(target, change);
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.flatMap((part) => (isTarget(part) ? nodes : [visit(part)]));
    if (typeof value !== "object" || value === null) return value;
    if (isTarget(value)) return nodes.at(-1);
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, visit(part)]));
  };
  const isTarget = (value: unknown): boolean => (value as Node | null)?.id === target.id;
  return visit(program) as Program;
}

function changed(node: StepNode | SleepNode, change: ChangedCase["change"]): Node[] {
  const { id, name, via } = node;
  switch (change) {
    case "renamed":
      return [{ ...node, name: "another" }];
    case "of another kind":
      return node.type === "sleep"
        ? [{ type: "step", id, name, via, failures: 0, attempts: 1, undo: "none", onCrash: "retry" }]
        : [{ type: "sleep", id, name, via, ms: 500, until: false }];
    case "preceded by a new timer": {
      const timer: SleepNode = { type: "sleep", id, name: "another", via, ms: 500, until: false };
      return [{ type: "begin", id, slot: 9, op: timer }, node];
    }
  }
}
