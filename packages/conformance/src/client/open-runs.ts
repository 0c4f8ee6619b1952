/**
 * Runs that wait for all sorts of things, and what brings them to their end. Golden stores contain them as an earlier build has left
 * them; every later one must be able to finish them. What they wait for does not depend on when that is.
 */
import {
  type AnyTask,
  type AnyWorkflow,
  type Client,
  connect,
  signal,
  silentLogger,
  task,
  update,
  workflow,
} from "holdfast";

const go = signal<string>("go");
const add = update<number, number>("add");
const approval = task<string, string>({ name: "approval", external: true });

const waiting = workflow("waiting", async (ctx) => {
  ctx.set({ stage: "waiting" });
  const began = await ctx.step("begin", () => "begun");
  return [began, await ctx.receive(go)];
});

const sleeping = workflow("sleeping", async (ctx) => {
  const race = await ctx.race({
    timer: (branch) => branch.sleep("a long time", { weeks: 52 * 100 }),
    signal: (branch) => branch.receive(go),
  });
  return race.winner;
});

const retrying = workflow("retrying", async (ctx) =>
  ctx.step(
    "flaky",
    ({ attempt }) => {
      if (attempt === 1) throw new Error("not yet");
      return attempt;
    },
    { retry: { attempts: 2, fixed: "5s" } },
  ),
);

const asking = workflow("asking", (ctx) => ctx.task(approval, "may I?"));

const parent = workflow("parent", async (ctx) => ctx.child(waiting, undefined, { id: "child" }));

const saga = workflow("saga", async (ctx) => {
  await ctx.step("charge", () => "charged", { compensate: () => {} });
  await ctx.receive(go);
});

const talking = workflow("talking", async (ctx) => {
  let sum = 0;
  ctx.on(add, (n) => {
    sum += n;
    return sum;
  });
  await ctx.until(() => sum >= 10);
  return sum;
});

const unserved = workflow("unserved", async (ctx, n: number) => ctx.step("work", () => n + 1));

const WORKFLOWS: readonly AnyWorkflow[] = [waiting, sleeping, retrying, asking, parent, saga, talking];
const TASKS: readonly AnyTask[] = [];

const IDS = ["waiting", "sleeping", "retrying", "asking", "parent", "child", "saga", "talking", "unserved"];

/** What `finishRuns` returns, whatever build has begun them. */
export const FINISHED: Readonly<Record<string, unknown>> = {
  waiting: ["begun", "now"],
  sleeping: "signal",
  retrying: 2,
  asking: "yes",
  parent: ["begun", "now"],
  child: ["begun", "now"],
  saga: "canceled compensated",
  talking: 12,
  unserved: 2,
};

/** Begins them, and leaves when all of them wait. */
export async function beginRuns(url: string): Promise<void> {
  await using(url, async (hf) => {
    const worker = hf.worker({ workflows: [...WORKFLOWS], tasks: [...TASKS] });
    await worker.start();
    for (const one of WORKFLOWS) await hf.start(one, undefined, { id: one.name });
    await hf.start(unserved, 1, { id: "unserved" });
    await hf.get("talking").update(add, 2);
    for (const id of IDS) {
      if (id === "unserved") continue;
      for (let rests = false; !rests; ) rests = ["waiting", "sleeping"].includes((await hf.get(id).describe()).status);
    }
    await worker.stop();
  });
}

/** Brings all of them to their end. */
export async function finishRuns(url: string): Promise<Record<string, unknown>> {
  return using(url, async (hf) => {
    await hf.worker({ workflows: [...WORKFLOWS, unserved], tasks: [...TASKS] }).start();
    for (const id of ["waiting", "sleeping", "child"]) await hf.get(id).signal(go, "now");
    await hf.get("saga").cancel();
    const token = (await hf.tasks.list({ status: "external" })).tasks[0]?.token as string;
    await hf.tasks.complete(token, "yes");
    await hf.get("talking").update(add, 10);
    const ends = IDS.map(async (id) => {
      const result = hf.get(id).result();
      return [id, await result.catch(async () => ended(await hf.get(id).describe()))];
    });
    return Object.fromEntries(await Promise.all(ends)) as Record<string, unknown>;
  });
}

function ended({ status, compensation }: { readonly status: string; readonly compensation: string | null }): string {
  return `${status} ${compensation}`;
}

async function using<T>(url: string, work: (hf: Client) => Promise<T>): Promise<T> {
  const hf = await connect(url, { logger: silentLogger });
  try {
    return await work(hf);
  } finally {
    await hf.close();
  }
}
