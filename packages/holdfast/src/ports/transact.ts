import type { Message } from "../model/message.ts";
import type { Payload } from "../model/payload.ts";

/** Stores whose transactions can include an application's own work. */
export type TransactionKind = "memory" | "sqlite" | "postgres";

export interface TransactParams {
  readonly namespace: string;
  readonly workerId: string;
  readonly runId: string;
  readonly epoch: number;
  /** The op that the result message belongs to: the name of the message. */
  readonly op: string;
  readonly messageId: string;
  /** First check whether an earlier call took effect, and wait for one whose outcome is unknown. */
  readonly again: boolean;
  readonly signal: AbortSignal;
  /**
   * What `tx` is depends on `capabilities.transactions`. Returns the payload of the result message. On SQLite it returns
   * synchronously.
   */
  readonly work: (tx: unknown) => Payload | Promise<Payload>;
}

export type TransactResult =
  | { readonly outcome: "recorded"; readonly message: Message }
  /** Another worker holds the run now, or it has ended. */
  | { readonly outcome: "lost" };
