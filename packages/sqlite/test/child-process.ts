import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";

export interface RunningScript {
  /** The lines that the process has written so far. */
  readonly lines: string[];
  /** Resolves when it has written that many lines, or has ended. */
  wrote(count: number): Promise<void>;
  readonly ended: Promise<unknown>;
  kill(): Promise<unknown>;
}

const children = new Set<ChildProcess>();

export function killChildren(): void {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
}

/** Runs a script from this folder in its own process. */
export function runScript(script: string, ...args: string[]): RunningScript {
  const nodeArgs = ["--conditions=holdfast-source", "--import", "tsx", path.join(import.meta.dirname, script)];
  const child = spawn(process.execPath, [...nodeArgs, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  children.add(child);
  const lines: string[] = [];
  let waiting: { count: number; resolve: () => void } | undefined;
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => {
    lines.push(line);
    if (waiting && lines.length >= waiting.count) waiting.resolve();
  });
  const ended = Promise.all([once(child, "exit"), once(reader, "close")]);
  return {
    lines,
    ended,
    kill: () => {
      child.kill("SIGKILL");
      return ended;
    },
    wrote: (count) =>
      new Promise((resolve) => {
        waiting = { count, resolve };
        if (lines.length >= count) resolve();
        void ended.then(() => resolve());
      }),
  };
}
