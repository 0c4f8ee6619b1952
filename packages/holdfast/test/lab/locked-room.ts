import type { Context, HeldLock, LockOptions } from "holdfast";

/** What a lock protects: it notes who is inside, by the effects of their steps. */
export class LockedRoom {
  readonly inside = new Set<string>();
  /** In the order in which they came in. */
  readonly visits: string[] = [];
  readonly fences: number[] = [];
  most = 0;

  enter(who: string, lock: HeldLock): void {
    this.inside.add(who);
    this.visits.push(who);
    this.fences.push(lock.fence);
    this.most = Math.max(this.most, this.inside.size);
  }

  leave(who: string): void {
    this.inside.delete(who);
  }

  /** Workflow code that is in the room for a while. */
  visit(ctx: Context, options: LockOptions = {}, stay = "1 minute", name = "room"): Promise<string> {
    const who = ctx.info.id;
    return ctx.withLock(name, options, async (lock) => {
      await ctx.step("enter", () => this.enter(who, lock));
      await ctx.sleep("stay", stay);
      await ctx.step("leave", () => this.leave(who));
      return who;
    });
  }
}
