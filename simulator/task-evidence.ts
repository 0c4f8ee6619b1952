/** What checkers judge about tasks. */
import type { Payload } from "../packages/holdfast/src/model/payload.ts";
import type { TaskRow } from "../packages/holdfast/src/model/task.ts";
import type { ClaimTasksParams, FinishTask } from "../packages/holdfast/src/ports/store.ts";
import type { StoreMethod } from "../packages/holdfast/src/ports/store-calls.ts";

/** A task in the store at one moment. */
export interface TaskSnapshot
  extends Pick<
    TaskRow,
    | "epoch"
    | "status"
    | "heldBy"
    | "attempt"
    | "secret"
    | "availableAt"
    | "expiresAt"
    | "expires"
    | "deaths"
    | "canceled"
    | "alone"
    | "name"
    | "queue"
    | "requires"
  > {
  readonly failures: number;
  readonly details: Payload | null;
  /** It waits for a place in a queue with limits. */
  readonly inLine: boolean;
}

/** What one call of the store did to a task. */
export interface TaskChange {
  readonly at: number;
  readonly storeAt: number;
  readonly method: StoreMethod;
  readonly runId: string;
  readonly seq: number;
  readonly op: string;
  readonly before: TaskSnapshot | undefined;
  readonly after: TaskSnapshot | undefined;
  /** The reports about it in the call. */
  readonly finishes: readonly FinishTask[];
  readonly claim: ClaimTasksParams | undefined;
  /** Its result was recorded, or unread in the inbox, after the call. */
  readonly ended: boolean;
  /** The worker that held it before is offline. */
  readonly holderLeft: boolean;
  readonly runClosed: boolean;
  /** The type of the event that it was created with. */
  readonly scheduledBy: string | undefined;
}

/** A moment at which a task was not in exactly one place. */
export interface TaskAccount {
  readonly at: number;
  readonly runId: string;
  readonly op: string;
  readonly seq: number;
  readonly closed: boolean;
  readonly live: number;
  readonly unread: number;
  /** The run does not wait for it. */
  readonly unasked?: boolean;
}

/** One execution of a task's function. */
export interface Execution {
  readonly at: number;
  readonly process: string;
  readonly workerId: string;
  readonly runId: string;
  readonly seq: number;
  readonly epoch: number;
  readonly op: string;
  readonly attempt: number;
  /** The most attempts that its policy allows. */
  readonly attemptsMax: number;
  readonly once: boolean;
  /** What it returned; undefined until it has. */
  value?: string;
  readonly beats: string[];
  /** Its task was in the store. */
  readonly durable: boolean;
  /** The task when a worker took it under that epoch. */
  readonly hold: TaskSnapshot | undefined;
  /** What the earlier attempt reported last, as this one was told. */
  readonly lastDetails: unknown;
  /** What it may be told: the details in the store since a worker took it under that epoch. */
  readonly storedDetails: readonly unknown[];
  /** What else its worker had, although it was to have nothing else. */
  readonly company: string | undefined;
  /** Why this worker should not have executed it. */
  readonly trespass: string | undefined;
}

/** What someone with a token was told. */
export interface TokenAnswer {
  readonly at: number;
  readonly runId: string;
  readonly seq: number;
  readonly epoch: number;
  readonly op: string;
  readonly deed: "complete" | "fail";
  readonly value: string | undefined;
  readonly done: boolean;
  /** Whether that was so in the store. */
  readonly true: boolean;
}
