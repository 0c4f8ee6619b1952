/** What a client and a worker do with a server, whatever the version of each: it must come out the same. */
import { type Client, query, signal, task, update, workflow } from "holdfast";

const approve = signal<{ by: string }>("approve");
const total = query<number>("total");
const add = update<number, number>("add");
const shout = task({ name: "shout" }, async (text: string) => text.toUpperCase());
const double = workflow("double", (ctx, n: number) => ctx.step("double", () => n * 2));
const echo = workflow("echo", (ctx, text: string) => ctx.step("echo", () => text));
const fails = workflow({ name: "fails", retry: "none" }, (ctx) =>
  ctx.step("fail", () => Promise.reject(new Error("not today")), { retry: "none" }),
);
const counts = workflow("counts", async (ctx, n: number): Promise<number> => {
  if (n > 0) return ctx.continueAsNew(n - 1);
  return ctx.step("end", () => n);
});
const order = workflow("order", async (ctx, n: number) => {
  let sum = n;
  ctx.on(total, () => sum);
  ctx.on(add, (by) => {
    sum += by;
    return sum;
  });
  const attempts = await ctx.step(
    "flaky",
    ({ attempt }) => {
      if (attempt < 2) throw new Error("once more");
      return attempt;
    },
    { retry: { attempts: 3, initial: "1ms" } },
  );
  await ctx.sleep("rest", "20ms");
  const { by } = await ctx.receive(approve);
  const [twice, loud] = await Promise.all([ctx.child(double, n), ctx.task(shout, by)]);
  return { attempts, by, twice, loud, sum };
});

export async function work(hf: Client): Promise<void> {
  await hf.worker({ workflows: [order, double, echo, fails, counts], tasks: [shout] }).start();
}

export const EXPECTED = {
  orders: [0, 1, 2, 3, 4].map((n) => ({ attempts: 2, by: `b${n}`, twice: n * 2, loud: `B${n}`, sum: n + 10 })),
  updated: 12,
  asked: 12,
  failed: "not today",
  counted: 0,
  canceled: "canceled",
  lengths: [5, 600_000],
  steps: ["flaky"],
  found: 1,
  schedules: ["nightly"],
};

/** With a worker somewhere, through the same server. */
export async function converse(hf: Client): Promise<unknown> {
  const runs = await hf.startMany(
    [0, 1, 2, 3, 4].map((n) => ({ workflow: order, input: n, options: { id: `o${n}` } })),
  );
  const updates = await Promise.all(runs.map((run) => run.update(add, 10)));
  const asked = await runs[2]?.query(total);
  await Promise.all(runs.map((run, n) => run.signal(approve, { by: `b${n}` }, { id: "once" })));
  const orders = await Promise.all(runs.map((run) => run.result()));
  const failed = await (await hf.start(fails)).result().catch((error: Error) => (error.cause as Error).message);
  const counted = await hf.run(counts, 2);
  const waiting = await hf.start(order, 7, { id: "waiting", attributes: { color: "blue" } });
  const { runs: found } = await hf.list({ attributes: { color: "blue" } });
  await waiting.cancel("enough");
  const canceled = await waiting.result().catch(() => waiting.status());
  // In one part, and in several.
  const lengths = [];
  for (const text of ["short", "long".repeat(150_000)]) lengths.push((await hf.run(echo, text)).length);
  await hf.schedules.create({ id: "nightly", workflow: order, cron: "0 3 * * *", input: 1 });
  const { schedules } = await hf.schedules.list();
  const steps = (await hf.get("o1").steps()).map(({ op }) => op).filter((op) => op === "flaky");
  return {
    orders,
    updated: updates[2],
    asked,
    failed,
    counted,
    canceled,
    lengths,
    steps,
    found: found.length,
    schedules: schedules.map(({ id }) => id),
  };
}
