/** The workloads about children: runs that start others, wait for them, give them up and undo them, while all of them may die. */
import { type Context, isHoldfastError, NonRetryableError, signal, workflow } from "holdfast";
import { digest, type Grown, outputOf, Trail } from "./trail.ts";
import { completed, type ExpectedEnd, type Member, type Workload } from "./workload.ts";

const never = signal("never");
const COMPENSATED: ExpectedEnd = { status: "canceled", compensation: ["compensated", null] };

// Children ------------------------------------------------------------------------------------------------------------

/** The output of a child: what it is worth, and which run it was. */
export function grown({ info }: Context, value: string): Grown {
  return { value, token: `run:${info.runId}` };
}

interface LeafInput {
  readonly n: number;
  readonly steps: number;
}

export const leaf = workflow("torture-leaf", async (ctx, { n, steps }: LeafInput) => {
  const trail = new Trail();
  for (let i = 0; i < steps; i++) await trail.step(ctx, `leaf-${i}`, { failures: i === 0 ? n % 2 : 0 });
  return grown(ctx, trail.output);
});

function leafOutput(steps: number): string {
  return outputOf(Array.from({ length: steps }, (_, i) => `leaf-${i}`));
}

const failing = workflow("torture-failing", async (ctx, n: number): Promise<Grown> => {
  const trail = new Trail();
  await trail.step(ctx, "buy", { undoable: true });
  await trail.step(ctx, "lose", { failures: n % 2 });
  throw new NonRetryableError("this child fails, as planned");
});

interface Hop {
  readonly left: number;
  readonly seen: readonly string[];
  readonly values: readonly string[];
}

/** A child that continues as new: its parent waits for the last of the chain. */
const hopper = workflow("torture-hopper", async (ctx, { left, seen, values }: Hop): Promise<Grown> => {
  const trail = new Trail(seen, values);
  await trail.step(ctx, `hop-${left}`);
  if (left > 0) return ctx.continueAsNew({ left: left - 1, seen: trail.seen, values: trail.values });
  return grown(ctx, trail.output);
});

function hops(n: number): number {
  return 1 + (n % 3);
}

/** Ends in time by itself: for parents that leave it alone. */
export const napper = workflow("torture-napper", async (ctx, n: number) => {
  const trail = new Trail();
  await trail.step(ctx, "yawn");
  await trail.sleep(ctx, "nap", 50 + (n % 5) * 100);
  await trail.step(ctx, "wake");
  return grown(ctx, trail.output);
});

export const NAPPER_OUTPUT = outputOf(["yawn", "wake"]);

/** Ends only if somebody ends it. */
const endless = workflow("torture-endless", async (ctx, undoable: boolean): Promise<Grown> => {
  const trail = new Trail();
  await trail.step(ctx, "open", undoable ? { undoable } : {});
  await ctx.receive(never);
  return grown(ctx, "nobody sends it");
});

/** Waits for an endless child of its own. */
const nest = workflow("torture-nest", async (ctx, undoable: boolean): Promise<Grown> => {
  return ctx.child(endless, undoable, { id: `${ctx.info.id}/inner` });
});

const branch = workflow("torture-branch", async (ctx, { n, steps }: LeafInput): Promise<Grown> => {
  const trail = new Trail();
  await trail.step(ctx, "split");
  if (steps > 0)
    trail.note(
      ...(await Promise.all([ctx.child(branch, { n, steps: steps - 1 }), ctx.child(leaf, { n, steps })] as const)),
    );
  await trail.step(ctx, "join");
  return grown(ctx, trail.output);
}) as typeof leaf;

function branchOutput(steps: number): string {
  const parts = steps > 0 ? [`:${branchOutput(steps - 1)}`, `:${leafOutput(steps)}`] : [];
  return outputOf(["split", ...parts, "join"]);
}

// Parents -------------------------------------------------------------------------------------------------------------

/** Children of all kinds at once. */
const family = workflow("torture-family", async (ctx, n: number) => {
  const trail = new Trail();
  await trail.step(ctx, "found");
  const lost = async (): Promise<Grown[]> => {
    const code = await ctx.child(failing, n).then(
      () => "completed",
      (error: unknown) => (isHoldfastError(error) ? error.code : String(error)),
    );
    return [{ value: code, token: trail.seen[0] as string }];
  };
  const all = await Promise.all([
    ctx.child(leaf, { n, steps: 2 }).then((one) => [one]),
    ctx.child(leaf, { n: n + 1, steps: 3 }, { id: `${ctx.info.id}/named` }).then((one) => [one]),
    ctx.child(branch, { n, steps: 1 + (n % 2) }).then((one) => [one]),
    ctx.child(hopper, { left: hops(n), seen: [], values: [] }).then((one) => [one]),
    lost(),
  ]);
  trail.note(...all.flat());
  await trail.step(ctx, "gather");
  return trail.output;
});

function familyOutput(n: number): string {
  const hopped = outputOf(Array.from({ length: hops(n) + 1 }, (_, i) => `hop-${hops(n) - i}`));
  const children = [leafOutput(2), leafOutput(3), branchOutput(1 + (n % 2)), hopped, "run_failed"];
  return outputOf(["found", ...children.map((value) => `:${value}`), "gather"]);
}

type Ending = (ctx: Context, n: number, output: string) => Promise<string>;

