/**
 * Queries that the process of the caller cannot answer: it has neither the run nor its code. A worker that has the code takes
 * them, answers from the durable history, or from the run itself if it holds it, and the caller reads the answer. None of it
 * needs to survive a crash of the store: the caller asks again, or learns that its time is over. The promises of every call
 * are in store.ts.
 */
import type { ErrorRecord } from "../model/error-record.ts";
import type { Payload } from "../model/payload.ts";

export interface AskStore {
  /**
   * Puts questions, and hints the workers. Precondition: the run exists; the caller has read its workflow and version.
   * Atomic per ask. Idempotence key: `askId`; a repeated call changes nothing. An ask is gone `ttlMs` after it was put,
   * answered or not.
   */
  ask(params: PutAsksParams): Promise<void>;

  /**
   * Takes open asks of these workflow versions for a worker, the oldest first. One that was taken and not answered within
   * `ASK_TAKE_MS` is open again: its worker may have died. Skips rows that another transaction has locked. Atomic as a whole.
   * Idempotence: none is needed; what a lost answer has taken is open again after that time.
   */
  take(params: TakeAsksParams): Promise<TakeAsksResult>;

  /** Answers asks and hints their callers. The first answer of each counts. An ask that is gone is ignored. Idempotent. */
  answer(params: AnswerAsksParams): Promise<void>;

  /** The answers that have come; null for one that has none yet, or is gone. Read only. */
  read(params: ReadAsksParams): Promise<readonly (AskAnswer | null)[]>;

  /** The callers have their answers, or wait no longer. Deletes these asks. Idempotent. */
  forget(params: ReadAsksParams): Promise<void>;
}

export interface NewAsk {
  /** A UUID. */
  readonly askId: string;
  readonly namespace: string;
  readonly runId: string;
  readonly workflow: string;
  readonly version: string;
  /** The name of the query. */
  readonly name: string;
  readonly payload: Payload;
  readonly ttlMs: number;
}

export interface PutAsksParams {
  readonly asks: readonly NewAsk[];
}

export interface TakeAsksParams {
  readonly namespace: string;
  readonly handlers: readonly { readonly workflow: string; readonly version: string }[];
  readonly limit: number;
}

export type Ask = Pick<NewAsk, "askId" | "namespace" | "runId" | "workflow" | "version" | "name" | "payload">;

export interface TakeAsksResult {
  readonly asks: readonly Ask[];
  /** There are more than the limit. */
  readonly more: boolean;
}

export type AskAnswer =
  | { readonly type: "answered"; readonly payload: Payload }
  | { readonly type: "failed"; readonly error: ErrorRecord };

export interface AnswerAsksParams {
  readonly answers: readonly { readonly namespace: string; readonly askId: string; readonly answer: AskAnswer }[];
}

export interface ReadAsksParams {
  readonly asks: readonly { readonly namespace: string; readonly askId: string }[];
}
