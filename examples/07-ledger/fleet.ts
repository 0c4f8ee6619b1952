// Workers, each in a separate process, that are killed at random moments and replaced.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";

/** The longest pause between two kills, unless all workers are still starting. */
const CALM_MS_MAX = 300;

export class Fleet {
  readonly #url: string;
  readonly #working = new Set<ChildProcess>();
  readonly #all = new Set<ChildProcess>();
  #over = false;
  kills = 0;

  constructor(url: string) {
    this.#url = url;
  }

  async start(size: number): Promise<void> {
    await Promise.all(Array.from({ length: size }, () => this.#hire()));
  }

  /** SIGKILL, again and again: the process gets no chance to clean up, to stop properly or to release its runs. */
  async killAtRandom(kills: number, onKill: () => void): Promise<void> {
    while (this.kills < kills) {
      await pause(Math.random() * CALM_MS_MAX);
      const working = [...this.#working];
      const victim = working[Math.floor(Math.random() * working.length)];
      // Nearly always leaves a worker, so that there is work for the next kill to interrupt.
      if (!victim || (working.length === 1 && Math.random() < 0.9)) continue;
      await this.#kill(victim);
      this.kills += 1;
      onKill();
      void this.#hire();
    }
  }

  async dismiss(): Promise<void> {
    this.#over = true;
    await Promise.all([...this.#all].map((child) => this.#kill(child)));
  }

  async #kill(child: ChildProcess): Promise<void> {
    this.#working.delete(child);
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  /** Resolves when the worker has started. */
  async #hire(): Promise<void> {
    const child = fork(new URL("./worker.ts", import.meta.url), [this.#url]);
    this.#all.add(child);
    child.once("exit", (code) => {
      this.#all.delete(child);
      if (code === null || this.#over) return;
      console.error(`a worker ended unexpectedly, with exit code ${code}`);
      process.exit(1);
    });
    await once(child, "message");
    if (!this.#over) this.#working.add(child);
  }
}
