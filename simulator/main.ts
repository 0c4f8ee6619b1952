/** The command: runs seeds, prints what is wrong with them, and how fast it was. */
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import type { Configuration } from "./configuration.ts";
import { describeConfiguration } from "./configuration.ts";
import { readOptions, type SimOptions, USAGE } from "./options.ts";
import { configurationOf, describeFailure, runConfiguration, type SeedResult } from "./seed-run.ts";
import { shrink } from "./shrinking.ts";

const PROGRESS_EVERY_MS = 5_000;

/** The result of one seed, as a job prints it. */
interface Line {
  readonly seed: number;
  readonly hash: string;
  readonly ms: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly checkers: readonly string[];
  readonly report: string;
}

const write = (text: string): void => void process.stdout.write(`${text}\n`);

async function runSeed(seed: number, options: SimOptions): Promise<Line> {
  const began = performance.now();
  const configuration = (options.config as Configuration | undefined) ?? configurationOf(seed);
  const result = await runConfiguration(configuration);
  if (options.trace) for (const line of wholeTrace(result)) write(line);
  return {
    seed,
    hash: result.hash,
    ms: performance.now() - began,
    counts: result.counts,
    checkers: [...new Set(result.violations.map(({ checker }) => checker))],
    report: result.violations.length === 0 ? "" : describeFailure(result),
  };
}

function wholeTrace({ evidence, trace }: SeedResult): string[] {
  const runs = [...evidence.runs, ...(evidence.forks?.runs ?? [])];
  const names = new Map(runs.map(({ run }) => [run.runId, run.id]));
  return trace.about(new Set(names.keys()), names);
}

/** The totals of many seeds. */
class Tally {
  readonly #began = performance.now();
  readonly #total: number;
  readonly #sums: Record<string, number> = {};
  readonly failed: number[] = [];
  #done = 0;
  #told = performance.now();

  constructor(total: number) {
    this.#total = total;
  }

  add(line: Line, quiet: boolean): void {
    this.#done += 1;
    for (const [name, count] of Object.entries(line.counts)) this.#sums[name] = (this.#sums[name] ?? 0) + count;
    if (line.report !== "") {
      this.failed.push(line.seed);
      if (!quiet) write(line.report);
    }
    if (quiet || performance.now() - this.#told < PROGRESS_EVERY_MS) return;
    this.#told = performance.now();
    write(`${this.#done} of ${this.#total} seeds, ${this.#rate()} seeds/s, ${this.failed.length} failed`);
  }

  #rate(): string {
    return (this.#done / ((performance.now() - this.#began) / 1_000)).toFixed(1);
  }

  summary(): string {
    const sums = Object.entries(this.#sums).map(([name, sum]) => `${sum} ${name}`);
    const failed = this.failed.length === 0 ? "none failed" : `FAILED: ${this.failed.join(" ")}`;
    return `${this.#done} seeds, ${this.#rate()} seeds/s, ${failed} (${sums.join(", ")})`;
  }
}

function isLast(line: Line, { first, until }: SimOptions): boolean {
  return (first && line.report !== "") || (until !== undefined && line.checkers.includes(until));
}

function* seedsOf({ from, count, step }: SimOptions): Generator<number> {
  for (let seed = from; seed < from + count; seed += step) yield seed;
}

async function runHere(options: SimOptions): Promise<number> {
  const tally = new Tally(Math.ceil(options.count / options.step));
  for (const seed of seedsOf(options)) {
    const line = await runSeed(seed, options);
    if (options.json) write(JSON.stringify(line));
    tally.add(line, options.json);
    if (options.count === 1 && !options.json) write(`trace hash ${line.hash}`);
    if (isLast(line, options)) break;
  }
  if (!options.json) write(tally.summary());
  return tally.failed.length === 0 ? 0 : 1;
}

/** Runs the seeds in several processes. */
async function runInJobs(options: SimOptions): Promise<number> {
  const tally = new Tally(options.count);
  const children: ChildProcess[] = [];
  const stop = (): void => void children.map((child) => child.kill());
  process.once("exit", stop);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  const jobs = Array.from({ length: options.jobs }, (_, i) => {
    const share = ["--from", `${options.from + i}`, "--count", `${options.count - i}`, "--step", `${options.jobs}`];
    const args = [...process.execArgv, process.argv[1] as string, ...share, "--json"];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    createInterface({ input: child.stdout }).on("line", (text) => {
      const line = JSON.parse(text) as Line;
      if (options.json) write(text);
      tally.add(line, options.json);
      if (isLast(line, options)) stop();
    });
    return new Promise<void>((resolve) => void child.once("close", () => resolve()));
  });
  await Promise.all(jobs);
  if (!options.json) write(tally.summary());
  return tally.failed.length === 0 ? 0 : 1;
}

async function runShrinking(options: SimOptions): Promise<number> {
  const configuration = (options.config as Configuration | undefined) ?? configurationOf(options.from);
  const { violations } = await runConfiguration(configuration);
  const [first] = violations;
  if (!first) {
    write(options.json ? "{}" : `seed ${options.from} does not fail`);
    return 0;
  }
  const tell = (text: string): void => {
    if (!options.json) write(text);
  };
  tell(`seed ${options.from} breaks ${first.checker}; looking for a simpler configuration`);
  const shrunk = await shrink(configuration, first.checker, ({ workload, workers }, tries) =>
    tell(`  after ${tries} tries: ${workload.runs} runs, ${workers} workers`),
  );
  const result = await runConfiguration(shrunk.configuration);
  if (options.json) {
    const { configuration: plain, tries } = shrunk;
    write(JSON.stringify({ tries, from: configuration.workload.runs, to: plain.workload.runs, configuration: plain }));
    return 1;
  }
  write(describeFailure(result));
  write(`configuration, for --config:\n${JSON.stringify(shrunk.configuration)}`);
  return 1;
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  // Stacks cost a good part of the time, and are not used here.
  Error.stackTraceLimit = options.trace ? 10 : 0;
  if (options.shrink) return runShrinking(options);
  if (options.count === 1 && !options.json)
    write(describeConfiguration((options.config as Configuration | undefined) ?? configurationOf(options.from)));
  return options.jobs > 1 ? runInJobs(options) : runHere(options);
}

// A job whose parent is gone has nothing to report to.
process.stdout.on("error", () => process.exit(1));

try {
  process.exitCode = await main();
} catch (error) {
  const isUsage = (error as { readonly code?: string }).code?.startsWith("ERR_PARSE_ARGS") === true;
  process.stderr.write(isUsage ? `${(error as Error).message}\n${USAGE}\n` : `${(error as Error).stack}\n`);
  process.exitCode = 2;
}
