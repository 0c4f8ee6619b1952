/**
 * The store that all processes share, and what can go wrong on the way to it: a call fails before or after it took
 * effect, is slow, takes effect twice or long after its caller got an unknown outcome, finds rows locked, or gets its
 * answer very late. Calls overtake each other, because each has its own latency. The store itself is the memory store:
 * the reference.
 */
import { HoldfastError } from "../../packages/holdfast/src/errors/holdfast-error.ts";
import { MemoryStore } from "../../packages/holdfast/src/memory/store.ts";
import type { Notifier } from "../../packages/holdfast/src/ports/notifier.ts";
import type {
  CancelTasksParams,
  CommitOutcome,
  CommitRunsParams,
  CommitRunsResult,
  DeliverMessagesParams,
  DeliverMessagesResult,
  DeliverOutcome,
  FinishOutcome,
  FinishTasksParams,
  FinishTasksResult,
  PassLocksParams,
  PassLocksResult,
  PauseOutcome,
  PutScheduleOutcome,
  PutSchedulesParams,
  PutSchedulesResult,
  TerminateOutcome,
  TerminateRunsParams,
} from "../../packages/holdfast/src/ports/store.ts";
import { callStore, type StoreMethod } from "../../packages/holdfast/src/ports/store-calls.ts";
import { type SimTime, START_MS } from "../clock.ts";
import type { StoreSettings } from "../configuration.ts";
import type { Dice } from "../dice.ts";
import type { Trace } from "../trace.ts";
import { LimitWatch } from "./limit-watch.ts";
import { LockWatch } from "./lock-watch.ts";
import { OperationWatch } from "./operation-watch.ts";
import { PurgeWatch } from "./purge-watch.ts";
import { Recorder } from "./recorder.ts";
import { ScheduleWatch } from "./schedule-watch.ts";
import { SegmentWatch } from "./segment-watch.ts";
import { TalkWatch } from "./talk-watch.ts";
import { TaskWatch } from "./task-watch.ts";
import { WatchdogWatch } from "./watchdog-watch.ts";

export const FATES = [
  "tail",
  "unavailable",
  "brokenBefore",
  "brokenAfter",
  "timeout",
  "duplicate",
  "hang",
] as const satisfies readonly (keyof StoreSettings)[];

export type Fate = (typeof FATES)[number] | "none";

/** Calls that may find a row locked by another transaction. */
const LOCKING: readonly StoreMethod[] = [
  "runs.commit",
  "inbox.deliver",
  "runs.terminate",
  "runs.pauseIfIdle",
  "runs.restartIfHeld",
  "tasks.finish",
  "tasks.cancel",
  "schedules.putIfRevision",
  "locks.pass",
];

export class SimStore {
  readonly memory: MemoryStore;
  readonly recorder: Recorder;
  readonly taskWatch: TaskWatch;
  readonly talkWatch: TalkWatch;
  readonly operationWatch: OperationWatch;
  readonly scheduleWatch: ScheduleWatch;
  readonly segmentWatch: SegmentWatch;
  readonly lockWatch: LockWatch;
  readonly limitWatch: LimitWatch;
  readonly watchdogWatch: WatchdogWatch;
  readonly purgeWatch: PurgeWatch;
  /** Told of every call, once it has taken effect. */
  onApplied: (method: StoreMethod) => void = () => {};
  readonly time: SimTime;
  readonly dice: Dice;
  readonly trace: Trace;
  settings: StoreSettings;
  /** How far the store's clock is ahead, and when it was last set. */
  aheadMs = 0;
  jumpedAt = Number.NEGATIVE_INFINITY;
  jumpedMs = 0;
  downUntil = 0;
  healed = false;
  calls = 0;
  faults = 0;
  /** What the store itself reported as wrong. */
  readonly complaints: string[] = [];

