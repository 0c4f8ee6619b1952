// Runs the tools that check the guide, each in a separate process.
import { spawn } from "node:child_process";
import path from "node:path";
import process from "node:process";
import type { ProgramOutcome } from "./program-runner.ts";
import { root } from "./workspace.ts";

/** One per expected core; a process takes longer to start than most programs take to run. */
const PROCESSES = 2;

export interface ProcessEnd {
  readonly stdout: string;
  readonly stderr: string;
  /** Exit code, or the signal that ended it. */
  readonly end: number | string;
}

/** Executes TypeScript programs on the packages' sources, so that nothing has to be built. */
export async function runPrograms(files: readonly string[]): Promise<Map<string, ProgramOutcome>> {
  const outcomes = new Map<string, ProgramOutcome>();
  const runner = path.join(root, "scripts", "guide", "program-runner.ts");
  const share = (index: number): string[] => files.filter((_, position) => position % PROCESSES === index);
  const runAll = async (left: readonly string[]): Promise<void> => {
    const args = ["--conditions=holdfast-source", "--import", "tsx", runner, ...left];
    const { stderr, end } = await runNode(args, (outcome) => outcomes.set(outcome.file, outcome));
    // The runner ends at the first fault, so that it cannot affect other programs. Those run in a new one.
    const [first, ...others] = left.filter((file) => !outcomes.has(file));
    if (first === undefined) return;
    const blamed = left.some((file) => outcomes.get(file)?.fault !== undefined);
    const fault = `its process ended with ${end} before the program did\n${stderr}`;
    if (!blamed) outcomes.set(first, { file: first, printed: "", fault });
    await runAll(blamed ? [first, ...others] : others);
  };
  await Promise.all(Array.from({ length: PROCESSES }, (_, index) => runAll(share(index))));
  return outcomes;
}

export function runNode(args: readonly string[], onOutcome?: (outcome: ProgramOutcome) => void): Promise<ProcessEnd> {
  return new Promise((resolve, reject) => {
    const { NODE_ENV: _env, VITEST: _vitest, FORCE_COLOR: _color, ...env } = process.env;
    const child = spawn(process.execPath, args, {
      cwd: root,
      // A program is not a test and must not see that it runs in one; colors would differ from what the guide shows.
      env: { ...env, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    let [stdout, stderr] = ["", ""];
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.on("message", (message) => onOutcome?.(message as ProgramOutcome));
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ stdout, stderr, end: code ?? signal ?? "nothing" }));
  });
}
