import { isHoldfastError } from "../../src/errors/holdfast-error.ts";
import { ContinueAsNew } from "../../src/replay/context/context.ts";
import { anyTurnOpen } from "../../src/replay/turn-loop.ts";
import { ProgramError } from "./interpreter.ts";

export interface Rejections<T> {
  readonly value: T;
  /** Failures of chains that nobody was listening to. */
  readonly ofChains: readonly unknown[];
}

/**
 * Lets workflow code fail where nobody listens, as it may in production, where the rejection guard lets such failures pass.
 * Vitest would count each of them against the run, so its listener is put aside meanwhile. Nothing else is let pass: a
 * rejection that surfaces while no turn is open would end a worker's process, and one that is no workflow's error is a fault
 * of the engine or of these tests. Either fails the test that called this.
 */
export async function collectRejections<T>(work: () => Promise<T>): Promise<Rejections<T>> {
  const ofChains: unknown[] = [];
  const others: unknown[] = [];
  const onUnhandled = (reason: unknown): void => {
    (anyTurnOpen() && isOfWorkflow(reason) ? ofChains : others).push(reason);
  };
  // With a listener Node does not warn about chains that are awaited late.
  const onHandledLate = (): void => {};
  const aside = process.rawListeners("unhandledRejection") as NodeJS.UnhandledRejectionListener[];
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", onUnhandled);
  process.on("rejectionHandled", onHandledLate);
  try {
    const value = await work();
    if (others.length > 0)
      throw new Error(`${others.length} rejections that are no chain's; the first: ${String(others[0])}`, {
        cause: others[0],
      });
    return { value, ofChains };
  } finally {
    process.off("unhandledRejection", onUnhandled);
    process.off("rejectionHandled", onHandledLate);
    for (const listener of aside) process.on("unhandledRejection", listener);
  }
}

/** Whether workflow code, or the engine on its behalf, throws such errors. */
export function isOfWorkflow(error: unknown): boolean {
  return (
    isHoldfastError(error) ||
    error instanceof ProgramError ||
    error instanceof ContinueAsNew ||
    (error instanceof AggregateError && error.errors.every(isOfWorkflow))
  );
}
