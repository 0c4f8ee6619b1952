/**
 * npm run bench -- telemetry: what a step costs with each telemetry, in a store in memory, so that nothing hides it. They take
 * turns, and processor time is what counts, of the best of many rounds: other processes only ever make one slower.
 */
import process from "node:process";
import { openTelemetry, prometheus } from "@holdfast/telemetry";
import { AlwaysOnSampler, BasicTracerProvider, NoopSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { type Client, connect, silentLogger, type Telemetry, workflow } from "holdfast";

const ROUNDS = 40;
const RUNS = 300;
const STEPS = 10;

const ten = workflow("ten", async (ctx) => {
  for (let i = 0; i < STEPS; i += 1) await ctx.step("work", () => i);
});

const traced = (): Telemetry =>
  openTelemetry({
    tracerProvider: new BasicTracerProvider({
      sampler: new AlwaysOnSampler(),
      spanProcessors: [new NoopSpanProcessor()],
    }),
  });

const KINDS: readonly (readonly [name: string, telemetry: Telemetry | undefined])[] = [
  ["none", undefined],
  ["one that does nothing", { count() {}, duration() {} }],
  ["`prometheus()`", prometheus()],
  ["`openTelemetry()` without an SDK", openTelemetry()],
  ["`openTelemetry()`, every span recorded and dropped", traced()],
];

export async function telemetryTable(rounds = ROUNDS, runs = RUNS): Promise<string> {
  const measured = await Promise.all(
    KINDS.map(async ([name, telemetry]) => {
      const hf = await connect("memory:", { logger: silentLogger, ...(telemetry ? { telemetry } : {}) });
      await hf.worker({ workflows: [ten], concurrency: runs }).start();
      return { name, hf, stepUs: Number.POSITIVE_INFINITY };
    }),
  );
  for (let round = 0; round < rounds; round += 1) {
    // In another order each time: whoever comes second pays for the garbage of the first.
    const first = (round * 2) % measured.length;
    for (const kind of [...measured.slice(first), ...measured.slice(0, first)])
      kind.stepUs = Math.min(kind.stepUs, await microsecondsPerStep(kind.hf, runs));
  }
  for (const { hf } of measured) await hf.close();
  const base = measured[0]?.stepUs ?? 0;
  const lines = ["| telemetry | a step, µs | more than none, µs |", "|---|--:|--:|"];
  for (const { name, stepUs } of measured) lines.push(`| ${name} | ${shown(stepUs)} | ${shown(stepUs - base)} |`);
  return lines.join("\n");
}

async function microsecondsPerStep(hf: Client, runs: number): Promise<number> {
  const began = process.cpuUsage();
  await Promise.all(Array.from({ length: runs }, () => hf.run(ten)));
  const { user, system } = process.cpuUsage(began);
  return (user + system) / (runs * STEPS);
}

function shown(microseconds: number): string {
  return microseconds.toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}
