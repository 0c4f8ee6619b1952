/** What becomes of the times of a schedule. Pure: whoever fires decides with this, and the store compares what was assumed. */
import { isClosed } from "../run-status.ts";
import {
  BUFFERED_MAX,
  DECISIONS_MAX,
  type OpenRun,
  type OverlapPolicy,
  type Schedule,
  type ScheduleDecision,
  type ScheduleDefinition,
  type ScheduleState,
  scheduledId,
  scheduledRunId,
} from "../schedule.ts";

/** What is known of a schedule when its times are judged. */
export type JudgedSchedule = Pick<Schedule, "namespace" | "id" | "definition" | "state" | "open">;

export interface JudgedTimes {
  /** The times whose runs are to be started, in order. */
  readonly starts: readonly number[];
  readonly state: ScheduleState;
  readonly decided: readonly ScheduleDecision[];
}

/**
 * Judges times in their order. First come those that were buffered: the first of them starts if no run is open. A run that is
 * started here is open for the times after it.
 */
export function judgeTimes(
  schedule: JudgedSchedule,
  times: readonly number[],
  overlap: OverlapPolicy = schedule.definition.overlap,
): JudgedTimes {
  const judge = new TimesJudge(schedule, overlap);
  judge.release();
  for (const at of times) judge.judge(at);
  return judge.result();
}

class TimesJudge {
  readonly #schedule: JudgedSchedule;
  readonly #overlap: OverlapPolicy;
  readonly #starts: number[] = [];
  readonly #decided: ScheduleDecision[] = [];
  #buffered: readonly number[];
  #openId: string | null;
  #isOpen: boolean;
  #lastAt: number | null;

  constructor(schedule: JudgedSchedule, overlap: OverlapPolicy) {
    this.#schedule = schedule;
    this.#overlap = overlap;
    const { state, open } = schedule;
    this.#buffered = state.buffered;
    this.#openId = state.openId;
    this.#isOpen = isOpen(open);
    this.#lastAt = state.lastAt;
  }

  release(): void {
    while (this.#buffered.length > 0 && (!this.#isOpen || this.#overlap === "allow")) {
      const [at, ...rest] = this.#buffered as [number, ...number[]];
      this.#buffered = rest;
      this.#start(at, "it was buffered");
    }
  }

  judge(at: number): void {
    if (this.#overlap === "allow" || !this.#isOpen) return this.#start(at);
    const waits = `run "${this.#openId}" is open`;
    switch (this.#overlap) {
      case "skip":
        return this.#note(at, "skipped", waits);
      case "buffer-one":
        if (this.#buffered.length > 0) return this.#note(at, "skipped", `${waits}, and one time is buffered already`);
        return this.#buffer(at, waits);
      case "buffer-all":
        if (this.#buffered.length >= BUFFERED_MAX)
          return this.#note(at, "skipped", `${waits}, and ${BUFFERED_MAX} times are buffered already`);
        return this.#buffer(at, waits);
      case "cancel-other":
      case "terminate-other":
        for (const earlier of this.#buffered) this.#note(earlier, "skipped", "a later time has taken its place");
        this.#buffered = [];
        return this.#buffer(at, `${waits}, and is being stopped`);
    }
  }

  result(): JudgedTimes {
    const { state, open, definition } = this.#schedule;
    const buffered = this.#buffered;
    const waits = waitsOf(definition, { buffered });
    const next = { ...state, lastAt: this.#lastAt, openId: this.#openId, buffered, waits };
    const looked = this.#openId === state.openId ? next : { ...next, ...failuresAfter(state, open) };
    return { starts: this.#starts, state: looked, decided: this.#decided.slice(-DECISIONS_MAX) };
  }

  #start(at: number, reason?: string): void {
    const { namespace, id } = this.#schedule;
    this.#openId = scheduledId(id, at);
    this.#isOpen = true;
    this.#lastAt = Math.max(at, this.#lastAt ?? at);
    this.#starts.push(at);
    this.#note(at, "fired", reason, scheduledRunId(namespace, this.#openId, at));
  }

  #buffer(at: number, reason: string): void {
    this.#buffered = [...this.#buffered, at];
    this.#note(at, "buffered", reason);
  }

  #note(at: number, what: ScheduleDecision["what"], reason?: string, runId?: string): void {
    const why = reason === undefined ? {} : { reason };
    this.#decided.push({ at, what, ...why, ...(runId === undefined ? {} : { runId }) });
  }
}

/**
 * What the leader has to do because of buffered times: look when the open run has ended, or in any case, because the run is to be
 * stopped or does not matter any more.
 */
export function waitsOf(
  { overlap, paused }: Pick<ScheduleDefinition, "overlap" | "paused">,
  { buffered }: Pick<ScheduleState, "buffered">,
): ScheduleState["waits"] {
  if (paused || buffered.length === 0) return "no";
  return overlap === "skip" || overlap === "buffer-one" || overlap === "buffer-all" ? "end" : "look";
}

/** Whether the leader must look at a schedule with these buffered times. */
export function mustLook({ waits }: Pick<ScheduleState, "waits">, open: OpenRun | null): boolean {
  return waits === "look" || (waits === "end" && !isOpen(open));
}

/** Whether the run stands in the way of the next time. */
export function isOpen(open: OpenRun | null): boolean {
  return open !== null && !isClosed(open.status);
}

/** Whether the open run is to be stopped, for a time that is buffered. */
export function mustStop(overlap: OverlapPolicy, { buffered }: ScheduleState, open: OpenRun | null): boolean {
  return buffered.length > 0 && isOpen(open) && (overlap === "cancel-other" || overlap === "terminate-other");
}

const FAILED = ["failed", "timed_out"];

/** How many runs have failed in a row, with the one that was started last. A run that somebody stopped says nothing. */
export function failuresAfter(
  { failures, lastError }: Pick<ScheduleState, "failures" | "lastError">,
  open: OpenRun | null,
): Pick<ScheduleState, "failures" | "lastError"> {
  if (open?.status === "completed") return { failures: 0, lastError: null };
  if (open === null || !FAILED.includes(open.status)) return { failures, lastError };
  return { failures: failures + 1, lastError: open.error ?? open.status };
}

/** The decisions that a schedule remembers. */
export function remembered(
  known: readonly ScheduleDecision[],
  decided: readonly ScheduleDecision[],
): readonly ScheduleDecision[] {
  return [...known, ...decided].slice(-DECISIONS_MAX);
}
