import type { ErrorRecord } from "../model/error-record.ts";
import type { HistoryEvent } from "../model/event.ts";
import type { Payload } from "../model/payload.ts";
import type { CompensationOutcome, Run } from "../model/run.ts";
import type { Codec } from "../ports/codec.ts";
import type { Logger } from "../ports/logger.ts";
import type { Context } from "./context.ts";

export type WorkflowBody = (ctx: Context, input: unknown) => unknown;

/** What becomes of a run whose own code is at fault: it waits for fixed code, or it fails and compensates. */
export type OnBug = "park" | "fail";

export interface MachineParams {
  readonly run: Run;
  readonly body: WorkflowBody;
  readonly codec: Codec;
  readonly log: Logger;
  readonly history: readonly HistoryEvent[];
  /** The first turn was finished before, though history may know nothing of it. */
  readonly begun?: boolean;
  /** What history keeps of an error. */
  readonly record?: (error: unknown) => ErrorRecord;
  /** Most ops that one run may ask for. */
  readonly opsMax: number;
  /** Remember where in the code each op was asked for; slow, for explaining a divergence. */
  readonly locate?: boolean;
  /** A function that returns while ops are pending has failed. */
  readonly failForgotten?: boolean;
  /** What becomes of a run whose code throws a TypeError or the like; `"park"` unless given. */
  readonly onBug?: OnBug;
  /** Whether a run that has failed so often is to be tried again as a whole. */
  readonly retryRun?: ((error: unknown, failures: number) => boolean) | undefined;
  /** Told when the code has broken M4, or whatever else makes it impossible to replay. */
  readonly driver?: { violated(): void };
}

export type Outcome =
  | { readonly type: "completed"; readonly value: unknown; readonly output: Payload }
  | { readonly type: "continued"; readonly input: Payload }
  /** The run is to be tried again, at the ops that failed. */
  | { readonly type: "retried"; readonly error: unknown; readonly forgets: readonly string[] }
  | {
      readonly type: "failed";
      readonly error: unknown;
      readonly compensation: CompensationOutcome | null;
      /** The run was canceled before its code was called. */
      readonly neverCalled?: true;
    };
