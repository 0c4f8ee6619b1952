/** `bench`: small and honest. One process starts, executes and waits, so its figures are those of a program with one worker. */
import type { Client } from "holdfast";
import type { Call } from "../../command/call.ts";
import type { Action } from "../../command/verb.ts";
import { EXIT } from "../../io/exit-code.ts";
import { shownUrl } from "../../io/target.ts";
import type { Column } from "../../output/table.ts";
import { empty, openOwnNamespace } from "./own-namespace.ts";

const SECONDS_DEFAULT = 10;
const IN_FLIGHT_DEFAULT = 100;
const STEPS = 10;

interface Figure {
  readonly what: string;
  readonly runs: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface Workload {
  readonly what: string;
  /** How many of what is counted are in one round. */
  readonly counts: number;
  readonly inFlight: number;
  readonly round: (hf: Client) => Promise<unknown>;
}

export const bench: Action = async (call) => {
  const { hf, url } = await openOwnNamespace(call, "bench");
  const seconds = call.number("seconds") ?? SECONDS_DEFAULT;
  const all = await workloads(call);
  const worker = hf.worker({ workflows: all.definitions, concurrency: 1_000 });
  const figures: Figure[] = [];
  try {
    await worker.start();
    call.out.note(
      call.out.errorPaint.dim(`Measuring ${shownUrl(url)} for ${seconds} s, in namespace ${hf.namespace} …`),
    );
    for (const workload of all.workloads)
      figures.push(await measure(call, hf, workload, (seconds * 1_000) / all.workloads.length));
    showFigures(call, figures);
  } finally {
    await worker.drain();
    await empty(hf);
  }
  return call.io.interrupted.aborted ? EXIT.interrupted : EXIT.done;
};

async function workloads(call: Call) {
  const { workflow, signal } = await call.core();
  const inFlight = call.number("in-flight") ?? IN_FLIGHT_DEFAULT;
  const go = signal<number>("go");
  const nothing = workflow("bench-nothing", async () => "done");
  const steps = workflow("bench-steps", async (ctx) => {
    let sum = 0;
    for (let step = 0; step < STEPS; step += 1) sum += await ctx.step("add", () => step);
    return sum;
  });
  const signaled = workflow("bench-signal", async (ctx) => ctx.receive(go));
  const round = async (hf: Client): Promise<void> => {
    const run = await hf.start(signaled);
    await run.signal(go, 1);
    await run.result();
  };
  const list: readonly Workload[] = [
    { what: "runs: start to result", counts: 1, inFlight, round: (hf) => hf.run(nothing) },
    { what: `steps, ${STEPS} per run`, counts: STEPS, inFlight, round: (hf) => hf.run(steps) },
    { what: "signals: start, signal, result", counts: 1, inFlight, round },
    { what: "one run alone: start to result", counts: 1, inFlight: 1, round: (hf) => hf.run(nothing) },
  ];
  return { definitions: [nothing, steps, signaled], workloads: list };
}

async function measure(
  call: Call,
  hf: Client,
  { what, counts, inFlight, round }: Workload,
  ms: number,
): Promise<Figure> {
  const { io } = call;
  const took: number[] = [];
  const began = io.now();
  const lane = async (): Promise<void> => {
    while (io.now() - began < ms && !io.interrupted.aborted) {
      const at = io.now();
      await round(hf);
      took.push(io.now() - at);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  const elapsedMs = Math.max(1, io.now() - began);
  took.sort((a, b) => a - b);
  const part = (share: number): number => took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? 0;
  const perSecond = Math.round((took.length * counts * 1_000) / elapsedMs);
  return { what, runs: took.length, perSecond, p50Ms: part(0.5), p99Ms: part(0.99) };
}

function showFigures(call: Call, figures: readonly Figure[]): void {
  const columns: readonly Column<Figure>[] = [
    { title: "WHAT", value: ({ what }) => what },
    { title: "PER SECOND", value: ({ perSecond }) => perSecond.toLocaleString("en-US"), align: "right" },
    { title: "P50", value: ({ p50Ms }) => `${p50Ms} ms`, align: "right" },
    { title: "P99", value: ({ p99Ms }) => `${p99Ms} ms`, align: "right" },
    { title: "RUNS", value: ({ runs }) => runs.toLocaleString("en-US"), align: "right" },
  ];
  call.out.table(figures, columns, "");
}
