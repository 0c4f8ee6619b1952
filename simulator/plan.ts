import type { Configuration } from "./configuration.ts";
import { Dice } from "./dice.ts";
import { drawProgram } from "./workload/index.ts";
import type { Program } from "./workload/program.ts";
import { drawManner, type Manner } from "./workload/talk.ts";
import { taskNames } from "./workload/task-definitions.ts";

/** What callers ask of a run, and whether it is started together with a message. */
export interface PlannedTalk {
  readonly updates: readonly {
    readonly atMs: number;
    readonly how: Manner;
    /** By two callers at once. */
    readonly twice: boolean;
    readonly mode: "completed" | "accepted" | "timed";
  }[];
  readonly queries: readonly { readonly atMs: number; readonly meddles: boolean }[];
  readonly withStart:
    | {
        readonly atMs: number;
        readonly what: "signal" | "update";
        readonly how: Manner;
        readonly ifClosed: "return" | "start";
      }
    | undefined;
}

/** A planned run, and everything that is sent to it. Times are since the beginning. */
export interface PlannedRun {
  readonly id: string;
  readonly program: Program;
  readonly atMs: number;
  readonly delayMs: number | undefined;
  readonly timeoutMs: number | undefined;
  readonly priority: number;
  /** Of limits and fairness. */
  readonly key: string | undefined;
  readonly signals: readonly { readonly name: string; readonly atMs: number; readonly twice: boolean }[];
  readonly senders: readonly { readonly name: string; readonly letters: number; readonly everyMs: number }[];
  /** A caller that keeps sending signals until the run has ended. */
  readonly talker: { readonly atMs: number; readonly everyMs: number; readonly words: number } | undefined;
  readonly cancelAtMs: number | undefined;
  readonly terminateAtMs: number | undefined;
  readonly restart:
    | {
        readonly atMs: number;
        readonly ifRunning: "return" | "replace";
        readonly ifClosed: "return" | "start";
      }
    | undefined;
  readonly awaitsResult: boolean;
  /** If it fails, an operator retries it. */
  readonly retried: boolean;
  readonly talk: PlannedTalk | undefined;
}

export interface Plan {
  readonly programs: readonly Program[];
  readonly runs: readonly PlannedRun[];
  /** The names of all tasks. */
  readonly tasks: readonly string[];
}

export function drawPlan(configuration: Configuration): Plan {
  const { seed, workload } = configuration;
  const programs: Program[] = [];
  for (let i = 1; i <= workload.workflows; i++) {
    programs.push(drawProgram(`${seed}`, `w${i}`, "1", workload));
    if (i % 2 === 0) programs.push(drawProgram(`${seed}`, `w${i}`, "2", workload));
  }
  const runs = Array.from({ length: workload.runs }, (_, i) => drawRun(configuration, programs, i + 1));
  const all = programs.flatMap(withOffspring);
  return { programs: all, runs, tasks: taskNames(all) };
}

function withOffspring(program: Program): readonly Program[] {
  return [program, ...program.offspring.flatMap(withOffspring)];
}

function drawRun(
  { seed, workload, limits, safetyMs }: Configuration,
  programs: readonly Program[],
  n: number,
): PlannedRun {
  const dice = new Dice(`run ${seed} ${n}`);
  const program = dice.pick(programs);
  const atMs = dice.chance(0.4) ? dice.next() * 100 : dice.next() * safetyMs * 0.8;
  const soon = (): number => atMs + dice.next() * dice.pick([100, 3_000, 15_000]);
  const maybe = <T>(probability: number, value: () => T): T | undefined =>
    dice.chance(probability) ? value() : undefined;
  const senders = dice.int(1, 3);
  const letters = program.letters * (program.hops + 1);
  const signals = program.signals.flatMap(({ name, must }) =>
    must || dice.chance(0.5)
      ? Array.from({ length: program.hops + 1 }, () => ({ name, atMs: soon(), twice: dice.chance(0.2) }))
      : [],
  );
  return {
    id: `run${n}`,
    program,
    atMs,
    delayMs: maybe(workload.delays, () => dice.pick([10, 2_000])),
    timeoutMs: maybe(workload.timeouts, () => dice.pick([500, 4_000, 15_000])),
    priority: dice.int(-1, 1),
    key: limits.keys === 0 ? undefined : drawKey(new Dice(`key ${seed} ${n}`), limits.keys),
    signals,
    senders: Array.from({ length: senders }, (_, k) => ({
      name: `sender${k + 1}`,
      letters: Math.ceil(letters / senders),
      everyMs: dice.pick([0, 200, 1_000]),
    })),
    talker: program.lastWords ? drawTalker(new Dice(`talker ${seed} ${n}`), atMs) : undefined,
    cancelAtMs: maybe(workload.cancels, soon),
    terminateAtMs: maybe(workload.terminations, soon),
    restart: maybe(workload.restarts, () => ({
      atMs: soon(),
      ifRunning: dice.pick(["return", "return", "replace"] as const),
      ifClosed: dice.pick(["return", "start"] as const),
    })),
    awaitsResult: dice.chance(0.5),
    retried: program.retriable && dice.chance(workload.retries),
    talk: workload.talks ? drawTalk(new Dice(`talk ${seed} ${n}`), atMs) : undefined,
  };
}

/** The first has most of them. */
function drawKey(dice: Dice, keys: number): string | undefined {
  if (dice.chance(0.1)) return undefined;
  return `k${dice.chance(0.5) ? 1 : dice.int(1, keys)}`;
}

function drawTalk(dice: Dice, atMs: number): PlannedTalk {
  const soon = (): number => atMs + dice.next() * dice.pick([100, 3_000, 15_000]);
  return {
    updates: Array.from({ length: dice.int(0, 5) }, () => ({
      atMs: soon(),
      how: drawManner(dice),
      twice: dice.chance(0.3),
      mode: dice.pick(["completed", "completed", "accepted", "timed"] as const),
    })),
    queries: Array.from({ length: dice.int(0, 3) }, () => ({ atMs: soon(), meddles: dice.chance(0.15) })),
    withStart: dice.chance(0.3)
      ? {
          atMs: dice.chance(0.5) ? atMs : soon(),
          what: dice.pick(["signal", "update"] as const),
          how: drawManner(dice),
          ifClosed: dice.pick(["return", "return", "start"] as const),
        }
      : undefined,
  };
}

function drawTalker(dice: Dice, atMs: number): PlannedRun["talker"] {
  return {
    atMs: atMs + dice.next() * dice.pick([100, 3_000]),
    everyMs: dice.pick([1, 5, 50, 300]),
    words: dice.int(5, 40),
  };
}
