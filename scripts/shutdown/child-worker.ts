// A program in a separate process, which the test watches and sends signals to.
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import { root } from "../guide/workspace.ts";

export class ChildWorker {
  readonly lines: string[] = [];
  /** Exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
  readonly #child: ChildProcess;
  #waiting: { readonly text: string; readonly resolve: () => void } | undefined;

  constructor(file: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
    const { NODE_ENV: _env, VITEST: _vitest, ...own } = process.env;
    const nodeArgs = ["--conditions=holdfast-source", "--import", "tsx", file, ...args];
    this.#child = spawn(process.execPath, nodeArgs, { cwd: root, env: { ...own, ...env } });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream) createInterface({ input: stream }).on("line", (line) => this.#heard(line));
    }
    this.ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code, signal) => resolve(code ?? signal ?? "nothing"));
    });
  }

  /** Resolves when it has written a line with that text; rejects if it ends without. */
  wrote(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting = { text, resolve };
      if (this.lines.some((line) => line.includes(text))) resolve();
      void this.ended.then((end) => reject(new Error(`it ended (${end}) with:\n${this.lines.join("\n")}`)));
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Kills it if it is still running. */
  kill(): void {
    if (this.#child.exitCode === null) this.#child.kill("SIGKILL");
  }

  #heard(line: string): void {
    this.lines.push(line);
    if (this.#waiting && line.includes(this.#waiting.text)) this.#waiting.resolve();
  }
}
