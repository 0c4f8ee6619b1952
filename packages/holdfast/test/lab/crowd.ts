import type { Context } from "holdfast";

/** Notes how many are inside at once, by key and in all. */
export class Crowd {
  readonly now: Record<string, number> = { all: 0 };
  readonly most: Record<string, number> = { all: 0 };
  /** Who came in, in order. */
  readonly order: string[] = [];
  visits = 0;
  #waiting: (() => void)[] = [];

  enter(key: string): void {
    this.visits += 1;
    for (const name of ["all", key]) {
      this.now[name] = (this.now[name] ?? 0) + 1;
      this.most[name] = Math.max(this.most[name] ?? 0, this.now[name]);
    }
  }

  leave(key: string): void {
    for (const name of ["all", key]) this.now[name] = (this.now[name] ?? 0) - 1;
  }

  /** Workflow code that stays inside for a minute. */
  async stay(ctx: Context, key: string): Promise<void> {
    await ctx.step("enter", () => {
      this.order.push(ctx.info.id);
      this.enter(key);
    });
    await ctx.sleep("stay", "1 minute");
    await ctx.step("leave", () => this.leave(key));
  }

  /** A task that stays inside until it is let out. */
  async inside(key: string): Promise<void> {
    this.enter(key);
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.leave(key);
  }

  letOut(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
