import type { RunName } from "../model/child.ts";
import type { ErrorView } from "./error-view.ts";
import type { QueueRate } from "./queues.ts";

/**
 * What can keep a run from ending. `update`: the handler of an update has not finished; `condition`: a predicate of `ctx.until` is
 * not true yet; `task`: a task waits for a worker, is being executed, or waits for someone with its token; `step`: a step is running, or (without `op`) a worker holds the run and the step is
 * unknown; `backoff`: a step, or without `op` the whole run, is between two attempts (a task, too); `limit`: it is due and waits for
 * a free slot of a worker, or (with `queue`) it or a task of it waits for a place in a queue with limits; `child`: a child, or another run whose result is awaited, has not ended; `lock`: others hold a lock that it has requested; `lease`: its worker, or every worker that could claim it, is silent or gone.
 */
export type CauseKind =
  | "step"
  | "backoff"
  | "task"
  | "timer"
  | "signal"
  | "update"
  | "condition"
  | "lease"
  | "no_worker"
  | "limit"
  | "start_delay"
  | "parked"
  | "paused"
  | "ended"
  | "child"
  | "lock";

/** A limit that is reached: all places are taken, or there is no token. */
export interface CauseLimit {
  readonly of: "queue" | "key";
  readonly concurrency?: number;
  readonly rate?: QueueRate;
}

/** One thing that keeps a run from ending. */
export interface Cause {
  readonly kind: CauseKind;
  readonly op?: string;
  /** When it is due, when the lease expires, or when the rate of a queue lets the next one begin. */
  readonly at?: Date;
  /** Since when; if the step is unknown, the time of the run's last event. */
  readonly since?: Date;
  /** The attempt that is running; between two attempts, how many there have been. */
  readonly attempt?: number;
  /** The maximum number of attempts: known once one has failed, or if a worker of this client holds the run. */
  readonly attempts?: number;
  readonly error?: ErrorView;
  /** Who has paused the run, why, and the run id of the batch that did it. */
  readonly by?: string;
  readonly reason?: string;
  readonly batch?: string;
  /** The name of the worker. */
  readonly worker?: string;
  /** The queue of a task, or the one whose limits keep something from beginning. */
  readonly queue?: string;
  /** The key that these limits go by. */
  readonly key?: string;
  /** The limit that is reached, of the queue as a whole or of the key. */
  readonly limit?: CauseLimit;
  /** Where a task stands in line, from 1: among those of its kind and queue that require the same labels. The same of a request for a lock. */
  readonly position?: number;
  /** The labels that a task requires of its worker. */
  readonly requires?: readonly string[];
  /** The runs that hold the lock, or have the places of the queue; the first 100. */
  readonly holders?: readonly RunName[];
  /** The run that is waited for: a child, or another run whose result is awaited. */
  readonly run?: Partial<RunName>;
  /** What keeps that run from ending, first of all. */
  readonly cause?: Cause;
  /** The ids of runs that wait for each other in a circle: none of them will ever end on its own. */
  readonly circle?: readonly string[];
}
