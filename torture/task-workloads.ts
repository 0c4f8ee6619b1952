/** The workloads about tasks: work that other processes do, or someone with a token, while all of them may die. */
import { type Context, NonRetryableError, type TaskInfo, task, workflow } from "holdfast";
import { type EffectResult, perform } from "./effect.ts";
import { digest, outputOf, type TaskPlan, Trail } from "./trail.ts";
import { completed, type PlannedAnswer, type Workload } from "./workload.ts";

/** What a task worker of torture offers. */
export const TASK_LABELS = ["torture"] as const;

const RETRY = { attempts: 4, fixed: "60ms" } as const;
/** The queue of tasks that nobody may take. */
const UNSERVED = "torture-unserved";
const BEATS = 8;
const BEAT_MS = 15;
const SLOW_MS = 700;

// Tasks ---------------------------------------------------------------------------------------------------------------

function execute(plan: TaskPlan, t: TaskInfo): Promise<EffectResult> {
  return perform({ ...plan, attempt: t.attempt });
}

const work = task<TaskPlan, EffectResult>({ name: "torture-work", retry: RETRY }, execute);
const press = task<TaskPlan, EffectResult>(
  { name: "torture-press", queue: "torture-press", requires: [...TASK_LABELS], retry: RETRY },
  execute,
);
const flight = task<TaskPlan, EffectResult>({ name: "torture-flight", retry: RETRY }, execute);
const hotel = task<TaskPlan, EffectResult>({ name: "torture-hotel", retry: RETRY }, execute);
const copy = task<TaskPlan, EffectResult>({ name: "torture-copy", retry: RETRY }, reportAll);
/** Its silence is limited: a worker that stands still loses it before it loses its lease. */
const watched = task<TaskPlan, EffectResult>(
  { name: "torture-watched", heartbeat: "1s", retry: { attempts: 60, fixed: "30ms" } },
  reportAll,
);
const letter = task<TaskPlan, EffectResult>({ name: "torture-letter", retry: { attempts: 3, fixed: "40ms" } }, execute);
const single = task<TaskPlan, EffectResult>({ name: "torture-single", retry: "none", onCrash: "fail" }, execute);
const approval = task<TaskPlan, EffectResult>({ name: "torture-approval", external: true, retry: RETRY });
const print = task<TaskPlan, EffectResult>({ name: "torture-print", retry: RETRY }, async (plan, t) => {
  await execute(plan, t);
  return t.completeLater();
});
/** Nobody answers it. */
const ignored = task<TaskPlan, EffectResult>({
  name: "torture-ignored",
  external: true,
  timeout: "200ms",
  retry: { attempts: 2, fixed: "40ms" },
});
/** Takes its time, unless it is told that nobody wants its result. */
const slow = task<TaskPlan, EffectResult>({ name: "torture-slow", retry: RETRY }, (plan, t) => {
  const during = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, SLOW_MS);
      const stop = (): void => {
        clearTimeout(timer);
        reject(t.signal.reason as Error);
      };
      if (t.signal.aborted) stop();
      else t.signal.addEventListener("abort", stop, { once: true });
    });
  return perform({ ...plan, attempt: t.attempt, during });
});
/** Fails until somebody takes its dead letter up again: then another event has scheduled it. */
const fragile = task<TaskPlan, EffectResult>(
  { name: "torture-fragile", retry: { attempts: 2, fixed: "40ms" } },
  (plan, t) => perform({ ...plan, failures: seqOf(t.token) === 1 ? 99 : 0, attempt: t.attempt }),
);

async function reportAll(plan: TaskPlan, t: TaskInfo): Promise<EffectResult> {
  const first = Number(t.lastDetails ?? 0);
  const during = async (): Promise<void> => {
    for (let i = 1; i <= BEATS; i++) {
      await t.heartbeat(first + i);
      await new Promise((resolve) => setTimeout(resolve, BEAT_MS));
    }
  };
  return perform({ ...plan, attempt: t.attempt, during });
}

function seqOf(token: string): number {
  return Number(token.split(".")[1]);
}

const deadly = task<TaskPlan, EffectResult>({ name: "torture-deadly", retry: RETRY }, execute);

/** What torture's task workers execute. */
export const ALL_TASKS = [work, press, flight, hotel, copy, watched, letter, single, print, slow, fragile, deadly];

// Workflows -----------------------------------------------------------------------------------------------------------

const parcel = workflow("torture-parcel", async (ctx, n: number) => {
  const trail = new Trail();
  await trail.step(ctx, "pack");
  await trail.task(ctx, work, { failures: n % 3 });
  await trail.sleep(ctx, "wait", 20 + (n % 5) * 20);
  await trail.task(ctx, press, { dwellMs: 10 + (n % 4) * 10 });
  await trail.step(ctx, "stamp");
  await trail.task(ctx, work, {}, { priority: n % 10 });
  return trail.output;
});

const crowd = workflow("torture-crowd", async (ctx, n: number) => {
  const trail = new Trail();
  await trail.step(ctx, "call");
  const before = [...trail.values];
  const member = async (definition: typeof work, dwellMs: number): Promise<string> => {
    const own = new Trail(trail.seen, before);
    const value = await own.task(ctx, definition, { dwellMs });
    trail.seen.push(...own.seen.slice(-1));
    return value;
  };
  const all = [member(work, 5), member(press, 15), member(work, n % 30), member(press, 1)];
  trail.values.push(...(await Promise.all(all)));
  await trail.step(ctx, "go");
  return trail.output;
});

