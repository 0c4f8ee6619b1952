/** What is done to runs from outside, whether or not they are held: by operators, and by workers that take up parked runs. */
import type { ErrorRecord } from "../model/error-record.ts";
import type { EventDraft } from "../model/event.ts";
import type { NewRun, RunRow, RunStatus } from "../model/run.ts";
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

export interface RestartParams {
  readonly namespace: string;
  readonly runId: string;
  readonly epoch: number;
  readonly commit: number;
  readonly eventCount: number;
  readonly event: EventDraft;
}

export interface RestartOutcome {
  readonly outcome: "restarted" | "moved" | "not_found" | "busy";
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

/** A new run that begins as another one did. */
export interface ForkParams {
  /** Exactly this run. */
  readonly origin: { readonly namespace: string; readonly runId: string };
  /** How many of its events are copied, from the first on. */
  readonly copied: number;
  /** The caller knows its events up to this one, and that none of them forbids the fork. */
  readonly judged: number;
  /** Of the same namespace and workflow. Its start time is that of the origin. */
  readonly run: NewRun;
  /** The messages of the new run are numbered from here: the copied events may name those of the origin. */
  readonly numberedFrom: number;
  /** What follows the copied events: `run_forked`. */
  readonly event: EventDraft;
}

export interface ForkOutcome {
  /** `exists`: there is a run of that id. `compensated`: something may have been undone since the caller looked. */
  readonly outcome: "forked" | "exists" | "compensated" | "not_found" | "busy";
  /** The new run, or the one that has its id. */
  readonly run: RunRow | null;
}

export interface ReopenOutcome {
  readonly outcome: "reopened" | "not_failed" | "superseded" | "not_found" | "busy";
  readonly status: RunStatus | null;
}
