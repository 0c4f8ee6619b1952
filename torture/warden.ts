/**
 * The warden: a shell that kills the processes on its list when the harness is gone. A worker process ends on its own
 * when its channel closes, but a stopped one cannot.
 */
import { type ChildProcess, spawn } from "node:child_process";

const SCRIPT = `
list=" "
while read -r what pid; do
  case $what in
    +) list="$list$pid " ;;
    -) list=$(printf '%s' "$list" | sed "s/ $pid / /") ;;
  esac
done
for pid in $list; do kill -KILL "$pid" 2>/dev/null; done
`;

export class Warden {
  readonly #shell: ChildProcess;

  constructor() {
    // In a separate process group: Ctrl-C at the terminal must not end it before it has done its work.
    this.#shell = spawn("sh", ["-c", SCRIPT], { stdio: ["pipe", "ignore", "ignore"], detached: true });
    this.#shell.unref();
    this.#shell.stdin?.on("error", () => {});
    (this.#shell.stdin as unknown as { unref(): void }).unref();
  }

  watch(pid: number): void {
    this.#shell.stdin?.write(`+ ${pid}\n`);
  }

  forget(pid: number): void {
    this.#shell.stdin?.write(`- ${pid}\n`);
  }

  close(): void {
    this.#shell.stdin?.end();
  }
}
