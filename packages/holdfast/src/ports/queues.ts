/**
 * The limits of queues. A run or a task in a queue with limits needs a place: a run from its first claim, or its first after it was
 * reopened, to its end, and a task from its claim to the end of the attempt. What is due and has none waits in line, and
 * only claims give places (`admit` in model/decisions/admission.ts). The promises of every call are in store.ts.
 */
import type { Backlog } from "../model/backlog.ts";
import type { QueueLimits, QueueState } from "../model/queue-limits.ts";

export interface QueueStore {
  /**
   * Sets the limits of a queue, all of them; null removes them. From then on, claims keep to them. When a queue gets its first limits,
   * its open runs that have begun get places, and so do its tasks that are held: as many as there are. When they are removed,
   * everything in line is due. Whoever serves the queue is hinted. Only if the queue has the revision that is given, or none as yet:
   * else nothing changes, and the answer tells the one that it has, so that a copy of a call that comes late undoes nothing that was set since. A
   * queue keeps its revision when its limits are removed. Atomic; idempotent by `next`. No errors but those of every call.
   */
  setIfRevision(params: SetQueueParams): Promise<SetQueueResult>;

  /**
   * The queues of a namespace that have limits, or have ever had runs or tasks; by name. With `queue` only that one, if it is known;
   * with `key` only what has that key counts. Read only.
   */
  list(params: ListQueuesParams): Promise<readonly QueueState[]>;

  /**
   * What is due in a namespace and not in progress, by kind. What waits for a place in a queue with limits does not count. Its cost does
   * not grow with the number of runs and tasks: of each kind and priority it reads no more than `atMost`, and as many suspects, the longest
   * due first. Read only.
   */
  backlog(params: BacklogParams): Promise<Backlog>;
}

export interface BacklogParams {
  readonly namespace: string;
  readonly atMost: number;
  /** A timer counts as late after so much time. */
  readonly lateMs: number;
}

export interface SetQueueParams {
  readonly namespace: string;
  readonly queue: string;
  readonly limits: QueueLimits | null;
  /** Null: its limits were never set. */
  readonly revision: string | null;
  /** The revision that it has then: a UUID that nobody else uses. */
  readonly next: string;
}

/** Written: it has the revision `next`. Moved: it has another one than was given. */
export type SetQueueResult =
  | { readonly outcome: "written" }
  | { readonly outcome: "moved"; readonly revision: string | null };

export interface ListQueuesParams {
  readonly namespace: string;
  readonly queue?: string;
  readonly key?: string;
  /** How many holders to list, for runs and for tasks. */
  readonly holdersMax: number;
}
