/** What becomes of the times of a schedule. Pure: whoever fires decides with this, and the store compares what was assumed. */
import { isClosed } from "../run-status.ts";
import {
  BUFFERED_MAX,
  DECISIONS_MAX,
  type IdOwner,
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

/** What may be known besides. */
export interface JudgeOptions {
  /** The policy for these times, if it is not the schedule's own. */
  readonly overlap?: OverlapPolicy;
  /** Times for whose runs the ids are taken: no runs can be started for them. */
  readonly taken?: ReadonlyMap<number, IdOwner>;
}

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
  { overlap = schedule.definition.overlap, taken = new Map() }: JudgeOptions = {},
): JudgedTimes {
  const judge = new TimesJudge(schedule, overlap, taken);
  judge.dropTaken();
  judge.release();
  for (const at of times) judge.judge(at);
  return judge.result();
}

const RUN_EXISTS = "a run of this time exists";

class TimesJudge {
  readonly #schedule: JudgedSchedule;
  readonly #overlap: OverlapPolicy;
  readonly #taken: ReadonlyMap<number, IdOwner>;
  readonly #starts: number[] = [];
  readonly #decided: ScheduleDecision[] = [];
  #buffered: readonly number[];
  #openId: string | null;
  #isOpen: boolean;
  #lastAt: number | null;
  #failures: Pick<ScheduleState, "failures" | "lastError">;
  #bufferedBy: OverlapPolicy;

  constructor(schedule: JudgedSchedule, overlap: OverlapPolicy, taken: ReadonlyMap<number, IdOwner>) {
    this.#schedule = schedule;
    this.#overlap = overlap;
    this.#taken = taken;
    const { state, open } = schedule;
    this.#buffered = state.buffered;
    this.#openId = state.openId;
    this.#isOpen = isOpen(open);
    this.#lastAt = state.lastAt;
    this.#failures = { failures: state.failures, lastError: state.lastError };
    this.#bufferedBy = bufferPolicy(schedule.definition, state);
  }

  /** What was buffered, and cannot be started any more, waits for nothing. */
  dropTaken(): void {
    if (this.#taken.size === 0) return;
    const dropped = this.#buffered.filter((at) => this.#taken.has(at));
    this.#buffered = this.#buffered.filter((at) => !this.#taken.has(at));
    for (const at of dropped) this.#isTaken(at);
  }

  release(): void {
    while (this.#buffered.length > 0 && (!this.#isOpen || this.#bufferedBy === "allow")) {
      const [at, ...rest] = this.#buffered as [number, ...number[]];
      this.#buffered = rest;
      if (!this.#isTaken(at)) this.#start(at, "it was buffered");
    }
  }

  judge(at: number): void {
    if (this.#isTaken(at)) return;
    if (this.#overlap === "allow" || !this.#isOpen) return this.#start(at);
    const waits = `run "${this.#openId}" is ${this.#isParked ? "parked" : "open"}`;
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
    const { state, definition } = this.#schedule;
    const { bufferedBy: _by, ...rest } = state;
    const buffered = this.#buffered;
    const own = buffered.length === 0 || this.#bufferedBy === definition.overlap;
    const by = own ? {} : { bufferedBy: this.#bufferedBy };
    const waits = waitsOf(definition, { buffered, ...by });
    const next = { ...rest, ...this.#failures, lastAt: this.#lastAt, openId: this.#openId, buffered, ...by, waits };
    return { starts: this.#starts, state: next, decided: this.#decided.slice(-DECISIONS_MAX) };
  }

  /** Notes what becomes of a time for which no run can be started, or is needed: one is there, or will be. */
  #isTaken(at: number): boolean {
    const owner = this.#taken.get(at);
    if (owner === "schedule" || this.#starts.includes(at)) this.#note(at, "skipped", RUN_EXISTS);
    else if (this.#buffered.includes(at)) this.#note(at, "skipped", "it is buffered already");
    else if (owner === "other") this.#fail(at);
    else return false;
    return true;
  }

  /** The run in the way does not end by itself: somebody has to resume or stop it. */
  get #isParked(): boolean {
    const { state, open } = this.#schedule;
    return this.#openId === state.openId && open?.status === "parked";
  }

  /** Nobody else's run counts as a run of the schedule. */
  #fail(at: number): void {
    const reason = `another run, which the schedule has not started, has the id "${scheduledId(this.#schedule.id, at)}"`;
    if (!this.#isOpen) this.#leave(null);
    this.#failures = { failures: this.#failures.failures + 1, lastError: reason };
    this.#note(at, "failed", reason);
  }

  /** Another run counts as the open one, or none: how the one before has ended is counted. */
  #leave(openId: string | null): void {
    const { state, open } = this.#schedule;
    if (this.#openId === state.openId) this.#failures = failuresAfter(this.#failures, open);
    this.#openId = openId;
  }

  #start(at: number, reason?: string): void {
    const { namespace, id } = this.#schedule;
    const runKey = scheduledId(id, at);
    this.#leave(runKey);
    this.#isOpen = true;
    this.#lastAt = Math.max(at, this.#lastAt ?? at);
    this.#starts.push(at);
    this.#note(at, "fired", reason, scheduledRunId(namespace, runKey, at));
  }

  #buffer(at: number, reason: string): void {
    this.#buffered = [...this.#buffered, at];
    this.#bufferedBy = this.#overlap;
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
  definition: Pick<ScheduleDefinition, "overlap" | "paused">,
  state: Pick<ScheduleState, "buffered" | "bufferedBy">,
): ScheduleState["waits"] {
  if (definition.paused || state.buffered.length === 0) return "no";
  const policy = bufferPolicy(definition, state);
  return policy === "skip" || policy === "buffer-one" || policy === "buffer-all" ? "end" : "look";
}

/** The policy that decides about the times that are buffered. */
function bufferPolicy(
  { overlap }: Pick<ScheduleDefinition, "overlap">,
  { bufferedBy }: Pick<ScheduleState, "bufferedBy">,
): OverlapPolicy {
  return bufferedBy ?? overlap;
}

/** Whether the leader must look at a schedule with these buffered times. */
export function mustLook({ waits }: Pick<ScheduleState, "waits">, open: OpenRun | null): boolean {
  return waits === "look" || (waits === "end" && !isOpen(open));
}

/** Whether the run stands in the way of the next time. */
export function isOpen(open: OpenRun | null): boolean {
  return open !== null && !isClosed(open.status);
}

/** How the open run is to be stopped for a time that is buffered; undefined: it is not. */
export function stopPolicy({
  definition,
  state,
  open,
}: Pick<Schedule, "definition" | "state" | "open">): "cancel-other" | "terminate-other" | undefined {
  if (state.buffered.length === 0 || !isOpen(open)) return undefined;
  const policy = bufferPolicy(definition, state);
  return policy === "cancel-other" || policy === "terminate-other" ? policy : undefined;
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
