/** What the workflow bodies of all engines call: counters, and the moments that workloads wait for. */
export class Hooks {
  steps = 0;
  readonly finishedAt = new Map<string, number>();
  readonly asleepAt = new Map<string, number>();
  readonly waitingAt = new Map<string, number>();
  /** By the number of the step, for the run that reached it first. */
  readonly firstStepAt = new Map<number, number>();
  /** Called in every step, before it returns; a promise delays the step. */
  onStep: ((id: string, step: number) => Promise<void> | void) | undefined;
  readonly #watches: { readonly seen: ReadonlyMap<string, number>; readonly goal: number; resolve(): void }[] = [];

  /** The body of every step: next to nothing, with a small result to store. */
  step(id: string, i: number): { i: number; ok: true } | Promise<{ i: number; ok: true }> {
    this.steps += 1;
    if (!this.firstStepAt.has(i)) this.firstStepAt.set(i, Date.now());
    const held = this.onStep?.(id, i);
    return held instanceof Promise ? held.then(() => ({ i, ok: true })) : { i, ok: true };
  }

  asleep(id: string): void {
    this.#note(this.asleepAt, id);
  }

  waiting(id: string): void {
    this.#note(this.waitingAt, id);
  }

  finished(id: string): void {
    this.#note(this.finishedAt, id);
  }

  /** Resolves when n more bodies than now have ended. */
  untilFinished(n: number): Promise<void> {
    return this.#until(this.finishedAt, n);
  }

  untilAsleep(n: number): Promise<void> {
    return this.#until(this.asleepAt, n);
  }

  untilWaiting(n: number): Promise<void> {
    return this.#until(this.waitingAt, n);
  }

  /** Ends this process as kill -9 would, in the given step. */
  killIn(step: number): void {
    this.onStep = (_id, i) => {
      if (i !== step) return;
      process.kill(process.pid, "SIGKILL");
    };
  }

  /** Only the first time counts: a replayed body passes here again. */
  #note(seen: Map<string, number>, id: string): void {
    if (seen.has(id)) return;
    seen.set(id, Date.now());
    for (const watch of this.#watches) if (watch.seen === seen && seen.size === watch.goal) watch.resolve();
  }

  #until(seen: ReadonlyMap<string, number>, n: number): Promise<void> {
    return new Promise((resolve) => {
      if (n <= 0) resolve();
      else this.#watches.push({ seen, goal: seen.size + n, resolve });
    });
  }
}