function crowdOutput(): string {
  const before = [digest(["call"])];
  const [one, other] = [digest([work.name, ...before]), digest([press.name, ...before])];
  const values = [...before, one, other, one, other];
  return digest([...values, digest(["go", ...values])]);
}

const copies = workflow("torture-copies", async (ctx, n: number) => {
  const trail = new Trail();
  await trail.task(ctx, copy, { failures: n % 2 });
  await trail.task(ctx, watched);
  return trail.output;
});

const signature = workflow("torture-signature", async (ctx, _n: number) => {
  const trail = new Trail();
  await trail.task(ctx, work);
  await trail.task(ctx, approval);
  await trail.task(ctx, print);
  await trail.step(ctx, "archive");
  return trail.output;
});

function answersOf(n: number): readonly PlannedAnswer[] {
  const complete = (name: string): PlannedAnswer => ({ type: "complete", value: `${name} ${n}` });
  const fail: PlannedAnswer[] = n % 3 === 0 ? [{ type: "fail", value: "not now" }] : [];
  return [...fail, complete("signed"), ...(n % 2 === 0 ? fail : []), complete("printed")];
}

const deadLetter = workflow("torture-dead-letter", async (ctx, _n: number) => {
  const trail = new Trail();
  await trail.task(ctx, flight, { undoable: true });
  await trail.task(ctx, letter, { failures: 99 });
  return "never";
});

const repair = workflow("torture-repair", async (ctx, _n: number) => {
  const trail = new Trail();
  await trail.task(ctx, fragile);
  await trail.task(ctx, work);
  return trail.output;
});

const trip = workflow("torture-trip", async (ctx, n: number) => {
  const trail = new Trail();
  await Promise.all([
    trail.task(ctx, flight, { undoable: true, failures: n % 2 }),
    trail.task(ctx, hotel, { undoable: true, dwellMs: 8 }),
  ]);
  await trail.step(ctx, "hesitate");
  throw new NonRetryableError("it is off, as planned");
});

const recalled = workflow("torture-recalled", async (ctx, _n: number) => {
  const trail = new Trail();
  await trail.task(ctx, flight, { undoable: true, dwellMs: 20 });
  await Promise.all([trail.task(ctx, hotel, { undoable: true, dwellMs: 60 }), trail.task(ctx, slow)]);
  await ctx.task(approval, bare("nobody answers it"));
  return "it never gets here";
});

const bet = workflow("torture-bet", async (ctx, n: number) => {
  const trail = new Trail();
  const lost = (c: Context) =>
    Promise.all([c.task(slow, bare("slow")), c.task(work, bare("late"), { queue: UNSERVED })]);
  const { winner } = await ctx.race({
    quick: (c: Context) => trail.task(c, work, { dwellMs: 5 + (n % 20) }),
    slow: (c: Context) => lost(c).then(() => "both"),
  });
  trail.values.push(String(winner));
  await trail.step(ctx, "pay");
  return trail.output;
});

const once = workflow("torture-single", async (ctx, _n: number) => {
  const trail = new Trail();
  await trail.task(ctx, work);
  // The output must not depend on whether it was cut off: that may differ from run to run.
  await trail.task(ctx, single, { once: true, dwellMs: 15 }).catch(() => undefined);
  return "done at most once";
});

const patience = workflow("torture-patience", async (ctx, _n: number) => {
  const codeOf = (error: { readonly code?: string }): string | undefined => error.code;
  const waits = [
    ctx.task(ignored, bare("ignored")),
    ctx.task(work, bare("unserved"), { queue: UNSERVED, startTimeout: "250ms" }),
    ctx.task(press, bare("unserved"), { queue: UNSERVED, totalTimeout: "350ms" }),
  ];
  return Promise.all(waits.map((wait) => wait.then(() => "done", codeOf)));
});

/** For a single test: it kills every worker that executes its task. */
export const poisonTask = workflow("torture-poison-task", async (ctx, _n: number) => {
  await new Trail().task(ctx, deadly, { deadly: true });
  return "it never gets here";
});

function bare(value: string): TaskPlan {
  return { value, seen: [] };
}

export const TASK_WORKLOADS: readonly Workload[] = [
  {
    name: "parcel",
    definition: parcel,
    end: () => completed(outputOf(["pack", work.name, press.name, "stamp", work.name])),
  },
  { name: "crowd", definition: crowd, end: () => completed(crowdOutput()) },
  { name: "copies", definition: copies, end: () => completed(outputOf([copy.name, watched.name])) },
  {
    name: "signature",
    definition: signature,
    end: (n) => completed(outputOf([work.name, `:signed ${n}`, `:printed ${n}`, "archive"])),
    answers: answersOf,
  },
  { name: "dead-letter", definition: deadLetter, end: () => ({ status: "failed", compensation: ["compensated"] }) },
  { name: "repair", definition: repair, end: () => completed(outputOf([fragile.name, work.name])), repaired: true },
  { name: "trip", definition: trip, end: () => ({ status: "failed", compensation: ["compensated"] }) },
  {
    name: "recalled",
    definition: recalled,
    end: () => ({ status: "canceled", compensation: ["compensated", null] }),
    cancelAfterMs: (n) => (n % 10) * 20,
  },
  { name: "bet", definition: bet, end: () => completed(outputOf([work.name, ":quick", "pay"])) },
  { name: "single", definition: once, end: () => completed("done at most once") },
  {
    name: "patience",
    definition: patience,
    end: () => completed(["task_timeout", "task_start_timeout", "task_total_timeout"]),
  },
];
