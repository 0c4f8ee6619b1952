import type { Context } from "../../src/replay/context/context.ts";
import { ContinueAsNew } from "../../src/replay/context/context.ts";
import type { StepOptions } from "../../src/replay/ops/step-options.ts";
import type { WorkflowBody } from "../../src/replay/run-code.ts";
import type { Block, FanNode, InstantNode, Node, OpNode, Program, StepNode, Via } from "./program.ts";

/** So many nodes may be executed: loops within loops must not make a case long. */
const FUEL = 150;

/** What the code of one machine has seen and done. Every chain reads and writes it, so it shows how they interleaved. */
export class World {
  readonly log: string[] = [];
  readonly slots: (Promise<unknown> | undefined)[] = [];
  shared = 0;
  fuel = FUEL;

  note(id: number, mark: string, value?: unknown): void {
    const shown = value === undefined ? "" : ` ${text(value)}`;
    this.log.push(`${id}${mark}${shown} (shared ${this.shared})`);
  }
}

/** An error of a generated program. Without a stack: making one is most of its cost, and it is no part of the comparison. */
export class ProgramError extends Error {
  constructor(message: string) {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = limit;
    this.name = "ProgramError";
  }
}

/** What the code stands in: the ctx of the branch, and that of the workflow function. */
interface Place {
  readonly ctx: Context;
  readonly root: Context;
  readonly world: World;
}

/** The program as a workflow function that leaves its traces in `world`. Its output is those traces. */
export function bodyOf(program: Program, world: World): WorkflowBody {
  return async (ctx) => {
    await runBlock(program.body, { ctx, root: ctx, world });
    return { log: world.log, shared: world.shared };
  };
}

/** An error as user code could tell it from another. */
export function describeError(error: unknown): string {
  if (error instanceof ContinueAsNew) return "continue as new";
  if (!(error instanceof Error)) return `thrown ${text(error)}`;
  const { code, op, recordedCode } = error as { code?: unknown; op?: unknown; recordedCode?: unknown };
  const members = error instanceof AggregateError ? ` {${error.errors.map(describeError).join("; ")}}` : "";
  const cause = error.cause === undefined ? "" : ` because ${describeError(error.cause)}`;
  return `${error.name}: ${error.message} [${[code, recordedCode, op].join(" ")}]${members}${cause}`;
}

async function runBlock(block: Block, place: Place): Promise<number> {
  for (const node of block) await runNode(node, place);
  return place.world.shared;
}

async function runNode(node: Node, place: Place): Promise<void> {
  const { world } = place;
  world.fuel -= 1;
  if (world.fuel < 0) throw new ProgramError("out of fuel");
  switch (node.type) {
    case "step":
    case "sleep":
    case "receive":
      return awaitOp(node, place);
    case "native":
    case "parallel":
    case "race":
      return fanOut(node, place);
    case "begin": {
      world.note(node.id, "?");
      world.slots[node.slot] = ask(node.op, place);
      return;
    }
    case "fork": {
      world.note(node.id, "?");
      const chain = runBlock(node.body, place);
      if (!node.bare) chain.catch(() => {});
      world.slots[node.slot] = chain;
      return;
    }
    case "join":
      return world.note(node.id, "=", await world.slots[node.slot]);
    case "hop":
      for (let i = 0; i < node.hops; i++) await undefined;
      return world.note(node.id, "=");
    case "loop":
      for (let i = 0; i < node.times && (node.below === null || world.shared < node.below); i++)
        await runBlock(node.body, place);
      return;
    case "ifOdd":
      await runBlock(world.shared % 2 === 1 ? node.body : node.otherwise, place);
      return;
    case "patched": {
      const patched = place.ctx.patched(node.patch);
      world.note(node.id, "=", patched);
      if (patched) await runBlock(node.body, place);
      return;
    }
    case "try":
      return tryCatch(node, place);
    case "uncancelable":
      await contextOf(node.via, place).uncancelable((ctx) => runBlock(node.body, { ...place, ctx }));
      return world.note(node.id, "=");
    default:
      return runInstant(node, place);
  }
}

function runInstant(node: InstantNode, { ctx, world }: Place): void {
  switch (node.type) {
    case "sideEffect": {
      const value = ctx.sideEffect(node.name, () => ({ read: world.shared, at: ctx.info.historyLength }));
      return world.note(node.id, "=", value);
    }
    case "look":
      return world.note(node.id, "=", look(node, ctx));
    case "set":
      return ctx.set({ [node.key]: world.shared });
    case "retired":
      return ctx.retired(node.name);
    case "compensate":
      return ctx.compensate(node.name, () => undo(node.fails, node.id));
    case "onAbort":
      return ctx.abortSignal.addEventListener("abort", () => world.note(node.id, "="));
    case "add":
      world.shared += node.amount;
      return;
    case "throw":
      throw new ProgramError(`thrown at ${node.id}`);
    case "continueAsNew":
      return ctx.continueAsNew({ shared: world.shared });
  }
}

