/** The workflow that `torture` runs: steps whose effects are lines of a ledger, with a sleep and a signal in between. */
import { appendFileSync, readFileSync } from "node:fs";
import process from "node:process";
import type { Core } from "../../io/io.ts";

export const STEPS = ["a", "b", "c", "d", "e"] as const;

/** A line of the ledger: an attempt of a step that has done its work. */
export interface Effect {
  readonly run: string;
  readonly op: string;
  readonly pid: number;
}

export function tortureWorkflow({ workflow, signal }: Core, ledger: string) {
  const go = signal<boolean>("go");
  return workflow("torture", async (ctx, input: { readonly n: number }) => {
    const effect = (op: string) => () => {
      const line: Effect = { run: ctx.info.id, op, pid: process.pid };
      appendFileSync(ledger, `${JSON.stringify(line)}\n`);
      return input.n;
    };
    let sum = 0;
    for (const [index, op] of STEPS.entries()) {
      sum += await ctx.step(op, effect(op));
      if (index === 1) await ctx.sleep("nap", "20ms");
      if (index === 2) await ctx.receive(go);
    }
    return sum;
  });
}

export function readLedger(file: string): Effect[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Effect);
}
