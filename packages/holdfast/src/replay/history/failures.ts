/**
 * The failures that the code of one run has seen, and which of them a retry of the run takes back. A retry goes back to the
 * earlier of two failures:
 *  - the first one that the run's error names, and
 *  - the first one after which the code asked for nothing more.
 * It takes back every failure from there on. Otherwise the next run attempt would end at one of the others before its step was
 * executed again. Earlier failures stay: the code has handled them, and what it did because of them must not be done twice.
 */
import { fromErrorRecord } from "../../errors/error-record.ts";
import { isHoldfastError } from "../../errors/holdfast-error.ts";
import { isOpFailure } from "../../errors/run-errors.ts";
import { membersOf, readProperty } from "../../errors/safe-read.ts";
import { type HistoryEvent, isCrash } from "../../model/event.ts";
import { appended, NONE } from "../../model/short-list.ts";
import type { RetryByHand } from "../machine.ts";
import { isClosing, type Op } from "../op.ts";

/** How deep the causes of an error are looked into. */
const DEPTH_MAX = 5;

interface Failure {
  readonly op: Op;
  readonly event: HistoryEvent;
}

export class Failures {
  readonly #worthRetrying: (error: unknown) => boolean;
  #told: readonly Failure[] = NONE;

  /** `worthRetrying`: whether the run's own retry policy retries such an error. */
  constructor(worthRetrying: (error: unknown) => boolean) {
    this.#worthRetrying = worthRetrying;
  }

  /** The code sees it. */
  add(op: Op, event: HistoryEvent): void {
    this.#told = appended(this.#told, { op, event });
  }

  /** Whether the error names a failure that may be retried. */
  explain(error: unknown): boolean {
    return this.#blamed(error).some(({ event }) => !isCrash(event));
  }

  /** The ops that an automatic retry executes again after this error. `askedSeq`: the last event the code had seen when it last asked. */
  forgets(error: unknown, askedSeq: number): string[] {
    const blamed = new Set(this.#blamed(error).filter(({ event }) => !isCrash(event)));
    const since = this.#told.slice(this.#told.findIndex(isFirst(blamed, askedSeq)));
    return since.filter((one) => blamed.has(one) || this.isTakenBack(one.op, one.event)).map(({ op }) => op.id);
  }

  /**
   * Whether a failure that the run's error does not name is taken back. Not if the step must run at most once and may have taken
   * effect, and not if its own error is not worth a retry. A step that was only aborted is always taken back.
   */
  isTakenBack(op: Op, event: HistoryEvent): boolean {
    const { meta } = event;
    if (mayHaveHappened(op, event)) return false;
    return isClosing(op) || (meta?.error !== undefined && this.#worthRetrying(fromErrorRecord(meta.error)));
  }

  /** What `handle.retry()` goes by after this error: all that the error names is executed again, whatever became of it. */
  retryByHand(error: unknown, askedSeq: number): RetryByHand | undefined {
    if (this.#told.length === 0) return undefined;
    const blamed = new Set(this.#blamed(error));
    const retryFrom = this.#told.find(isFirst(blamed, askedSeq))?.event.seq;
    const kept = this.#told.filter((one) => !blamed.has(one) && mayHaveHappened(one.op, one.event));
    return { retryFrom, retryKeeps: kept.map(({ op }) => op.id) };
  }

  #blamed(error: unknown): Failure[] {
    const ops = new Set(blamedOps(error));
    return this.#told.filter(({ op }) => ops.has(op.id));
  }
}

/** Whether the step must run at most once and may have taken effect. */
function mayHaveHappened({ step, task }: Op, event: HistoryEvent): boolean {
  const onCrash = step?.options.onCrash ?? task?.spec.onCrash;
  return isCrash(event) || (event.meta?.unknown === true && onCrash === "fail");
}

/** For a search in the order in which the code saw the failures. The code does not wait for a step that was given up. */
function isFirst(blamed: ReadonlySet<Failure>, askedSeq: number): (failure: Failure) => boolean {
  return (failure) => {
    const { op, event } = failure;
    if (blamed.has(failure)) return true;
    return event.seq > askedSeq && (!isClosing(op) || event.meta?.neverBegan === true);
  };
}

/**
 * The steps and tasks whose failure an error names: itself, through its causes, or through its members. The error that a step threw is not
 * searched: it may name steps of another run.
 */
function blamedOps(error: unknown, depth = 0): string[] {
  if (typeof error !== "object" || error === null || depth > DEPTH_MAX) return [];
  const op = isHoldfastError(error) && isOpFailure(error) ? readProperty(error, "op") : undefined;
  if (typeof op === "string") return [op];
  const causes = blamedOps(readProperty(error, "cause"), depth + 1);
  return [...causes, ...membersOf(readProperty(error, "errors")).flatMap((member) => blamedOps(member, depth + 1))];
}
