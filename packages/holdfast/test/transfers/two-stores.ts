import { signal, task, workflow } from "holdfast";
import { Cluster, type Process, type StoreHook } from "../lab/harness.ts";

export const go = signal<string>("go");
export const person = task<string, string>({ name: "person", external: true });

/** Effects of the steps, over both stores. */
export class Effects {
  readonly lines: string[] = [];

  /** Naps, waits for a signal, has something done by a person, and notes each step. */
  readonly order = workflow("order", async (ctx, item: string) => {
    const did = (what: string) => ctx.step(what, () => void this.lines.push(`${ctx.info.id} ${what}`));
    await did("charge");
    await ctx.sleep("nap", "10 minutes");
    await did("pack");
    const word = await ctx.receive(go);
    await did("ship");
    const by = await ctx.task(person, item);
    await did("tell");
    return `${item} ${word} ${by}`;
  });

  /** What was done more than once. */
  repeated(): string[] {
    return this.lines.filter((line, i) => this.lines.indexOf(line) !== i);
  }
}

/** Two stores in one time, and a mover that reaches both. */
export class TwoStores {
  readonly effects = new Effects();
  readonly from = new Cluster();
  readonly to = new Cluster({ clock: this.from.clock });

  /** A process that moves, with a hook in front of every call, whichever store it is for. */
  mover(hook?: StoreHook): { readonly source: Process; readonly target: Process; kill(): void } {
    const [source, target] = [this.from.process("mover", hook), this.to.process("mover", hook)];
    return {
      source,
      target,
      kill: () => {
        source.kill();
        target.kill();
      },
    };
  }

  until<T>(promise: Promise<T>): Promise<T> {
    return this.from.until(promise, "1 day");
  }

  /** The one store that has the run open. */
  openIn(id: string): Cluster[] {
    return [this.from, this.to].filter((cluster) =>
      [...cluster.store.state.runs.values()].some((run) => run.id === id && run.endedAt === null),
    );
  }
}