  constructor(time: SimTime, notifier: Notifier, settings: StoreSettings, dice: Dice, trace: Trace) {
    this.time = time;
    this.settings = settings;
    this.dice = dice;
    this.trace = trace;
    const clock = {
      now: () => this.now(),
      monotonic: () => time.elapsedMs,
      setTimer: () => ({ cancel: () => {} }),
      // A call takes effect when it arrives; its latency is not the store's concern.
      immediate: (callback: () => void) => callback(),
    };
    this.memory = new MemoryStore({ clock, notifier });
    this.recorder = new Recorder(this.memory.state, trace);
    this.taskWatch = new TaskWatch(this.memory.state, trace);
    this.talkWatch = new TalkWatch(this.memory.state, trace);
    this.operationWatch = new OperationWatch(this.memory.state);
    this.scheduleWatch = new ScheduleWatch(this.memory.state);
    this.segmentWatch = new SegmentWatch(this.memory.state, trace);
    this.lockWatch = new LockWatch(this.memory.state, trace);
    this.limitWatch = new LimitWatch(this.memory.state, trace);
    this.watchdogWatch = new WatchdogWatch(this.memory.state);
    this.purgeWatch = new PurgeWatch(this.memory.state);
  }

  now(): number {
    return Math.floor(START_MS + this.aheadMs + this.time.elapsedMs);
  }

  jump(ms: number): void {
    this.aheadMs += ms;
    this.jumpedAt = this.time.elapsedMs;
    this.jumpedMs = ms;
  }

  drawFate(): Fate {
    if (this.healed) return "none";
    if (this.time.elapsedMs < this.downUntil) return "unavailable";
    let left = this.dice.next();
    for (const fate of FATES) {
      left -= this.settings[fate];
      if (left < 0) return fate;
    }
    return "none";
  }

  latencyMs(fate: Fate): number {
    const { latencyMs, tailMs } = this.settings;
    const usual = this.dice.between(0.2, 1) * latencyMs;
    return fate === "tail" ? usual + this.dice.next() * tailMs : usual;
  }

  /** The call takes effect now. */
  apply(who: string, method: StoreMethod, params: unknown): Promise<unknown> {
    this.calls += 1;
    const { busy } = this.settings;
    const isBusy = LOCKING.includes(method) && !this.healed && this.dice.chance(busy);
    if (isBusy) this.trace.add(this.time.elapsedMs, who, undefined, `${method}: busy`);
    return isBusy ? this.#applySome(who, method, params) : this.#applyAll(who, method, params);
  }

  get counts() {
    return {
      calls: this.calls,
      faults: this.faults,
      fired: this.scheduleWatch.fired,
      grants: this.lockWatch.grants.length,
      admissions: this.limitWatch.admissions,
      packed: this.segmentWatch.packed,
      harmed: this.segmentWatch.harmed,
      damageReports: this.segmentWatch.reports.length,
    };
  }

  /** What those have seen that watch the calls. */
  get seen() {
    return {
      debtFaults: this.talkWatch.faults,
      earlyNotes: this.talkWatch.earlyNotes,
      scheduleFaults: this.scheduleWatch.faults,
      lockFaults: this.lockWatch.faults,
      lockGrants: this.lockWatch.grants,
      placeFaults: this.limitWatch.placeFaults,
      lineFaults: this.limitWatch.lineFaults,
      watchdogFaults: this.watchdogWatch.faults,
      purgeFaults: this.purgeWatch.faults,
    };
  }

