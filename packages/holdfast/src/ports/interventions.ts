/** What is done to runs from outside, whether or not they are held: by operators, and by workers that take up parked runs. */
import type { ErrorRecord } from "../model/error-record.ts";
import type { EventDraft } from "../model/event.ts";
import type { RunStatus } from "../model/run.ts";
import type { RunRef } from "./run-ref.ts";

export interface TakeUpParams {
  readonly workerId: string;
  readonly claimId: string;
  readonly namespace: string;
  readonly queues: readonly string[];
  readonly handlers: readonly { readonly workflow: string; readonly version: string; readonly code: string }[];
  readonly limit: number;
  readonly event: EventDraft;
}

export interface TakeUpResult {
  readonly live: boolean;
  readonly taken: number;
  readonly more: boolean;
}

export interface PauseParams {
  readonly run: RunRef;
  readonly epoch: number;
  readonly error: ErrorRecord;
}

export interface PauseOutcome {
  readonly outcome: "parked" | "moved" | "held" | "behind" | "not_found" | "busy";
}

export interface ResumeParams {
  readonly run: RunRef;
  readonly epoch: number;
  readonly event: EventDraft;
  readonly dueAt: number | null;
}

export interface ResumeOutcome {
  readonly resumed: boolean;
  readonly status: RunStatus | null;
  /** A pause is among its unread messages. */
  readonly pauses: boolean;
}

export interface TerminateRunsParams {
  readonly runs: readonly RunRef[];
  readonly error: ErrorRecord;
}

export interface TerminateOutcome {
  readonly outcome: "terminated" | "closed" | "not_found" | "busy";
  readonly runId: string | null;
  readonly status: RunStatus | null;
  /** The run owes something; absent if not. */
  readonly owes?: true;
}

export interface ReopenParams {
  readonly run: RunRef;
  readonly eventCount: number;
  readonly event: EventDraft;
}

export interface ReopenOutcome {
  readonly outcome: "reopened" | "not_failed" | "superseded" | "not_found" | "busy";
  readonly status: RunStatus | null;
}
