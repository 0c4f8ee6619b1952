import {
  type Client,
  connect,
  query,
  signal,
  silentLogger,
  type TaskDefinition,
  task,
  update,
  workflow,
} from "holdfast";
import { OPEN_STATUSES } from "holdfast/adapter";
import type { Engine, EngineDefinition, Kind, OpenParams } from "../lab/engine.ts";
import type { Hooks } from "../lab/hooks.ts";

const CONCURRENCY = 500;
const TASK_CONCURRENCY = 1_000;
/** A thousand parents and their ten children each are held at once: what finds no slot goes through the queue, and its end through the inbox. */
const CHILDREN_CONCURRENCY = 12_000;
/** All runs are in progress at once while their tasks wait for another process. */
const CACHE_SIZE: Readonly<Record<string, number>> = { tasks: 10_000, backlog: 10_000 };

interface Input {
  readonly id: string;
  readonly arg: number;
}

interface Work {
  readonly id: string;
  readonly i: number;
}

const go = signal<{ ok: boolean }>("go");
const add = update<number, number>("add");
const total = query<number>("total");

export function holdfast(store: "postgres" | "sqlite", title: string): EngineDefinition {
  return {
    name: `holdfast-${store}`,
    title: `Holdfast, ${title}`,
    kind: "own",
    store,
    settings: `one worker, concurrency ${CONCURRENCY} (default 100), with children ${CHILDREN_CONCURRENCY}; tasks: ${TASK_CONCURRENCY} at once (default 100), cache of 10,000 runs (default 1,000); recovery: lease 5 s (default 30 s)`,
    workloads: ["*"],
    // On SQLite there are no statements to count, and the cost of an idle process shows at once.
    ...(store === "sqlite" ? { sizes: { idle: { seconds: 5 } } } : {}),
    open,
  };
}

async function open({ url, hooks, workload, size, clientOnly, serves }: OpenParams): Promise<Engine> {
  const limits = size["opsMax"] === undefined ? {} : { limits: { opsMax: size["opsMax"] } };
  const hf = await connect(url, { logger: silentLogger, ...limits });
  const work = task("work", async ({ id, i }: Work) => hooks.step(id, i));
  const workflows = workflowsFor(hooks, work);
  if (!clientOnly) {
    const lease = size["leaseMs"] === undefined ? {} : { lease: { milliseconds: size["leaseMs"] } };
    const concurrency = size["concurrency"] ?? (workload === "children" ? CHILDREN_CONCURRENCY : CONCURRENCY);
    const executes = serves !== "runs" && (workload === "tasks" || workload === "backlog");
    const worker = hf.worker({
      workflows: serves === "tasks" ? [] : Object.values(workflows),
      ...(executes ? { tasks: [work], taskConcurrency: TASK_CONCURRENCY } : {}),
      concurrency,
      cacheSize: CACHE_SIZE[workload] ?? 1_000,
      ...lease,
    });
    await worker.start();
  }
  const request = (kind: Kind, id: string, arg: number) => ({ workflow: kind, input: { id, arg }, options: { id } });
  return {
    start: (kind, id, arg) => hf.start(workflows[kind], { id, arg }, { id }),
    startMany: (kind, ids, arg) => hf.startMany(ids.map((id, i) => request(kind, id, arg(i)))),
    signal: (id) => hf.get(id).signal(go, { ok: true }),
    update: (id, n) => hf.get(id).update(add, n),
    query: (id) => hf.get(id).query(total),
    published: async (id) => (await hf.get(id).describe()).attributes["total"],
    schedule: (id, at) => hf.schedules.create({ id, workflow: workflows.tick, at: new Date(at) }),
    lateness: () => lateness(hf),
    pending: () => hf.count({ status: [...OPEN_STATUSES] }),
    leaseLeftMs: async () => {
      const leases = (await hf.workers.list()).filter(({ labels }) => labels["pid"] !== String(process.pid));
      return Math.max(0, ...leases.map(({ leaseExpiresAt }) => leaseExpiresAt - Date.now()));
    },
    close: () => hf.close(),
  };
}

async function lateness(hf: Client) {
  const all: { readonly firedMs: number; readonly beganMs: number }[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await hf.list({ workflow: "tick", limit: 1_000, ...(cursor === undefined ? {} : { cursor }) });
    for (const { attributes, createdAt, startedAt } of page.runs) {
      const at = Date.parse(String(attributes["holdfast.scheduledAt"]));
      all.push({ firedMs: createdAt.getTime() - at, beganMs: (startedAt ?? createdAt).getTime() - at });
    }
    cursor = page.cursor;
  }
  return all;
}

function workflowsFor(hooks: Hooks, work: TaskDefinition<Work, unknown>) {
  const leaf = workflow("leaf", async (_ctx, { id, i }: Work) => hooks.step(id, i));
  return {
    leaf,
    tick: workflow("tick", async (ctx) => hooks.finished(String(ctx.info.schedule))),
    family: workflow("family", async (ctx, { id, arg }: Input) => {
      await Promise.all(Array.from({ length: arg }, (_, i) => ctx.child(leaf, { id, i })));
      hooks.finished(id);
      return arg;
    }),
    talk: workflow("talk", async (ctx, { id, arg }: Input) => {
      let sum = 0;
      ctx.on(total, () => sum);
      ctx.on(add, (n) => {
        sum += n;
        return sum;
      });
      for (let i = 1; i <= arg; i++) await ctx.step(`s${i}`, async () => hooks.step(id, i));
      ctx.set({ total: sum });
      hooks.waiting(id);
      await ctx.receive(go);
    }),
    seq: workflow("seq", async (ctx, { id, arg }: Input) => {
      for (let i = 1; i <= arg; i++) await ctx.step(`s${i}`, async () => hooks.step(id, i));
      hooks.finished(id);
      return arg;
    }),
    tasks: workflow("tasks", async (ctx, { id, arg }: Input) => {
      for (let i = 1; i <= arg; i++) await ctx.task(work, { id, i });
      hooks.finished(id);
      return arg;
    }),
    fan: workflow("fan", async (ctx, { id, arg }: Input) => {
      await Promise.all(Array.from({ length: arg }, (_, i) => ctx.step(`s${i}`, async () => hooks.step(id, i))));
      hooks.finished(id);
      return arg;
    }),
    sleep: workflow("sleep", async (ctx, { id, arg }: Input) => {
      hooks.asleep(id);
      await ctx.sleep("nap", { milliseconds: arg });
      hooks.finished(id);
    }),
    nap: workflow("nap", async (ctx, { id, arg }: Input) => {
      hooks.asleep(id);
      await ctx.sleepUntil("nap", new Date(arg));
      hooks.finished(id);
    }),
    wait: workflow("wait", async (ctx, { id }: Input) => {
      hooks.waiting(id);
      const message = await ctx.receive(go);
      hooks.finished(id);
      return message;
    }),
    payload: workflow("payload", async (ctx, { id, arg }: Input) => {
      let length = 0;
      for (let i = 1; i <= 3; i++) {
        const text = await ctx.step(`s${i}`, async () => {
          await hooks.step(id, i);
          return "x".repeat(arg);
        });
        length += text.length;
      }
      hooks.finished(id);
      return length;
    }),
  };
}