  #applyAll(who: string, method: StoreMethod, params: unknown): Promise<unknown> {
    const { jumpedAt } = this;
    const at = { now: this.now(), jumpedAt, elapsedMs: this.time.elapsedMs };
    const plain = (): Promise<unknown> =>
      this.purgeWatch.around(method, at.now, () => callStore(this.memory, method, params));
    const { watchdogWatch } = this;
    const call = !watchdogWatch.expected ? plain : () => watchdogWatch.around(method, params, at, plain);
    const answer =
      method === "runs.commit"
        ? this.recorder.around(this.time.elapsedMs, this.now(), who, params as CommitRunsParams, call)
        : method === "schedules.putIfRevision"
          ? this.scheduleWatch.around(this.now(), params as PutSchedulesParams, call)
          : call();
    this.taskWatch.note(this.time.elapsedMs, this.now(), who, method, params);
    this.talkWatch.note(this.time.elapsedMs, who, method, params);
    this.operationWatch.note(method);
    this.lockWatch.note(this.time.elapsedMs, who, method, params);
    this.limitWatch.note(this.time.elapsedMs, this.now(), who, method, params, answer);
    this.segmentWatch.note(this.time.elapsedMs, who, method);
    this.onApplied(method);
    // Only the work inside a transaction may fail.
    answer.catch((error: unknown) => {
      if (method !== "transact") this.complaints.push(`${method}: ${error}`);
    });
    return answer;
  }

  /** Another transaction has locked some of the rows. */
  #applySome(who: string, method: StoreMethod, params: unknown): Promise<unknown> {
    if (method === "runs.commit") return this.#commitSome(who, params as CommitRunsParams);
    if (method === "inbox.deliver") return this.#deliverSome(who, params as DeliverMessagesParams);
    if (method === "tasks.finish") return this.#finishSome(who, params as FinishTasksParams);
    if (method === "tasks.cancel") {
      const outcomes = (params as CancelTasksParams).tasks.map(() => ({ outcome: "busy" as const }));
      return Promise.resolve({ outcomes });
    }
    if (method === "schedules.putIfRevision") return this.#putSome(who, params as PutSchedulesParams);
    if (method === "locks.pass") return Promise.resolve(passNothing(params as PassLocksParams));
    if (method === "runs.pauseIfIdle" || method === "runs.restartIfHeld")
      return Promise.resolve({ outcome: "busy" } satisfies PauseOutcome);
    const { runs } = params as TerminateRunsParams;
    const busy: TerminateOutcome = { outcome: "busy", runId: null, status: null };
    return Promise.resolve(runs.map(() => busy));
  }

  async #commitSome(who: string, params: CommitRunsParams): Promise<CommitRunsResult> {
    const locked = params.commits.map(() => this.dice.chance(0.5));
    const commits = params.commits.filter((_, i) => !locked[i]);
    const result = (await this.#applyAll(who, "runs.commit", { ...params, commits })) as CommitRunsResult;
    const outcomes = [...result.outcomes];
    const busy: CommitOutcome = { outcome: "busy", held: true, delivered: 0 };
    return { ...result, outcomes: locked.map((is) => (is ? busy : (outcomes.shift() as CommitOutcome))) };
  }

  async #deliverSome(who: string, params: DeliverMessagesParams): Promise<DeliverMessagesResult> {
    const locked = params.messages.map(() => this.dice.chance(0.5));
    const messages = params.messages.filter((_, i) => !locked[i]);
    const result = (await this.#applyAll(who, "inbox.deliver", { ...params, messages })) as DeliverMessagesResult;
    const outcomes = [...result.outcomes];
    const busy: DeliverOutcome = { outcome: "busy", runId: null, status: null };
    return { outcomes: locked.map((is) => (is ? busy : (outcomes.shift() as DeliverOutcome))) };
  }

  async #putSome(who: string, params: PutSchedulesParams): Promise<PutSchedulesResult> {
    const locked = params.puts.map(() => this.dice.chance(0.5));
    const puts = params.puts.filter((_, i) => !locked[i]);
    const method = "schedules.putIfRevision";
    const result = (await this.#applyAll(who, method, { ...params, puts })) as PutSchedulesResult;
    const outcomes = [...result.outcomes];
    const busy: PutScheduleOutcome = { outcome: "busy" };
    return { ...result, outcomes: locked.map((is) => (is ? busy : (outcomes.shift() as PutScheduleOutcome))) };
  }

  async #finishSome(who: string, params: FinishTasksParams): Promise<FinishTasksResult> {
    const locked = params.finishes.map(() => this.dice.chance(0.5));
    const finishes = params.finishes.filter((_, i) => !locked[i]);
    const result = (await this.#applyAll(who, "tasks.finish", { finishes })) as FinishTasksResult;
    const outcomes = [...result.outcomes];
    const busy: FinishOutcome = { outcome: "busy" };
    return { ...result, outcomes: locked.map((is) => (is ? busy : (outcomes.shift() as FinishOutcome))) };
  }
}

function passNothing({ asks, givenBackBy }: PassLocksParams): PassLocksResult {
  return { answers: asks.map(() => ({ outcome: "busy", fence: null })), passed: givenBackBy.map(() => false) };
}

export function unavailable(): HoldfastError {
  return new HoldfastError("store_unavailable", "the connection was refused");
}

export function outcomeUnknown(): HoldfastError {
  return new HoldfastError("store_outcome_unknown", "the connection broke");
}