/** A parent that ends while its children are open, each with another policy. */
function keeper(name: string, end: Ending) {
  return workflow(name, async (ctx, input: number | { readonly output: string }) => {
    if (typeof input !== "number") return input.output;
    const { id } = ctx.info;
    const trail = new Trail();
    await trail.step(ctx, "open");
    await Promise.all([
      ctx.startChild(endless, true, { id: `${id}/cancel` }),
      ctx.startChild(endless, false, { id: `${id}/terminate`, onParentClose: "terminate" }),
      ctx.startChild(napper, input, { id: `${id}/abandon`, onParentClose: "abandon" }),
      ctx.startChild(nest, true, { id: `${id}/nest` }),
    ]);
    await trail.step(ctx, "work", { dwellMs: input % 40 });
    return end(ctx, input, trail.output);
  });
}

const leaving = keeper("torture-leaving", async (ctx, n, output) => {
  if (n % 3 === 0) return output;
  if (n % 3 === 1) throw new NonRetryableError("the parent fails, as planned");
  return ctx.continueAsNew({ output });
});
const waiting: Ending = async (ctx) => {
  await ctx.receive(never);
  return "nobody sends it";
};
const canceled = keeper("torture-canceled-parent", waiting);
const terminated = keeper("torture-terminated-parent", waiting);

/** `certain`: nobody ends the parent before it has started all of them. */
function kept(id: string, certain: boolean): readonly Member[] {
  const members: Member[] = [
    { id: `${id}/cancel`, expected: COMPENSATED },
    { id: `${id}/terminate`, expected: { status: "terminated" } },
    { id: `${id}/abandon`, expected: completed(NAPPER_OUTPUT) },
    { id: `${id}/nest`, expected: { status: "canceled" } },
  ];
  const inner: Member = { id: `${id}/nest/inner`, expected: COMPENSATED, optional: true };
  return [...members.map((member) => (certain ? member : { ...member, optional: true as const })), inner];
}

/** A child that has completed is undone; one that has not is canceled, its end awaited, and undone too. */
const undone = workflow("torture-undone", async (ctx, n: number) => {
  const trail = new Trail();
  await trail.child(ctx, leaf, { n, steps: 2 }, { undoable: true });
  const fail = async (): Promise<never> => {
    await trail.step(ctx, "hesitate", { dwellMs: n % 60 });
    throw new NonRetryableError("it is off, as planned");
  };
  const rest = { id: `${ctx.info.id}/rest`, onParentClose: "abandon", undoable: true } as const;
  await Promise.all([trail.child(ctx, endless, true, rest), fail()]);
  return "it never gets here";
});

/** The loser of a race is closed as its policy says, though the parent goes on. */
const rivals = workflow("torture-rivals", async (ctx, n: number) => {
  const trail = new Trail();
  const options = { id: `${ctx.info.id}/slow`, onParentClose: policyOf(n) } as const;
  const { winner } = await ctx.race({
    quick: (c: Context) => trail.step(c, "quick", { dwellMs: 5 + (n % 50) }),
    slow: (c: Context) => (n % 3 === 2 ? c.child(napper, 40, options) : c.child(endless, n % 3 === 0, options)),
  });
  trail.values.push(n % 3 === 2 ? "either" : String(winner));
  await trail.step(ctx, "cheer");
  return n % 3 === 2 ? "either" : trail.output;
});

function policyOf(n: number): "cancel" | "terminate" | "abandon" {
  return (["cancel", "terminate", "abandon"] as const)[n % 3] as "cancel";
}

function rival(n: number): ExpectedEnd {
  if (n % 3 === 0) return COMPENSATED;
  return n % 3 === 1 ? { status: "terminated" } : completed(NAPPER_OUTPUT);
}

/** For the worker processes. */
export const CHILD_DEFINITIONS = [leaf, failing, hopper, napper, endless, nest, branch];

export const CHILD_WORKLOADS: readonly Workload[] = [
  {
    name: "family",
    definition: family,
    end: (n) => completed(familyOutput(n)),
    members: (_n, id) => [{ id: `${id}/named`, expected: completed(leafOutput(3)) }],
  },
  {
    name: "leaving",
    definition: leaving as Workload["definition"],
    end: (n) => (n % 3 === 1 ? { status: "failed" } : completed(outputOf(["open", "work"]))),
    members: (_n, id) => kept(id, true),
  },
  {
    name: "canceled-parent",
    definition: canceled as Workload["definition"],
    end: () => ({ status: "canceled" }),
    members: (_n, id) => kept(id, false),
    cancelAfterMs: (n) => (n % 16) * 25,
  },
  {
    name: "terminated-parent",
    definition: terminated as Workload["definition"],
    end: () => ({ status: "terminated" }),
    members: (_n, id) => kept(id, false),
    terminateAfterMs: (n) => (n % 16) * 25,
  },
  {
    name: "undone",
    definition: undone,
    end: () => ({ status: "failed", compensation: ["compensated"] }),
    members: (_n, id) => [{ id: `${id}/rest`, expected: COMPENSATED, optional: true }],
  },
  {
    name: "rivals",
    definition: rivals,
    end: (n) => completed(n % 3 === 2 ? "either" : outputOf(["quick", ":quick", "cheer"])),
    members: (n, id) => [{ id: `${id}/slow`, expected: rival(n), optional: true }],
  },
];

/** The same for every order of what is in it. */
export function digestOfSet(parts: readonly unknown[]): string {
  return digest(parts.map(String).sort());
}
