/**
 * npm run bench -- remote: what a server between worker and store costs. Embedded and remote take turns, each on a store that was never
 * used before; the best of all rounds counts, because other processes only ever make one slower.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { openStore as openRemoteStore } from "@holdfast/remote";
import { type Client, connect, silentLogger, workflow } from "holdfast";
import { type OpenedStore, type OpenStore, systemPorts } from "holdfast/adapter";
import { Stores } from "./lab/stores.ts";

const RUNS = 2_000;
const WARM_RUNS = 300;
const STEPS = 10;
const IDLE_CALLS = 400;
const IDLE_SESSIONS = 1_000;

const ten = workflow("ten", async (ctx) => {
  for (let i = 0; i < STEPS; i += 1) await ctx.step("work", () => "seventeen bytes..");
});

interface Figures {
  stepsPerSecond: number;
  callMs: number;
}

export async function remoteTable(kinds: readonly string[], rounds: number): Promise<string> {
  const stores = await Stores.open();
  const lines = [
    "| store | embedded, steps/s | remote, steps/s | share | idle call, embedded ms | remote ms | more |",
    "|---|--:|--:|--:|--:|--:|--:|",
  ];
  try {
    for (const kind of kinds as readonly ("sqlite" | "postgres")[]) {
      const best = { embedded: worst(), remote: worst() };
      for (let round = 0; round < rounds; round += 1)
        for (const way of round % 2 === 0 ? (["embedded", "remote"] as const) : (["remote", "embedded"] as const)) {
          const store = await stores.fresh(kind);
          const figures = await (way === "embedded"
            ? measure(store.url)
            : served(store.url, ({ url }) => measure(url)));
          await store.remove();
          best[way].stepsPerSecond = Math.max(best[way].stepsPerSecond, figures.stepsPerSecond);
          best[way].callMs = Math.min(best[way].callMs, figures.callMs);
          console.error(
            `${kind} ${way}: ${Math.round(figures.stepsPerSecond)} steps/s, ${figures.callMs.toFixed(3)} ms`,
          );
        }
      const { embedded, remote } = best;
      const share = Math.round((100 * remote.stepsPerSecond) / embedded.stepsPerSecond);
      const more = (remote.callMs - embedded.callMs).toFixed(2);
      lines.push(
        `| ${kind} | ${Math.round(embedded.stepsPerSecond)} | ${Math.round(remote.stepsPerSecond)} | ${share} % | ${embedded.callMs.toFixed(2)} | ${remote.callMs.toFixed(2)} | ${more} |`,
      );
    }
    const store = await stores.fresh("sqlite");
    const bytes = await served(store.url, idleSessionBytes);
    await store.remove();
    lines.push("", `An idle session takes ${(bytes / 1024).toFixed(1)} KiB of the server (of ${IDLE_SESSIONS}).`);
  } finally {
    await stores.close();
  }
  return lines.join("\n");
}

function worst(): Figures {
  return { stepsPerSecond: 0, callMs: Number.POSITIVE_INFINITY };
}

async function measure(url: string): Promise<Figures> {
  const hf = await connect(url, { logger: silentLogger });
  await hf.worker({ workflows: [ten], concurrency: 1_000 }).start();
  await runAll(hf, WARM_RUNS);
  const began = performance.now();
  await runAll(hf, RUNS);
  const stepsPerSecond = (RUNS * STEPS * 1_000) / (performance.now() - began);
  await hf.close();
  return { stepsPerSecond, callMs: await idleCallMs(url) };
}

async function runAll(hf: Client, runs: number): Promise<void> {
  const handles = await hf.startMany(Array.from({ length: runs }, () => ({ workflow: ten })));
  await Promise.all(handles.map((handle) => handle.result()));
}

/** The median of single calls, one after the other: a read of one row that is not there. */
async function idleCallMs(url: string): Promise<number> {
  const opened = await openAny(url);
  const runs = [{ namespace: "default", id: "nobody" }];
  const times: number[] = [];
  for (let i = 0; i < IDLE_CALLS; i += 1) {
    const began = performance.now();
    await opened.store.runs.read({ runs });
    times.push(performance.now() - began);
  }
  await opened.store.close();
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] as number;
}

async function openAny(url: string): Promise<OpenedStore> {
  const options = { ...systemPorts, log: silentLogger };
  if (url.startsWith("http:")) return openRemoteStore(url, options);
  const name = url.startsWith("file:") ? "@holdfast/sqlite" : "@holdfast/postgres";
  const { openStore } = (await import(name)) as { openStore: OpenStore };
  return openStore(url, options);
}

interface Served {
  readonly url: string;
  readonly child: ChildProcess;
  readonly lines: Interface;
}

async function served<T>(url: string, use: (server: Served) => Promise<T>): Promise<T> {
  const program = fileURLToPath(new URL("remote-server.ts", import.meta.url));
  const child = spawn(process.execPath, ["--expose-gc", "--import", "tsx", program, url], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  try {
    const [address] = (await once(lines, "line")) as [string];
    return await use({ url: address, child, lines });
  } finally {
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
  }
}

async function idleSessionBytes({ url, child, lines }: Served): Promise<number> {
  const serverBytes = async (): Promise<number> => {
    const line = once(lines, "line");
    child.stdin?.write("\n");
    return Number(((await line) as [string])[0].split(" ")[0]);
  };
  const warm: OpenedStore[] = [];
  for (let i = 0; i < 100; i += 1) warm.push(await openAny(url));
  const before = await serverBytes();
  const sessions: OpenedStore[] = [];
  for (let i = 0; i < IDLE_SESSIONS; i += 1) sessions.push(await openAny(url));
  const after = await serverBytes();
  for (const { store } of [...warm, ...sessions]) await store.close();
  return (after - before) / IDLE_SESSIONS;
}
