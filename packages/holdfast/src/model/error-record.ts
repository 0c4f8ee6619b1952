import type { ErrorKind } from "./error-kind.ts";

/**
 * An error as history stores it: plain JSON, bounded in size, without credentials. When it happened is the time of the event
 * that carries it.
 */
export interface ErrorRecord {
  readonly name: string;
  readonly message: string;
  readonly kind: ErrorKind;
  /** The error's own code: one of Holdfast's, or a foreign one such as `ECONNRESET` or `23505`. */
  readonly code?: string;
  readonly stack?: string;
  /** How many attempts the op had when it was given up. */
  readonly attempts?: number;
  /** The op that failed. */
  readonly op?: string;
  /** The name of the task, if that op is one. */
  readonly task?: string;
  /** The id of the other run, if that op is about one: a child, or a run that a message was for. */
  readonly run?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly cause?: ErrorRecord;
}

/** Why a run has failed, as its store keeps it; to the store it is an error like any other. */
export interface EndErrorRecord extends ErrorRecord {
  /** The event that `handle.retry()` goes back to: the first failure that it takes back. Only the engine can tell. */
  readonly retryFrom?: number | undefined;
  /**
   * The steps whose failures it leaves alone: they must run at most once, may have taken effect, and the error does not name
   * them. Missing if this was recorded before it was kept.
   */
  readonly retryKeeps?: readonly string[];
}

/** Without what only a retry of the run needs. */
export function shownError(error: EndErrorRecord | null): ErrorRecord | null {
  if (error === null) return null;
  const { retryFrom: _, retryKeeps: __, ...shown } = error;
  return shown;
}

/** What an error is about, without its texts: for lists. */
export function listedError({ kind, code }: ErrorRecord): Pick<ErrorRecord, "kind" | "code"> {
  return code === undefined ? { kind } : { kind, code };
}
