import type { Context } from "./context/context.ts";
import type { Offering } from "./context/offers.ts";

export type WorkflowBody = (ctx: Context, input: unknown) => unknown;

/** What happens to a run whose own code is at fault: it waits for fixed code, or it fails and compensates. */
export type OnBug = "park" | "fail";

/** The code of a run, as far as its machine is concerned. */
export interface RunCode {
  readonly body: WorkflowBody;
  /** What happens to a run whose code throws a TypeError or similar; `"park"` by default. */
  readonly onBug?: OnBug;
  /** Whether a run that has failed this many times is retried as a whole. */
  readonly retryRun?: ((error: unknown, failures: number) => boolean) | undefined;
  /** The workflow, if it lists what its runs can be sent. */
  readonly offering?: Offering | undefined;
}
