/**
 * npm run bench -- queues [rate] [fair | quick | slow] [line]: what limits of queues hold, and what they cost. A rate over a minute with three worker
 * processes; ten runs of one key among very many of another; and claims behind a full limit with a million runs in line.
 *   --set seconds=60 --set many=100000 --set line=1000000
 */
import { type ChildProcess, fork } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type AnyWorkflow, type Client, connect, silentLogger } from "holdfast";
import { adminQuery, type Stores } from "./lab/stores.ts";
import { lineOf } from "./queues-line.ts";
import { benchWorkflows } from "./queues-workflows.ts";
import { quantile } from "./workloads/flow.ts";

const WORKERS = 3;
const RATE = 100;
const PLACES = 40;
const TEN = 10;
const ROUNDS = 5;
const [rated, quick, slow] = benchWorkflows(() => {}) as [AnyWorkflow, AnyWorkflow, AnyWorkflow];

interface Begun {
  readonly key: string;
  readonly at: number;
}

/** Worker processes, and when they began which runs. */
class Fleet {
  readonly begun: Begun[] = [];
  readonly #children: ChildProcess[] = [];

  async start(url: string): Promise<void> {
    const program = fileURLToPath(new URL("queues-worker.ts", import.meta.url));
    const ready = Array.from({ length: WORKERS }, () => {
      const child = fork(program, [url], { execArgv: process.execArgv });
      this.#children.push(child);
      return new Promise<void>((resolve, reject) => {
        child.once("exit", () => reject(new Error("a worker process of the bench has ended")));
        child.on("message", (told: "ready" | [string, number]) => {
          if (told === "ready") resolve();
          else this.begun.push({ key: told[0], at: told[1] });
        });
      });
    });
    await Promise.all(ready);
  }

  stop(): void {
    for (const child of this.#children) child.removeAllListeners().kill("SIGKILL");
  }
}

export interface QueueBenchParams {
  readonly stores: Stores;
  readonly kinds: readonly ("sqlite" | "postgres")[];
  readonly parts: readonly string[];
  readonly set: Readonly<Record<string, number>>;
  readonly say: (line: string) => void;
}

export async function benchQueues({ stores, kinds, parts, set, say }: QueueBenchParams): Promise<void> {
  const wants = (part: string): boolean => parts.length === 0 || parts.includes(part);
  for (const kind of kinds) {
    const on = async (work: (url: string, fleet: Fleet, hf: Client) => Promise<void>): Promise<void> => {
      const store = await stores.fresh(kind);
      const fleet = new Fleet();
      const hf = await connect(store.url, { logger: silentLogger });
      try {
        await work(store.url, fleet, hf);
      } finally {
        fleet.stop();
        await hf.close();
        await store.remove();
      }
    };
    const { seconds = 60, many = 100_000, line = 1_000_000 } = set;
    if (wants("rate"))
      for (const burst of set["burst"] === undefined ? [1, 10] : [set["burst"]])
        await on(async (url, fleet, hf) => say(`${kind}: ${await rateOf(url, fleet, hf, seconds, burst)}`));
    for (const [name, definition] of [
      ["quick", quick],
      ["slow", slow],
    ] as const)
      if (wants("fair") || wants(name))
        await on(async (url, fleet, hf) => say(`${kind}: ${await fairness(url, fleet, hf, name, definition, many)}`));
    if (wants("line")) await on(async (url) => say(`${kind}: ${await lineOf(kind, url, line)}`));
  }
}

async function startAll(hf: Client, count: number, definition: AnyWorkflow, key: string): Promise<void> {
  for (let i = 0; i < count; i += 1_000) {
    const size = Math.min(1_000, count - i);
    await hf.startMany(Array.from({ length: size }, () => ({ workflow: definition, input: key, options: { key } })));
  }
}

async function rateOf(url: string, fleet: Fleet, hf: Client, seconds: number, burst: number): Promise<string> {
  await hf.queues.set("rated", { rate: { limit: RATE, per: "1s", burst } });
  await startAll(hf, RATE * (seconds + 5), rated, "a");
  await fleet.start(url);
  const first = await untilBegun(fleet);
  await pause(first + (seconds + 1) * 1_000 - Date.now());
  const within = fleet.begun.filter(({ at }) => at - first < seconds * 1_000).length;
  return `a rate of ${RATE}/s with a burst of ${burst}, ${WORKERS} processes: ${(within / seconds).toFixed(2)}/s over ${seconds} s`;
}

/** The runs of A are there before anybody works, so that at first they are to be sorted in. */
async function fairness(
  url: string,
  fleet: Fleet,
  hf: Client,
  name: string,
  definition: AnyWorkflow,
  many: number,
): Promise<string> {
  await hf.queues.set(name, { concurrency: PLACES });
  await fleet.start(url);
  const tenOfB = async ({ begun }: Fleet) => {
    const from = Date.now();
    const began = performance.now();
    const runs = await hf.startMany(
      Array.from({ length: TEN }, () => ({ workflow: definition, input: "b", options: { key: "b" } })),
    );
    const started = performance.now();
    await Promise.all(runs.map((run) => run.result()));
    const ended = performance.now();
    const others = begun.filter(({ key, at }) => key === "a" && at >= from).length;
    const last = Math.max(...begun.filter(({ key }) => key === "b").map(({ at }) => at)) - from;
    return { ms: ended - began, startMs: started - began, last, others };
  };
  for (let i = 0; i < ROUNDS; i++) await tenOfB(fleet);
  const alone = [];
  for (let i = 0; i < ROUNDS; i++) alone.push(await tenOfB(fleet));
  fleet.stop();
  await startAll(hf, many, definition, "a");
  if (url.startsWith("postgres")) await adminQuery(url, "vacuum (analyze)"); // as autovacuum would
  const others = new Fleet();
  try {
    await others.start(url);
    const among: Awaited<ReturnType<typeof tenOfB>>[] = [];
    for (let i = 0; i < ROUNDS; i++) among.push(await tenOfB(others));
    const waiting = (await hf.queues()).find((queue) => queue.name === name)?.runs.waiting;
    const of = (all: typeof among, figure: keyof (typeof among)[number]): string =>
      quantile(
        all.map((one) => one[figure]),
        0.5,
      ).toFixed(0);
    return [
      `ten runs of B (${name}): ${of(alone, "ms")} ms alone (${of(alone, "startMs")} to start them, the last began after ${of(alone, "last")})`,
      `${of(among, "ms")} ms among ${waiting} of A (${of(among, "startMs")} to start them, the last began after ${of(among, "last")}, ${of(among, "others")} of A began meanwhile; the first of ${ROUNDS}: ${among[0]?.ms.toFixed(0)} ms)`,
    ].join("; ");
  } finally {
    others.stop();
  }
}

async function untilBegun(fleet: Fleet): Promise<number> {
  while (fleet.begun.length === 0) await pause(10);
  return Math.min(...fleet.begun.map(({ at }) => at));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}
