import fc from "fast-check";
import { type Context, type RunHandle, signal, task, workflow } from "holdfast";
import { expect, test } from "vitest";
import { Fleet } from "../lab/fleet.ts";

/** A program as data. What each op returns depends on what the code has seen before it in its chain. */
type Node =
  | { readonly type: "step"; readonly name: string; readonly failures: number; readonly undo: boolean }
  | { readonly type: "side" | "sleep"; readonly name: string }
  | { readonly type: "task" | "child" | "receive" | "set" }
  | { readonly type: "all" | "race"; readonly branches: readonly (readonly Node[])[] };

type Shape =
  | { readonly type: "step"; readonly failures: number; readonly undo: boolean }
  | { readonly type: "side" | "sleep" | "task" | "child" | "receive" | "set" }
  | { readonly type: "all" | "race"; readonly branches: readonly (readonly Shape[])[] };

const leaf: fc.Arbitrary<Shape> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant("step" as const), failures: fc.nat(1), undo: fc.boolean() }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constantFrom("side", "sleep", "task", "child", "receive", "set") }) },
) as fc.Arbitrary<Shape>;

const fan: fc.Arbitrary<Shape> = fc.record({
  type: fc.constantFrom("all", "race"),
  branches: fc.array(fc.array(leaf, { minLength: 1, maxLength: 2 }), { minLength: 2, maxLength: 3 }),
}) as fc.Arbitrary<Shape>;

const programs: fc.Arbitrary<readonly Node[]> = fc
  .array(fc.oneof({ weight: 3, arbitrary: leaf }, { weight: 1, arbitrary: fan }), { minLength: 1, maxLength: 5 })
  .map((shapes) => named(shapes, { count: 0 }));

function named(shapes: readonly Shape[], names: { count: number }): Node[] {
  return shapes.map((shape): Node => {
    if ("branches" in shape) return { ...shape, branches: shape.branches.map((branch) => named(branch, names)) };
    names.count += 1;
    return { ...shape, name: `${shape.type}-${names.count}` } as Node;
  });
}

const MODULUS = 9_973;

function mix(seen: number, name: string): number {
  return (seen * 31 + name.length * 7 + (name.codePointAt(name.length - 1) ?? 0)) % MODULUS;
}

const note = signal<number>("note");
const small = workflow("small", async (ctx, seen: number) => ctx.step("inner", () => mix(seen, "child")));

/** A fleet that runs the program, and what its steps did. */
function laboratory(program: readonly Node[]) {
  const fleet = new Fleet();
  const executed: string[] = [];
  const work = task("work", (seen: number) => mix(seen, "task"));
  const runNode = async (ctx: Context, node: Node, seen: number): Promise<number> => {
    switch (node.type) {
      case "step": {
        const { name, failures, undo } = node;
        const fn = ({ attempt, runId }: { attempt: number; runId: string }): number => {
          executed.push(`${runId} ${name}`);
          if (attempt <= failures) throw new Error("not yet");
          return mix(seen, name);
        };
        const options = { retry: { attempts: 2, fixed: "5m" as const }, ...(undo ? { compensate: () => {} } : {}) };
        return ctx.step(name, (s) => fn({ attempt: s.attempt, runId: ctx.info.runId }), options);
      }
      case "side":
        return ctx.sideEffect(node.name, () => mix(seen, node.name));
      case "sleep":
        await ctx.sleep(node.name, "10m");
        return seen;
      case "task":
        return ctx.task(work, seen);
      case "child":
        return ctx.child(small, seen);
      case "receive":
        return (await ctx.receive(note, { timeout: "7m" })) ?? mix(seen, "receive");
      case "set":
        ctx.set({ seen });
        return seen;
      case "all": {
        const all = await Promise.all(node.branches.map((branch) => runAll(ctx, branch, seen)));
        return all.reduce((sum, one) => (sum * 17 + one) % MODULUS, 0);
      }
      case "race":
        return (await ctx.race(node.branches.map((branch) => (inner: Context) => runAll(inner, branch, seen)))).value;
    }
  };
  const runAll = async (ctx: Context, nodes: readonly Node[], seen: number): Promise<number> => {
    let last = seen;
    for (const node of nodes) last = await runNode(ctx, node, last);
    return last;
  };
  const order = workflow("order", (ctx, seen: number) => runAll(ctx, program, seen));
  const open = async (): Promise<RunHandle<number>> => {
    await fleet.forgetful({ workflows: [order, small], tasks: [work] });
    return fleet.client().start(order, 1);
  };
  return { fleet, executed, open };
}

