// The command in a process of its own: in a pipe, or on a pseudo-terminal.
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { bin, nodeArgs } from "./command-under-test.ts";

export interface ChildOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Columns of a pseudo-terminal, which `script` of util-linux makes; undefined: a pipe. */
  readonly terminal?: number;
  /** Another program of the tests, in place of the command. */
  readonly program?: string;
  /** Another program than Node, which gets all arguments. */
  readonly executable?: string;
}

export class ChildCommand {
  out = "";
  err = "";
  readonly ended: Promise<number | string>;
  readonly process: ChildProcess;
  readonly #waiting = new Set<() => void>();

  constructor(argv: readonly string[], { cwd, env, terminal, program: main = bin, executable }: ChildOptions = {}) {
    const { NODE_ENV: _env, VITEST: _vitest, NO_COLOR: _color, ...own } = process.env;
    const command = [...(executable === undefined ? [process.execPath, ...nodeArgs, main] : [executable]), ...argv];
    // The first line of a terminal sets its size; "exec" leaves no shell in between, so that signals reach the command.
    const script = `stty cols ${terminal} rows 30; exec ${command.map(quoted).join(" ")}`;
    const [program, ...args] = terminal === undefined ? command : ["script", "-qec", script, "/dev/null"];
    this.process = spawn(program as string, args, {
      cwd,
      env: { ...own, TERM: "xterm", ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.process.stdout?.on("data", (text) => this.#heard("out", String(text)));
    this.process.stderr?.on("data", (text) => this.#heard("err", String(text)));
    this.ended = new Promise((resolve, reject) => {
      this.process.once("error", reject);
      this.process.once("close", (code, signal) => {
        for (const look of this.#waiting) look();
        resolve(code ?? signal ?? "nothing");
      });
    });
  }

  /** Resolves when it has written that; rejects if it ends without. */
  wrote(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const ended = this.process.exitCode !== null || this.process.signalCode !== null;
        if (`${this.out}${this.err}`.includes(text)) resolve();
        else if (ended) reject(new Error(`It ended without "${text}":\n${this.out}${this.err}`));
        else return;
        this.#waiting.delete(look);
      };
      this.#waiting.add(look);
      look();
    });
  }

  type(text: string): void {
    this.process.stdin?.write(text);
  }

  kill(): void {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill("SIGKILL");
  }

  #heard(where: "out" | "err", text: string): void {
    this[where] += text;
    for (const look of [...this.#waiting]) look();
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** Runs it to its end. */
export async function runChild(argv: readonly string[], options?: ChildOptions) {
  const child = new ChildCommand(argv, options);
  child.process.stdin?.end();
  const code = await child.ended;
  return { code, out: child.out, err: child.err };
}
