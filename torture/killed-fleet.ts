/** Worker processes that report each effect as a line of their output, and are killed at random while they work. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { createInterface } from "node:readline";
import { expect } from "vitest";

export interface KilledFleetParams {
  /** The program and its arguments. It says when it is ready. */
  readonly args: readonly string[];
  readonly workers: number;
  readonly kills: number;
  /** So many others are ready whenever one is killed; none unless given. */
  readonly spare?: number;
  /** Effects of all workers between two kills, at most. */
  readonly pauseMax: number;
}

export class KilledFleet {
  readonly #params: KilledFleetParams;
  readonly #children = new Set<ChildProcess>();
  #effects = 0;
  #onEffect = (): void => {};

  constructor(params: KilledFleetParams) {
    this.#params = params;
  }

  /**
   * Kills workers at random, each time after a random number of effects of all of them, and has others start meanwhile. All kills come
   * before the work is done, because there are more effects.
   */
  async killAtRandom(done: Promise<unknown>): Promise<void> {
    const { workers, kills, pauseMax, spare = 0 } = this.#params;
    const ready: ChildProcess[] = [];
    const starts = new Set<Promise<unknown>>();
    const begin = (): void => {
      const start: Promise<unknown> = this.#start().then((child) => starts.delete(start) && ready.push(child));
      starts.add(start);
    };
    for (let i = 0; i < workers; i++) begin();
    for (let i = 0; i < kills; i++) {
      // A run that fails ends the test.
      await Promise.race([this.#untilEffects(this.#effects + 1 + dice(pauseMax)), done]);
      while (ready.length <= spare) await Promise.race(starts);
      const [victim] = ready.splice(dice(ready.length), 1);
      await this.#kill(victim as ChildProcess);
      begin();
    }
    await Promise.all(starts);
  }

  end(): void {
    for (const child of this.#children) child.kill("SIGKILL");
    this.#children.clear();
  }

  /** Resolves when it is ready. Its effects are counted. */
  async #start(): Promise<ChildProcess> {
    const child = spawn(process.execPath, this.#params.args, { stdio: ["pipe", "pipe", "inherit"] });
    this.#children.add(child);
    await new Promise<void>((resolve, reject) => {
      child.once("exit", () => reject(new Error("a worker process ended before it was ready")));
      createInterface({ input: child.stdout }).on("line", (line) => {
        if (line === "ready") return resolve();
        this.#effects += 1;
        this.#onEffect();
      });
    });
    return child;
  }

  async #kill(child: ChildProcess): Promise<void> {
    // One that has ended by itself is an error, and never emits another exit.
    expect([child.exitCode, child.signalCode]).toEqual([null, null]);
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
    this.#children.delete(child);
  }

  #untilEffects(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#onEffect = () => void (this.#effects >= count && resolve());
      this.#onEffect();
    });
  }
}

function dice(sides: number): number {
  return Math.floor(Math.random() * sides);
}
