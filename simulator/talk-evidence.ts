/** What checkers judge about children, messages between runs, updates and queries. */
import type { ClosePolicy } from "../packages/holdfast/src/model/child.ts";
import type { DebtKind } from "../packages/holdfast/src/model/debt.ts";
import type { Manner, Sketch } from "./workload/talk.ts";

/** A run that another run has started, when it came to exist. */
export interface Birth {
  readonly at: number;
  readonly runId: string;
  readonly parentRunId: string;
  /** Of the parent, at that moment. */
  readonly parentClosed: boolean;
  readonly parentEvents: number;
  readonly policy: ClosePolicy;
}

/** Something that a run owed and was not written down, or was crossed out before it was paid. */
export interface DebtFault {
  readonly at: number;
  readonly runId: string;
  readonly kind: DebtKind;
  readonly text: string;
}

/** What was still owed when nothing happened any more. */
export interface OpenDebt {
  readonly runId: string;
  readonly kind: DebtKind;
}

/** What a caller was told about an update. */
export interface UpdateAnswer {
  readonly at: number;
  readonly id: string;
  readonly updateId: string;
  readonly how: Manner;
  /** The first run of the chain that has it. */
  readonly chain: string | undefined;
  /** What the handler returned, or a code and a message. */
  readonly told: string;
  /** Whether that was in the store at that moment. */
  readonly true: boolean;
}

/** What a caller was told about the state of a run. */
export interface QueryAnswer {
  readonly at: number;
  readonly id: string;
  readonly askedAt: number;
  readonly sketch: Sketch;
  /** How many events of that run were in the store when the caller got it; undefined if it was purged by then. */
  readonly durable: number | undefined;
  /** The updates of that run that somebody knew to be answered when it was asked. */
  readonly known: readonly string[];
}

/** A query that tried to change something. */
export interface Meddling {
  readonly id: string;
  readonly told: string;
}

/** A note that reached another run before what its sender had seen was durable. */
export interface EarlyNote {
  readonly runId: string;
  readonly text: string;
}
