/**
 * The failures that the code of one run was told of, and which of them a retry of the run takes back. A retry goes back to the first
 * of
 *  - the failures that the error of the run speaks of, and
 *  - the failures after which the code has asked for nothing more,
 * and takes back every failure from there on: otherwise the next try would end at one of the others, before its step was executed again.
 * Earlier failures stay. The code has dealt with them, and what it did because of them must not be done twice.
 */
import { fromErrorRecord } from "../../errors/error-record.ts";
import { isHoldfastError } from "../../errors/holdfast-error.ts";
import { membersOf, readProperty } from "../../errors/safe-read.ts";
import { type HistoryEvent, isCrash } from "../../model/event.ts";
import { appended, NONE } from "../../model/short-list.ts";
import type { Op } from "../op.ts";

/** How deep the causes of an error are looked into. */
const DEPTH_MAX = 5;

interface Failure {
  readonly op: Op;
  readonly event: HistoryEvent;
}

export class Failures {
  readonly #worthRetrying: (error: unknown) => boolean;
  #told: readonly Failure[] = NONE;

  /** `worthRetrying`: whether the run is tried again by itself for such an error. */
  constructor(worthRetrying: (error: unknown) => boolean) {
    this.#worthRetrying = worthRetrying;
  }

  /** The code is told of it. */
  add(op: Op, event: HistoryEvent): void {
    this.#told = appended(this.#told, { op, event });
  }

  /** Whether the error speaks of a failure that may be repeated. */
  explain(error: unknown): boolean {
    return this.#blamed(error).some(({ event }) => !isCrash(event));
  }

  /** The ops that a run is to try again by itself after such an error. `askedSeq`: what the code had seen when it last asked. */
  forgets(error: unknown, askedSeq: number): string[] {
    const blamed = new Set(this.#blamed(error).filter(({ event }) => !isCrash(event)));
    const since = this.#told.slice(this.#told.findIndex(isFirst(blamed, askedSeq)));
    return since.filter((one) => blamed.has(one) || this.isTakenBack(one.op, one.event)).map(({ op }) => op.id);
  }

  /**
   * Whether a failure that the error of the run does not speak of is taken back. Not if the step must happen only once and may have
   * happened, and not if its own error is not worth a retry; but one that was aborted has done nothing wrong.
   */
  isTakenBack({ step }: Op, event: HistoryEvent): boolean {
    const { meta } = event;
    if (isCrash(event) || (meta?.unknown && step?.options.onCrash === "fail")) return false;
    return step?.closing || (meta?.error !== undefined && this.#worthRetrying(fromErrorRecord(meta.error)));
  }

  /** The first failure that a person's retry takes back, by its seq; undefined where none can be told. */
  retryFrom(error: unknown, askedSeq: number): number | undefined {
    return this.#told.find(isFirst(new Set(this.#blamed(error)), askedSeq))?.event.seq;
  }

  #blamed(error: unknown): Failure[] {
    const ops = new Set(blamedOps(error));
    return this.#told.filter(({ op }) => ops.has(op.id));
  }
}

/** For a search in the order in which the code was told of them. What has become of a step that was given up, nobody waits for. */
function isFirst(blamed: ReadonlySet<Failure>, askedSeq: number): (failure: Failure) => boolean {
  return (failure) => {
    const { op, event } = failure;
    if (blamed.has(failure)) return true;
    return event.seq > askedSeq && (!op.step?.closing || event.meta?.neverBegan === true);
  };
}

/**
 * The steps whose failure an error speaks of: its own, or those of its causes and of its members. What a step has thrown is not looked
 * into: that may speak of steps of another run.
 */
function blamedOps(error: unknown, depth = 0): string[] {
  if (typeof error !== "object" || error === null || depth > DEPTH_MAX) return [];
  const op = isHoldfastError(error, "step_failed") ? readProperty(error, "op") : undefined;
  if (typeof op === "string") return [op];
  const causes = blamedOps(readProperty(error, "cause"), depth + 1);
  return [...causes, ...membersOf(readProperty(error, "errors")).flatMap((member) => blamedOps(member, depth + 1))];
}
