/** Branches in the reference machine: what runs side by side, and which part of the code a stop reaches. */
import { HoldfastError } from "../packages/holdfast/src/errors/holdfast-error.ts";
import type { Context } from "../packages/holdfast/src/replay/context/context.ts";

export interface Part {
  readonly parent: Part | undefined;
  readonly shielded: boolean;
  stopped: Error | undefined;
}

export type Branch = (ctx: Context) => unknown;

export interface ParallelOptions {
  readonly onError?: string;
  readonly limit?: number;
}

/** What branches need of the machine. */
export interface Branching {
  inside(part: Part, fn: Branch): Promise<unknown>;
  stop(part: Part, error: Error): void;
  giveBack(part: Part): void;
  /** What was given back goes to whoever waits for it. */
  handOn(): void;
}

export async function parallelIn(
  machine: Branching,
  parent: Part,
  branches: readonly Branch[],
  options: ParallelOptions,
): Promise<unknown[]> {
  const parts = branches.map((): Part => ({ parent, shielded: false, stopped: undefined }));
  const settled: PromiseSettledResult<unknown>[] = [];
  let next = 0;
  let done = 0;
  await new Promise<void>((resolve, reject) => {
    const begin = (): void => {
      const i = next++;
      if (i >= branches.length) return;
      const finish = (result: PromiseSettledResult<unknown>): void => {
        settled[i] = result;
        done += 1;
        if (result.status === "rejected" && options.onError !== "collect-all") {
          parts.forEach((part, k) => {
            if (!settled[k] && !part.stopped) machine.stop(part, opCanceled());
          });
          machine.handOn();
          reject(result.reason);
        } else if (done === branches.length) resolve();
        else begin();
      };
      machine.inside(parts[i] as Part, branches[i] as Branch).then(
        (value) => finish({ status: "fulfilled", value }),
        (reason) => finish({ status: "rejected", reason }),
      );
    };
    for (let i = 0; i < Math.min(options.limit ?? branches.length, branches.length); i++) begin();
  });
  return options.onError === "collect-all"
    ? settled
    : settled.map((one) => (one as PromiseFulfilledResult<unknown>).value);
}

export function raceIn(machine: Branching, parent: Part, branches: readonly Branch[]): Promise<unknown> {
  const parts = branches.map((): Part => ({ parent, shielded: false, stopped: undefined }));
  const errors: unknown[] = [];
  return new Promise((resolve, reject) => {
    let over = false;
    branches.forEach((branch, i) => {
      machine.inside(parts[i] as Part, branch).then(
        (value) => {
          if (over) return;
          over = true;
          parts.forEach((part, k) => {
            if (k === i) return;
            machine.giveBack(part);
            machine.stop(part, opCanceled());
          });
          machine.handOn();
          resolve({ winner: i, value });
        },
        (error) => {
          errors.push(error);
          if (over || errors.length < branches.length) return;
          over = true;
          reject(stoppedBy(parent) ?? new HoldfastError("race_failed", "every branch failed"));
        },
      );
    });
  });
}

function opCanceled(): HoldfastError {
  return new HoldfastError("op_canceled", "another branch is done");
}

export function stoppedBy(part: Part): Error | undefined {
  for (let one: Part | undefined = part; one; one = one.parent) {
    if (one.stopped) return one.stopped;
    if (one.shielded) return undefined;
  }
  return undefined;
}

/** Whether stopping `from` also stops `part`. */
export function reaches(from: Part, part: Part): boolean {
  for (let one: Part | undefined = part; one; one = one.parent) {
    if (one === from) return true;
    if (one.shielded) return false;
  }
  return false;
}
