/**
 * What torture runs: one workflow for each thing that can be cut in two. A run's input is one number, which determines
 * everything: what the run does, what the driver sends to it, and how it must end, whatever happens to its workers.
 */
import { type Context, NonRetryableError, signal, type WorkflowDefinition, workflow } from "holdfast";
import { CONVERSATION_WORKLOADS, TALKING_DEFINITIONS } from "./conversation-workloads.ts";
import { book } from "./ledger.ts";
import { poisonTask, TASK_WORKLOADS } from "./task-workloads.ts";
import { digest, outputOf, Trail } from "./trail.ts";
import { completed, type Sent, type Workload } from "./workload.ts";

const never = signal("never");

function sent(n: number, count: number): readonly Sent[] {
  return Array.from({ length: count }, (_, i) => ({ text: `nudge ${i} of ${n}`, token: `signal:${n}:${i}` }));
}

// Workflows -----------------------------------------------------------------------------------------------------------

const order = workflow("torture-order", async (ctx, n: number) => {
  const trail = new Trail();
  await trail.step(ctx, "reserve", { undoable: true });
  await trail.step(ctx, "charge", { failures: n % 3 });
  const before = [...trail.values];
  const branch = (name: string, dwellMs: number) => async (branchCtx: Context) => {
    const own = new Trail(trail.seen, before);
    await own.step(branchCtx, name, { dwellMs });
    trail.seen.push(...own.seen.slice(-1));
    const last = await own.step(branchCtx, `${name}-check`, { dwellMs });
    trail.seen.push(...own.seen.slice(-1));
    return last;
  };
  const parts = await ctx.parallel({ label: branch("label", 7), pack: branch("pack", 2), mail: branch("mail", 12) });
  trail.values.push(parts.label, parts.pack, parts.mail);
  await trail.sleep(ctx, "cool-off", 40 + (n % 7) * 40);
  await trail.step(ctx, "ship");
  return trail.output;
});

function orderOutput(): string {
  const before = [digest(["reserve"])];
  before.push(digest(["charge", ...before]));
  const branch = (name: string): string => {
    const values = [...before, digest([name, ...before])];
    return digest([`${name}-check`, ...values]);
  };
  const values = [...before, branch("label"), branch("pack"), branch("mail")];
  return digest([...values, digest(["ship", ...values])]);
}

const chain = workflow("torture-chain", async (ctx, n: number) => {
  const trail = new Trail();
  for (let i = 0; i < chainLength(n); i++) await trail.step(ctx, `link-${i}`, { dwellMs: i % 4 === 0 ? 15 : 1 });
  return trail.output;
});

function chainLength(n: number): number {
  return 5 + (n % 12);
}

const approval = workflow("torture-approval", async (ctx, n: number) => {
  const trail = new Trail();
  await trail.step(ctx, "draft");
  await trail.receive(ctx);
  await trail.step(ctx, "review");
  for (let i = 0; i < n % 3; i++) await trail.receive(ctx);
  await trail.step(ctx, "publish");
  return trail.output;
});

const race = workflow("torture-race", async (ctx, n: number) => {
  const trail = new Trail();
  await trail.step(ctx, "line-up");
  const { winner } = await ctx.race({
    quick: (c: Context) => trail.step(c, "quick", { dwellMs: 5 + (n % 20) }),
    slow: (c: Context) => c.sleep("slow", "1 hour"),
  });
  const nothing = await ctx.receive(never, { timeout: { milliseconds: 30 + (n % 5) * 30 } });
  trail.values.push(String(winner), String(nothing));
  await trail.step(ctx, "cheer");
  return trail.output;
});

const saga = workflow("torture-saga", async (ctx, n: number) => {
  const trail = new Trail();
  await trail.step(ctx, "flight", { undoable: true });
  await Promise.all([
    trail.step(ctx, "hotel", { undoable: true, dwellMs: 8 }),
    trail.step(ctx, "car", { undoable: true, failures: n % 2 }),
  ]);
  await trail.sleep(ctx, "hesitate", 30);
  throw new NonRetryableError("it is off, as planned");
});

export const SAGA_STEPS = 20;

const longSaga = workflow("torture-long-saga", async (ctx, _n: number) => {
  const trail = new Trail();
  for (let i = 1; i <= SAGA_STEPS; i++) await trail.step(ctx, `leg-${i}`, { undoable: true });
  throw new NonRetryableError("it is off, as planned");
});

const canceled = workflow("torture-canceled", async (ctx, _n: number) => {
  const trail = new Trail();
  await trail.step(ctx, "first", { undoable: true, dwellMs: 20 });
  await trail.step(ctx, "second", { undoable: true, dwellMs: 20 });
  await ctx.receive(never);
  return "nobody sends it";
});

interface Leg {
  readonly n: number;
  readonly leg: number;
  readonly seen: readonly string[];
  readonly values: readonly string[];
}

const relay = workflow("torture-relay", async (ctx, input: number | Leg) => {
  const { n, leg, seen, values } = typeof input === "number" ? { n: input, leg: 0, seen: [], values: [] } : input;
  const trail = new Trail(seen, values);
  await trail.step(ctx, `leg-${leg}`);
  if (leg < legs(n))
    return ctx.continueAsNew({ n, leg: leg + 1, seen: trail.seen.slice(-20), values: trail.values } satisfies Leg);
  await trail.receive(ctx);
  await trail.step(ctx, "finish");
  return trail.output;
});

