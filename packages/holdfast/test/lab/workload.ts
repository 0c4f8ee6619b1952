/**
 * Some of everything, small enough to be run hundreds of times: steps, retries, sleeps, signals, parallel steps, compensation,
 * cancel, terminate, a deadline, continue-as-new, transactions, several runs on two workers that differ in what they keep in memory.
 */
import type { Client } from "../../src/client/client.ts";
import type { RunHandle } from "../../src/client/run-handle.ts";
import { signal, workflow } from "../../src/define/definitions.ts";
import type { Worker } from "../../src/engine/worker/worker.ts";
import type { WorkerOptions } from "../../src/engine/worker/worker-options.ts";
import { isHoldfastError } from "../../src/errors/holdfast-error.ts";
import type { StoreFault } from "../../src/memory/store.ts";
import type { MemoryTransaction } from "../../src/memory/transactions/transact.ts";
import type { Context } from "../../src/replay/context/context.ts";
import { askTransaction } from "../../src/replay/context/run-context.ts";
import { Cluster, faultsInStore, NEVER, type StoreHook } from "./harness.ts";

const note = signal<number>("note");

/** Steps that were started before everything their workflow had seen was in the store. */
export type Undurable = string[];

export interface WorkloadOptions {
  /** Set once the engine is assembled, before anything is started. */
  readonly fault?: StoreFault;
  readonly hook?: (cluster: Cluster) => StoreHook;
  readonly losesHints?: boolean;
  readonly first?: Partial<WorkerOptions>;
  readonly second?: Partial<WorkerOptions>;
  readonly seed?: number;
}

export interface WorkloadReport {
  readonly cluster: Cluster;
  readonly results: Readonly<Record<string, unknown>>;
  readonly undurable: Undurable;
}

/** What is wrong with a report, compared with one of an undisturbed workload. Empty when all is well. */
export function faultsIn(report: WorkloadReport, undisturbed: WorkloadReport): string[] {
  const { cluster, results, undurable } = report;
  const faults = [
    ...undurable,
    // A run that is retried by hand has its failed step executed once more, as its first attempt.
    ...cluster.repeated().filter((line) => !/^frail .* second attempt 1: 2 times$/.test(line)),
    ...cluster.trespasses(),
    ...faultsInStore(cluster.store),
    ...cluster.errors.filter((line) => !line.startsWith("run parked: ")),
  ];
  const [actual, expected] = [JSON.stringify(results), JSON.stringify(undisturbed.results)];
  return actual === expected ? faults : [...faults, `other results: ${actual}`];
}

/** Runs all of it, stops the workers, and reports the results. */
export async function runWorkload(options: WorkloadOptions = {}): Promise<WorkloadReport> {
  const cluster = new Cluster();
  const undurable: Undurable = [];
  const workflows = makeWorkflows(cluster, undurable);
  if (options.losesHints) cluster.hints.loses = () => true;
  if (options.fault) cluster.store.fault = options.fault;
  const one = cluster.process("one", options.hook?.(cluster));
  const two = cluster.process("two", options.hook?.(cluster));
  const { all } = workflows;
  const workers: Worker[] = [
    await one.worker({ workflows: all, name: "one", concurrency: 3, ...options.first }),
    await two.worker({ workflows: all, name: "two", cacheSize: 0, ...options.second }),
  ];
  const results = await cluster.until(script(one.client, workflows)).catch((error: unknown) => {
    const open = [...cluster.store.state.runs.values()].filter((run) => run.endedAt === null);
    const where = open.map(({ id, status, heldBy, availableAt, waitingFor }) =>
      JSON.stringify({ id, status, heldBy, availableAt, waitingFor }),
    );
    throw new Error(`${String(error)} Open runs: ${where.join(" ")}`, { cause: error });
  });
  await cluster.until(Promise.all(workers.map((worker) => worker.drain())));
  return { cluster, results, undurable };
}

type Workflows = ReturnType<typeof makeWorkflows>;