/** Reads the shared variable before and writes it after, as code does that loses updates. */
async function awaitOp(node: OpNode, place: Place): Promise<void> {
  const { world } = place;
  world.note(node.id, "?");
  const before = world.shared;
  const value = await ask(node, place);
  world.shared = before + 1;
  world.note(node.id, "=", value ?? "nothing");
}

function ask(node: OpNode, place: Place): Promise<unknown> {
  const ctx = contextOf(node.via, place);
  if (node.type === "step") {
    const fn = ({ attempt }: { attempt: number }): unknown => {
      if (attempt <= node.failures) throw new ProgramError(`${node.name} failed at attempt ${attempt}`);
      return `${node.name}@${place.world.shared}`;
    };
    return ctx.step(node.name, fn, stepOptions(node));
  }
  if (node.type === "sleep") {
    if (node.until) return ctx.sleepUntil(node.name, new Date(ctx.now().getTime() + node.ms));
    return ctx.sleep(node.name, { milliseconds: node.ms });
  }
  const signal = { kind: "signal" as const, name: node.signal };
  return node.timeoutMs === null
    ? ctx.receive(signal)
    : ctx.receive(signal, { timeout: { milliseconds: node.timeoutMs } });
}

function stepOptions(node: StepNode): StepOptions {
  return {
    retry: { attempts: node.attempts, fixed: "1s" },
    onCrash: node.onCrash,
    ...(node.undo === "none"
      ? {}
      : { compensate: (result, c) => undo(node.undo === "fails", node.id, `${c.outcome} ${text(result)}`) }),
  };
}

/** What is returned becomes part of the history: so a compensation that is told something else shows. */
function undo(fails: boolean, id: number, told = ""): string {
  if (fails) throw new ProgramError(`compensation of ${id} failed`);
  return `undone ${id} ${told}`;
}

function look(node: Extract<Node, { type: "look" }>, ctx: Context): unknown {
  switch (node.at) {
    case "now":
      return ctx.now().getTime();
    case "random":
      return ctx.random();
    case "uuid":
      return ctx.uuid();
    case "named uuid":
      return ctx.uuid("name");
    case "info":
      return ctx.info.historyLength;
    case "log":
      return ctx.log.info({}, `line ${node.id}`);
  }
}

async function fanOut(node: FanNode, place: Place): Promise<void> {
  const { world } = place;
  world.note(node.id, "?");
  if (node.type === "native") return world.note(node.id, "=", await native(node.how, node.branches, place));
  const branches = node.branches.map((block) => (ctx: Context) => runBlock(block, { ...place, ctx }));
  const shaped = node.keyed ? Object.fromEntries(branches.map((fn, i) => [`b${i}`, fn])) : branches;
  const ctx = contextOf(node.via, place);
  if (node.type === "race") return world.note(node.id, "=", await ctx.race(shaped));
  const onError = node.collect ? ("collect-all" as const) : ("fail-fast" as const);
  const options = { onError, ...(node.limit === null ? {} : { limit: node.limit }) };
  world.note(node.id, "=", await ctx.parallel(shaped, options));
}

function native(
  how: "all" | "race" | "any" | "allSettled",
  branches: readonly Block[],
  place: Place,
): Promise<unknown> {
  const chains = branches.map((block) => runBlock(block, place));
  switch (how) {
    case "all":
      return Promise.all(chains);
    case "race":
      return Promise.race(chains);
    case "any":
      return Promise.any(chains);
    case "allSettled":
      return Promise.allSettled(chains);
  }
}

async function tryCatch(node: Extract<Node, { type: "try" }>, place: Place): Promise<void> {
  const { handler, finalizer } = node;
  try {
    await runBlock(node.body, place);
  } catch (error) {
    place.world.note(node.id, "!", describeError(error));
    if (!handler) throw error;
    await runBlock(handler, place);
  } finally {
    if (finalizer) await runBlock(finalizer, place);
  }
}

function contextOf(via: Via, place: Place): Context {
  return via === "root" ? place.root : place.ctx;
}

function text(value: unknown): string {
  return JSON.stringify(value, (_, part) => (part instanceof Error ? describeError(part) : part)) ?? "undefined";
}
