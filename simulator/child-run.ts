import { spawn } from "node:child_process";
import process from "node:process";

/** The result of one seed, as printed with --json. */
export interface SeedLine {
  readonly seed: number;
  readonly hash: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly checkers: readonly string[];
  readonly report: string;
}

const children = new Set<ReturnType<typeof spawn>>();

/** Runs a bundled simulator in a separate process. */
export function runBundle(file: string, args: readonly string[]): Promise<readonly SeedLine[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [file, ...args, "--json"], { stdio: ["ignore", "pipe", "pipe"] });
    children.add(child);
    let output = "";
    let errors = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
    });
    child.stderr.on("data", (chunk) => {
      errors += chunk;
    });
    child.once("close", () => {
      children.delete(child);
      const lines = output.split("\n").filter((line) => line !== "");
      if (lines.length > 0) resolve(lines.map((line) => JSON.parse(line) as SeedLine));
      else reject(new Error(`the simulator printed nothing. ${errors}`));
    });
  });
}

/** Kills the children, so that no process outlives the test that started it. */
export function killChildren(): void {
  for (const child of children) child.kill("SIGKILL");
}
