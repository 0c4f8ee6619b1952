import type { Payload } from "../../model/payload.ts";

/** The run that a message is for: the run of that run id and its continuations, or the newest of the id. */
export interface MessageTarget {
  readonly namespace: string;
  readonly id: string;
  readonly runId?: string;
}

/** What is asked of another run. */
export type MessageContent =
  | { readonly type: "signal"; readonly name: string; readonly payload: Payload }
  | { readonly type: "update"; readonly name: string; readonly payload: Payload }
  | { readonly type: "cancel"; readonly reason: string }
  /** To be told of its end. `workflow`: what it must be a run of, if the code says so. */
  | { readonly type: "result"; readonly workflow: string | undefined };

/** Something for another run, and whom it is for. */
export interface MessageWork {
  readonly to: MessageTarget;
  readonly content: MessageContent;
  /** The run was retried: not before then. */
  retryAt?: number | undefined;
}
