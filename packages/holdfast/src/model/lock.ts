/** How many runs may hold a lock at once, at most. */
export const LOCK_LIMIT_MAX = 10_000;

/** A request for a lock, as the commit creates it that records it. */
export interface NewLock {
  /** The event that requests it: with the run, its key. */
  readonly seq: number;
  readonly op: string;
  readonly name: string;
  /** How many requests of that name may be granted at once. The newest request counts. */
  readonly limit: number;
}

/** A request for a lock: granted, if it has a fence, or waiting. */
export interface LockRequest extends NewLock {
  readonly runId: string;
  /** The id of that run. */
  readonly id: string;
  /** Larger than that of every earlier grant of the namespace; null while it waits. */
  readonly fence: number | null;
}

/** The id of the message that tells a run of the grant of a request. */
export function lockMessageId(seq: number, fence: number): string {
  return `\tlock\t${seq}\t${fence}`;
}

export function readLockMessageId(messageId: string): { readonly seq: number; readonly fence: number } {
  const [, , seq, fence] = messageId.split("\t");
  return { seq: Number(seq), fence: Number(fence) };
}