/** The result without any engine, with what some of its ops return. A race is not judged here: time decides it. */
function reference(nodes: readonly Node[], seen: number, edits: Readonly<Record<string, number>>): number {
  let last = seen;
  for (const node of nodes) {
    if (node.type === "all") {
      const all = node.branches.map((branch) => reference(branch, last, edits));
      last = all.reduce((sum, one) => (sum * 17 + one) % MODULUS, 0);
    } else if (node.type === "step" || node.type === "side") last = edits[node.name] ?? mix(last, node.name);
    else if (node.type === "task" || node.type === "child" || node.type === "receive") last = mix(last, node.type);
  }
  return last;
}

function hasRace(nodes: readonly Node[]): boolean {
  return nodes.some((node) => node.type === "race");
}

const ENDED = ["step_completed", "step_failed", "side_effect"];

test("a fork without edits ends as its origin did, wherever it is cut, and executes nothing again that had ended", async () => {
  await fc.assert(
    fc.asyncProperty(programs, async (program) => {
      const { fleet, executed, open } = laboratory(program);
      const run = await open();
      const output = await fleet.result(run);
      const history = await run.history();
      for (let before = 1; before < history.length; before++) {
        executed.length = 0;
        const fork = await run.fork({ before });
        const again = await fleet.result(fork);
        // What was in flight begins anew, so another branch may win.
        if (!hasRace(program)) expect(again).toBe(output);
        const done = history.slice(0, before).filter(({ type }) => ENDED.includes(type));
        const forbidden = done.map(({ op }) => `${fork.runId} ${op}`);
        expect(executed.filter((line) => forbidden.includes(line))).toEqual([]);
        const copied = (await fork.history()).slice(1, before);
        expect(copied).toEqual(history.slice(1, before));
      }
      await fleet.close();
    }),
    { numRuns: 60, seed: 16 },
  );
});

test("what follows an edit sees it, and neither it nor anything before it is executed", async () => {
  let edited = 0;
  await fc.assert(
    fc.asyncProperty(programs, fc.nat(), fc.integer({ min: 0, max: MODULUS - 1 }), async (program, pick, result) => {
      fc.pre(!hasRace(program));
      const { fleet, executed, open } = laboratory(program);
      const run = await open();
      await fleet.result(run);
      const history = await run.history();
      const ops = [...new Set(history.filter(({ type }) => ENDED.includes(type)).map(({ op }) => op as string))];
      const op = ops[pick % Math.max(1, ops.length)];
      if (op !== undefined) {
        edited += 1;
        executed.length = 0;
        const fork = await run.fork({ before: op, edit: { [op]: { result } } });
        expect(await fleet.result(fork)).toBe(reference(program, 1, { [op]: result }));
        const cut = history.findIndex((event) => event.op === op);
        const done = history.slice(0, cut).filter(({ type }) => ENDED.includes(type));
        const forbidden = [op, ...done.map((event) => event.op)].map((one) => `${fork.runId} ${one}`);
        expect(executed.filter((line) => forbidden.includes(line))).toEqual([]);
      }
      await fleet.close();
    }),
    { numRuns: 60, seed: 16 },
  );
  expect(edited).toBeGreaterThan(20);
});
