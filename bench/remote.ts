/**
 * npm run bench -- remote: what a server between worker and store costs. In each repetition embedded and remote take turns, each in fresh
 * processes on a store that was never used before, and warm up equally long. What counts is the median of the shares of the repetitions.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { OpenedStore } from "holdfast/adapter";
import { type FreshStore, Stores } from "./lab/stores.ts";
import { openAny, STEPS } from "./remote-calls.ts";

/** Long enough that two processes have compiled what they repeat: a sustained rate is what is meant. */
const RUNS = 10_000;
const WARM_RUNS = 2_000;
const IDLE_SESSIONS = 1_000;

const WAYS = ["embedded", "remote"] as const;
type Way = (typeof WAYS)[number];

interface Figures {
  readonly stepsPerSecond: number;
  /** Microseconds of processor time for each step. */
  readonly workerMicros: number;
  readonly serverMicros: number;
  readonly callMs: number;
}

export interface RemoteBench {
  readonly kinds: readonly string[];
  readonly rounds: number;
  /** `runs`, `warm`, and `sessions`: how many. */
  readonly set: Readonly<Record<string, number>>;
}

export async function remoteTable({ kinds, rounds, set }: RemoteBench): Promise<string> {
  const { runs = RUNS, warm = WARM_RUNS, sessions = IDLE_SESSIONS } = set;
  const stores = await Stores.open();
  const lines = [
    "| store | embedded, steps/s | remote, steps/s | share | embedded, CPU µs per step | worker | server | idle call, embedded ms | remote ms |",
    "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
  ];
  try {
    for (const kind of kinds as readonly ("sqlite" | "postgres")[]) {
      const all: Record<Way, Figures[]> = { embedded: [], remote: [] };
      for (let round = 0; round < rounds; round += 1)
        for (const way of round % 2 === 0 ? WAYS : [...WAYS].reverse()) {
          const store = await stores.fresh(kind);
          const figures = await measure(way, store, runs, warm);
          await store.remove();
          all[way].push(figures);
          console.error(`${kind} ${way}: ${JSON.stringify(figures, (_, n) => (n > 100 ? Math.round(n) : n))}`);
        }
      lines.push(row(kind, all));
    }
    if (sessions > 0) {
      const store = await stores.fresh("sqlite");
      const bytes = await served(store.url, (server) => idleSessionBytes(server, sessions));
      await store.remove();
      lines.push("", `An idle session takes ${(bytes / 1024).toFixed(1)} KiB of the server (of ${sessions}).`);
    }
  } finally {
    await stores.close();
  }
  return lines.join("\n");
}

function row(kind: string, { embedded, remote }: Readonly<Record<Way, Figures[]>>): string {
  const of = (figures: Figures[], field: keyof Figures): number => median(figures.map((one) => one[field]));
  const share = median(remote.map((one, i) => one.stepsPerSecond / (embedded[i] as Figures).stepsPerSecond));
  const cells = [
    kind,
    Math.round(of(embedded, "stepsPerSecond")),
    Math.round(of(remote, "stepsPerSecond")),
    `${Math.round(100 * share)} %`,
    of(embedded, "workerMicros").toFixed(1),
    of(remote, "workerMicros").toFixed(1),
    of(remote, "serverMicros").toFixed(1),
    of(embedded, "callMs").toFixed(2),
    of(remote, "callMs").toFixed(2),
  ];
  return `| ${cells.join(" | ")} |`;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}

function measure(way: Way, { url }: FreshStore, runs: number, warm: number): Promise<Figures> {
  if (way === "embedded") return measureWorker(url, undefined, runs, warm);
  return served(url, (server) => measureWorker(server.url, server, runs, warm));
}

async function measureWorker(url: string, server: Served | undefined, runs: number, warm: number): Promise<Figures> {
  const worker = new Process("remote-worker.ts", [url, `${runs}`, `${warm}`]);
  try {
    await worker.line();
    const before = await server?.figures("processor");
    const { ms, cpuMicros } = (await worker.ask("go")) as { ms: number; cpuMicros: number };
    const after = await server?.figures("processor");
    const { callMs } = (await worker.ask("idle")) as { callMs: number };
    const steps = runs * STEPS;
    const serverMicros = before && after ? (after.cpuMicros - before.cpuMicros) / steps : 0;
    return { stepsPerSecond: (steps * 1_000) / ms, workerMicros: cpuMicros / steps, serverMicros, callMs };
  } finally {
    await worker.end();
  }
}

/** A process that answers a line with a line. */
class Process {
  readonly #child: ChildProcess;
  readonly #lines: Interface;

  constructor(program: string, args: readonly string[]) {
    const file = fileURLToPath(new URL(program, import.meta.url));
    this.#child = spawn(process.execPath, ["--expose-gc", "--import", "tsx", file, ...args], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream });
  }

  async line(): Promise<string> {
    const [line] = (await once(this.#lines, "line")) as [string];
    return line;
  }

  async ask(question: string): Promise<unknown> {
    const line = this.line();
    this.#child.stdin?.write(`${question}\n`);
    return JSON.parse(await line);
  }

  /** Both programs exit when nobody writes to them any more. */
  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exit = once(this.#child, "exit");
    this.#child.stdin?.end();
    await exit;
  }
}

interface Served {
  readonly url: string;
  figures(what: "memory" | "processor"): Promise<{ readonly rss: number; readonly cpuMicros: number }>;
}

async function served<T>(url: string, use: (server: Served) => Promise<T>): Promise<T> {
  const server = new Process("remote-server.ts", [url]);
  try {
    const address = await server.line();
    return await use({ url: address, figures: async (what) => (await server.ask(what)) as never });
  } finally {
    await server.end();
  }
}

async function idleSessionBytes({ url, figures }: Served, count: number): Promise<number> {
  const warm: OpenedStore[] = [];
  for (let i = 0; i < 100; i += 1) warm.push(await openAny(url));
  const before = await figures("memory");
  const sessions: OpenedStore[] = [];
  for (let i = 0; i < count; i += 1) sessions.push(await openAny(url));
  const after = await figures("memory");
  for (const { store } of [...warm, ...sessions]) await store.close();
  return (after.rss - before.rss) / count;
}