function makeWorkflows(cluster: Cluster, undurable: Undurable) {
  /** A function for a step that looks into the store when it starts. */
  const durable = <T>(ctx: Context, value: T, ms = 0): (() => T | Promise<T>) => {
    const seen = ctx.info.historyLength;
    const { runId } = ctx.info;
    return () => {
      const { eventCount } = cluster.run(runId);
      if (eventCount < seen) undurable.push(`${ctx.info.id}: saw ${seen} events, ${eventCount} are durable`);
      return ms === 0 ? value : cluster.wait(ms).then(() => value);
    };
  };
  const order = workflow("order", async (ctx, n: number) => {
    const a = await ctx.step("a", durable(ctx, n));
    const b = await ctx.step("b", durable(ctx, a + 1, 20));
    const shaky = durable(ctx, "ok");
    const tried = await ctx.step(
      "shaky",
      ({ attempt }) => {
        if (attempt < 3) throw new Error("not yet");
        return shaky();
      },
      { retry: { attempts: 3, fixed: "300ms" } },
    );
    await ctx.sleep("nap", "11s");
    const parts = await Promise.all([1, 2, 3].map((i) => ctx.step(`part${i}`, durable(ctx, i, i * 10))));
    const flag = ctx.sideEffect("flag", () => 7);
    const end = await ctx.step("end", durable(ctx, flag));
    return { a, b, tried, parts, end };
  });
  const notes = workflow("notes", async (ctx, count: number) => {
    const received: number[] = [];
    while (received.length < count) received.push(await ctx.receive(note));
    return { received, done: await ctx.step("done", durable(ctx, true)) };
  });
  const saga = workflow("saga", async (ctx) => {
    await ctx.step("book", durable(ctx, "booked"), { compensate: () => {} });
    await ctx.step("pay", durable(ctx, "paid"), { compensate: () => {}, onCrash: "fail" });
    await ctx.sleep("long", "1 day");
  });
  const chain = workflow("chain", async (ctx, sum: number): Promise<number> => {
    const next = sum + (await ctx.receive(note));
    const kept = await ctx.step("keep", durable(ctx, next));
    return kept >= 6 ? kept : ctx.continueAsNew(kept);
  });
  const late = workflow("late", async (ctx) => {
    await ctx.step("begin", durable(ctx, 1), { compensate: () => {} });
    await ctx.receive(note);
  });
  let astray = true;
  const stray = workflow("stray", async (ctx) => {
    await ctx.step("first", durable(ctx, 1));
    // Waits for something that is not an op: the run is parked, and continues when the code is fixed.
    if (astray) await NEVER;
    return ctx.step("second", durable(ctx, 2));
  });
  const frail = workflow("frail", async (ctx) => {
    await ctx.step("first", durable(ctx, 1));
    const fail = (): number => {
      if (astray) throw new Error("too frail");
      return 2;
    };
    return ctx.step("second", fail, { retry: "none" });
  });
  const entries: string[] = [];
  const write = (name: string) => (tx: MemoryTransaction) => {
    tx.onCommit(() => entries.push(name));
    return entries.length;
  };
  const books = workflow("books", async (ctx) => {
    const book = (name: string) => askTransaction(ctx, name, { kind: "memory", fn: write(`${ctx.info.id} ${name}`) });
    await Promise.all([book("debit"), ctx.step("tell", durable(ctx, 1, 10)), book("credit")]);
    await ctx.race({ fee: () => book("fee"), told: () => ctx.sleep("told", "1 hour") });
    return [...entries].sort();
  });
  const mend = (): void => {
    astray = false;
  };
  const flows = { order, notes, saga, chain, late, stray, frail, books };
  return { all: Object.values(flows), ...flows, mend };
}

async function script(client: Client, flows: Workflows): Promise<Record<string, unknown>> {
  const orders = await client.startMany(
    [1, 2, 3].map((n) => ({ workflow: flows.order, input: n, options: { id: `o${n}` } })),
  );
  const notes = await client.start(flows.notes, 4, { id: "notes" });
  const saga = await client.start(flows.saga, undefined, { id: "saga" });
  const chain = await client.start(flows.chain, 0, { id: "chain" });
  const late = await client.start(flows.late, undefined, { id: "late", timeout: "15s" });
  const gone = await client.start(flows.saga, undefined, { id: "gone" });
  const stray = await client.start(flows.stray, undefined, { id: "stray" });
  const frail = await client.start(flows.frail, undefined, { id: "frail" });
  const books = await client.start(flows.books, undefined, { id: "books" });
  for (const n of [1, 2, 3]) {
    await Promise.all([notes.signal(note, n), client.get("chain").signal(note, n)]);
  }
  await gone.terminate("enough");
  const finished = await Promise.all(orders.map((run) => run.result()));
  await saga.cancel("changed my mind");
  await notes.signal(note, 4);
  const outcomes = { notes, saga, chain, late, gone, books };
  const told: Record<string, unknown> = { orders: finished };
  for (const [id, run] of Object.entries(outcomes)) told[id] = await outcomeOf(run);
  flows.mend();
  await stray.resume();
  await frail.retry();
  for (const run of [stray, frail]) told[run.id] = await outcomeOf(run);
  told["compensation"] = [(await saga.describe()).compensation, (await late.describe()).compensation];
  told["counts"] = [await client.count(), (await client.list()).runs.length];
  return told;
}

function outcomeOf(run: RunHandle): Promise<unknown> {
  return run.result().catch((error: unknown) => (isHoldfastError(error) ? error.code : String(error)));
}
