import type { Message } from "../model/message.ts";
import type { Payload } from "../model/payload.ts";

/** Stores whose transactions an application's own work can be part of. */
export type TransactionKind = "memory" | "sqlite" | "postgres";

export interface TransactParams {
  readonly namespace: string;
  readonly workerId: string;
  readonly runId: string;
  readonly epoch: number;
  /** The op whose outcome this is: the name of the message. */
  readonly op: string;
  readonly messageId: string;
  /** Look first whether an earlier try has taken effect, and wait for one whose end nobody has seen. */
  readonly again: boolean;
  readonly signal: AbortSignal;
  /** What `tx` is depends on `capabilities.transactions`. Answers what the outcome's payload is. On SQLite it answers at once. */
  readonly work: (tx: unknown) => Payload | Promise<Payload>;
}

export type TransactResult =
  | { readonly outcome: "recorded"; readonly message: Message }
  /** The run belongs to somebody else now, or has ended. */
  | { readonly outcome: "lost" };