function legs(n: number): number {
  return 1 + (n % 4);
}

const deadline = workflow({ name: "torture-deadline", timeout: "900ms" }, async (ctx, _n: number) => {
  const trail = new Trail();
  await trail.step(ctx, "deposit", { undoable: true });
  await ctx.receive(never);
  return "nobody sends it";
});

const once = workflow("torture-once", async (ctx, _n: number) => {
  const trail = new Trail();
  await trail.step(ctx, "before");
  // The output must not depend on whether it was cut off: that may differ from run to run.
  await trail.step(ctx, "only", { once: true, dwellMs: 15 }, { retry: "none", onCrash: "fail" }).catch(() => undefined);
  return "done at most once";
});

const hopeless = workflow("torture-hopeless", async (ctx, _n: number) => {
  const trail = new Trail();
  await trail.step(ctx, "pay", { undoable: true });
  await trail.step(ctx, "deliver", { failures: 99 }, { retry: { attempts: 3, fixed: "40ms" } });
  return "never";
});

const transfer = workflow("torture-transfer", async (ctx, n: number) => {
  const trail = new Trail();
  await trail.step(ctx, "check");
  const [moved] = await Promise.all([
    book(ctx, "book", 100 + n, n % 3),
    trail.step(ctx, "announce", { dwellMs: 5 }),
    book(ctx, "fee", 1),
  ]);
  await trail.sleep(ctx, "settle", 20 + (n % 5) * 20);
  await trail.step(ctx, "receipt");
  return moved + (await book(ctx, "bonus", n % 10));
});

const RUN_WORKLOADS: readonly Workload[] = [
  { name: "order", definition: order, end: () => completed(orderOutput()) },
  {
    name: "chain",
    definition: chain,
    end: (n) => completed(outputOf(Array.from({ length: chainLength(n) }, (_, i) => `link-${i}`))),
  },
  {
    name: "approval",
    definition: approval,
    end: (n) => {
      const [first, ...rest] = sent(n, 1 + (n % 3)).map(({ text }) => `:${text}`);
      return completed(outputOf(["draft", first as string, "review", ...rest, "publish"]));
    },
    signals: (n) => sent(n, 1 + (n % 3)),
  },
  {
    name: "race",
    definition: race,
    end: () => completed(outputOf(["line-up", "quick", ":quick", ":undefined", "cheer"])),
  },
  {
    name: "saga",
    definition: saga,
    end: () => ({ status: "failed", compensation: ["compensated"] }),
  },
  {
    name: "long-saga",
    definition: longSaga,
    end: () => ({ status: "failed", compensation: ["compensated"] }),
  },
  {
    name: "canceled",
    definition: canceled,
    end: () => ({ status: "canceled", compensation: ["compensated", null] }),
    cancelAfterMs: (n) => (n % 10) * 20,
  },
  {
    name: "relay",
    definition: relay as Workload["definition"],
    end: (n) => {
      const names = Array.from({ length: legs(n) + 1 }, (_, i) => `leg-${i}`);
      return completed(outputOf([...names, ...sent(n, 1).map(({ text }) => `:${text}`), "finish"]));
    },
    signals: (n) => sent(n, 1),
  },
  {
    name: "deadline",
    definition: deadline,
    end: () => ({ status: "timed_out", compensation: ["compensated", null] }),
  },
  { name: "once", definition: once, end: () => completed("done at most once") },
  {
    name: "hopeless",
    definition: hopeless,
    end: () => ({ status: "failed", compensation: ["compensated"] }),
  },
  { name: "transfer", definition: transfer, end: (n) => completed(100 + n + (n % 10)) },
];

/** For the campaign and for crashes at named points. */
export const WORKLOADS: readonly Workload[] = [...RUN_WORKLOADS, ...TASK_WORKLOADS, ...CONVERSATION_WORKLOADS];

export function workloadNamed(name: string): Workload {
  const found = WORKLOADS.find((workload) => workload.name === name);
  if (!found) throw new Error(`there is no workload "${name}"`);
  return found;
}

// For single tests ----------------------------------------------------------------------------------------------------

/** Two parallel steps: one waits at the gate of its process while the other is in its backoff. */
export const gated = workflow("torture-gated", async (ctx, _n: number) => {
  const trail = new Trail();
  await trail.step(ctx, "before");
  await Promise.all([
    trail.step(ctx, "held", { gated: true }),
    trail.step(ctx, "backoff", { failures: 1 }, { retry: { attempts: 4, fixed: "60ms" } }),
  ]);
  await trail.step(ctx, "after");
  return trail.seen.length;
});

export const poison = workflow("torture-poison", async (ctx, _n: number) => {
  await new Trail().step(ctx, "poison", { deadly: true });
  return "it never gets here";
});

export const ALL_DEFINITIONS = [
  ...WORKLOADS.map(({ definition }) => definition),
  ...TALKING_DEFINITIONS,
  gated,
  poison,
  poisonTask,
];

export function definitionNamed(name: string): WorkflowDefinition<number, unknown> {
  const found = ALL_DEFINITIONS.find((definition) => definition.name === name);
  if (!found) throw new Error(`there is no workflow "${name}"`);
  return found as unknown as WorkflowDefinition<number, unknown>;
}
