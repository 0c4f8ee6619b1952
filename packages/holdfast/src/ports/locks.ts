/**
 * Locks across runs: a line of requests for each name. The commit that records a request creates it (`RunCommit.locks`), and the
 * one that records its end gives it back (`unlocks`), as does every end of the run. Who is next is decided here. The promises of
 * every call are in store.ts.
 */
import type { LockRequest } from "../model/lock.ts";

export interface LockStore {
  /**
   * Passes locks on: the names that the asking requests are for, and those of the requests that the given runs have given back. Of each
   * name, as many of the longest waiting requests are granted as the limit of the newest request allows, counting those that are
   * granted and not given back. A grant has a fence, larger than that of every earlier one of the namespace. In the same step
   * a message (`lock_granted`, named after the op, `lockMessageId`) enters the inbox of its run, unless the run asks in this call, is held under the
   * epoch of the ask, and was not told in this epoch that it waits: then the answer says it. So a late copy of a call, whose answer nobody reads
   * because its repetition was answered, cannot keep a grant to itself. Requests that were given back are deleted. A request whose run another
   * transaction has locked stays as it is, and so does everybody behind it: `busy` for those who ask about the name, and `passed` is false for
   * those who gave it back; the requests that they gave back stay.
   * Atomic per name. Idempotence: none is needed; a request that is granted is answered with its fence, however often
   * it is asked about. No errors but those of every call.
   */
  pass(params: PassLocksParams): Promise<PassLocksResult>;

  /**
   * The requests of a name that were not given back: first those that are granted, then those that wait, each in the order in
   * which they were made. Or those of a run, in that order. At most `limit`. Read only.
   */
  list(params: ListLocksParams): Promise<readonly LockRequest[]>;
}

/** A run that asks whether its request is granted. */
export interface LockAsk {
  readonly namespace: string;
  readonly runId: string;
  /** The event that requests it. */
  readonly seq: number;
  /** Under which the asking worker holds the run. */
  readonly epoch: number;
}

export interface PassLocksParams {
  readonly asks: readonly LockAsk[];
  /** Runs that have given locks back. */
  readonly givenBackBy: readonly { readonly namespace: string; readonly runId: string }[];
}

export interface LockAnswer {
  /** `gone`: there is no such request; it was given back, or its run has ended. */
  readonly outcome: "granted" | "waiting" | "gone" | "busy";
  readonly fence: number | null;
}

export interface PassLocksResult {
  readonly answers: readonly LockAnswer[];
  /** Per run: whether everything that it has given back was passed on. */
  readonly passed: readonly boolean[];
}

export interface ListLocksParams {
  readonly namespace: string;
  readonly of: { readonly name: string } | { readonly runId: string };
  readonly limit: number;
}
