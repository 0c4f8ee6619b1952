/** What is known of a process that another program has started: its id alone may have become somebody else's. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";

/** Whether the process is alive and its command line has all of these words. Where command lines cannot be read, its id must do. */
export function runs(pid: number, words: readonly string[]): boolean {
  if (!isAlive(pid)) return false;
  const command = commandOf(pid);
  return command === undefined || words.every((word) => command.includes(word));
}

export function isAlive(pid: number): boolean {
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

export function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    if (pid > 0) process.kill(pid, name);
  } catch {
    // it has ended
  }
}

function commandOf(pid: number): string | undefined {
  if (process.platform === "linux") {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    } catch {
      return undefined;
    }
  }
  const { status, stdout } = spawnSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" });
  return status === 0 ? stdout : undefined;
}
