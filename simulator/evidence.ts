/**
 * What checkers judge: plain data about what happened. The simulator collects all of it. A test on a real store has
 * rows, histories and what its steps recorded, and gets the checkers that need no more (see checkers/index.ts).
 */
import type { HistoryEvent } from "../packages/holdfast/src/model/event.ts";
import type { Message } from "../packages/holdfast/src/model/message.ts";
import type { Run } from "../packages/holdfast/src/model/run.ts";
import type { Transition } from "../packages/holdfast/src/ports/store.ts";
import type { LockGrant, LockUse } from "./lock-evidence.ts";
import type { Birth, DebtFault, EarlyNote, Meddling, OpenDebt, QueryAnswer, UpdateAnswer } from "./talk-evidence.ts";
import type { Execution, TaskAccount, TaskChange, TokenAnswer } from "./task-evidence.ts";
import type { Program } from "./workload/program.ts";

/** A run as judged at the end. */
export interface RunEvidence {
  readonly run: Run;
  /** Without the start and the end. */
  readonly history: readonly HistoryEvent[];
}

/** One execution of a step's function, or of a compensation. */
export interface Effect {
  readonly at: number;
  readonly process: string;
  readonly workerId: string;
  readonly runId: string;
  readonly op: string;
  readonly attempt: number;
  /** What the function returned; undefined until it has. */
  value?: string;
  failed?: boolean;
  /** Each attempt should be executed at most once. */
  readonly once: boolean;
  /** A cancel does not stop it. */
  readonly shielded: boolean;
  /** What a compensation got about its step. */
  readonly told?: string;
  /** What the code had seen when it requested the op: how many events, and the results of which ops. */
  readonly seenSeq: number;
  readonly seen: readonly Sight[];
  /** What the store had at that moment. */
  readonly durableSeq: number;
  /** The op's completion was in the store. */
  readonly completed: boolean;
  /** A cancel was in the store's history of the run. */
  readonly canceled: boolean;
  /** Which worker held the run, and why this worker should not have executed it, if so. */
  readonly heldBy: string | null;
  readonly trespass: string | undefined;
  /** What else its worker had, although it was to have nothing else. */
  readonly company?: string | undefined;
  /** Failed attempts of the op that were in the store. */
  readonly failedAttempts: number;
  /** The run was parked or pausing, according to the store, and the attempt was not about to begin before. */
  readonly paused?: string | undefined;
  /** The locks that it began inside of; none if its worker had lost the run. */
  readonly locks?: readonly LockUse[];
  /** The lock that the run was to regain first, according to the store. */
  readonly regaining?: string | undefined;
}

/** A transaction of a step that has committed. */
export interface Entry {
  readonly runId: string;
  readonly op: string;
  readonly at: number;
  readonly locks: readonly LockUse[];
}

/** What workflow code has received from an op. */
export interface Sight {
  readonly op: string;
  readonly value: string;
}

/** A commit that reached the store. */
export interface CommitRecord {
  readonly at: number;
  /** By the store's clock. */
  readonly storeAt: number;
  readonly workerId: string;
  readonly runId: string;
  readonly epoch: number;
  readonly commit: number;
  readonly events: readonly HistoryEvent[];
  /** The events at that moment. */
  readonly digest: readonly string[];
  readonly transition: Transition["type"];
  readonly before: Pick<Run, "epoch" | "commit" | "heldBy" | "eventCount" | "status">;
  /** And after the commit. */
  readonly after: Pick<Run, "heldBy" | "availableAt" | "delivered" | "consumed" | "status">;
  /** Whether the store accepted it, this time. */
  readonly applied: boolean;
}

/** Something that a caller was told, and so may rely on. */
export interface Ack {
  readonly at: number;
  readonly kind: "start" | "signal" | "cancel" | "terminate" | "result" | "retry";
  readonly id: string;
  readonly runId: string | undefined;
  readonly messageId?: string;
  /** The answer: an output as JSON, or a code. */
  readonly told?: string;
  /** Whether it was true in the store at that moment. */
  readonly true: boolean;
}

/** What a sender sent to the runs of an id, in order. */
export interface Letters {
  readonly id: string;
  readonly sender: string;
  readonly messageIds: readonly string[];
}

/** How the system behaved while it was idle. */
export interface Quiet {
  readonly ms: number;
  readonly workers: number;
  readonly leaseMs: number;
  readonly fallbackMs: number;
  readonly calls: Readonly<Record<string, number>>;
}

export interface Evidence {
  /** Without forks. */
  readonly runs: readonly RunEvidence[];
  /** The same of forks, and what continues them. */
  readonly forks?: Pick<Evidence, "runs" | "effects" | "commits">;
  /** Everything has healed, and had all the time it needs. */
  readonly settled?: boolean;
  readonly inboxes?: ReadonlyMap<string, readonly Message[]>;
  readonly effects?: readonly Effect[];
  /** Transactions of steps that have committed, in order. */
  readonly ledger?: readonly Entry[];
  readonly commits?: readonly CommitRecord[];
  readonly acks?: readonly Ack[];
  readonly letters?: readonly Letters[];
  readonly executions?: readonly Execution[];
  readonly taskChanges?: readonly TaskChange[];
  readonly taskAccounts?: readonly TaskAccount[];
  readonly tokenAnswers?: readonly TokenAnswer[];
  readonly births?: readonly Birth[];
  readonly debtFaults?: readonly DebtFault[];
  readonly openDebts?: readonly OpenDebt[];
  readonly earlyNotes?: readonly EarlyNote[];
  readonly updateAnswers?: readonly UpdateAnswer[];
  readonly queryAnswers?: readonly QueryAnswer[];
  readonly meddlings?: readonly Meddling[];
  /** What was wrong with parks and resumes, at any time. */
  readonly operationFaults?: readonly Found[];
  readonly watchdogFaults?: readonly Found[];
  /** Which runs were in two stores at a time, or in none. */
  readonly moveFaults?: readonly Found[];
  /** What was deleted that should not have been. */
  readonly purgeFaults?: readonly Found[];
  /** What was wrong with segments, at any time. */
  readonly segmentFaults?: readonly Found[];
  /** What was wrong with schedules, at any time. */
  readonly scheduleFaults?: readonly Found[];
  /** What was wrong with the lines in front of locks, at any time. */
  readonly lockFaults?: readonly Found[];
  readonly lockGrants?: readonly LockGrant[];
  /** Who was let into a queue beyond its limits, and who waited in line for nothing. */
  readonly placeFaults?: readonly Found[];
  readonly lineFaults?: readonly Found[];
  readonly quiet?: Quiet;
  /** Log lines at level error, unhandled rejections, tasks that threw. */
  readonly complaints?: readonly string[];
  /** What the code of a workflow version does. */
  readonly programs?: ReadonlyMap<string, Program>;
  /** Unanswered calls, timers and the like that the scenario could not finish. */
  readonly unfinished?: readonly string[];
}

export interface Violation {
  readonly checker: string;
  readonly runId: string | undefined;
  readonly text: string;
}

export interface Checker {
  readonly name: string;
  /** The evidence it requires, besides runs and histories. */
  readonly needs: readonly (keyof Evidence)[];
  check(evidence: Evidence): Promise<Found[]> | Found[];
}

export interface Found {
  readonly runId?: string;
  readonly text: string;
}
