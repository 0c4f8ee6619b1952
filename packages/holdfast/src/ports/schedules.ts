/** Schedules: what is to be started when. The promises of every call are in store.ts. */
import type { ErrorRecord } from "../model/error-record.ts";
import type { Payload } from "../model/payload.ts";
import type { Schedule, ScheduleDecision, ScheduleDefinition, ScheduleState } from "../model/schedule.ts";
import type { StartRun } from "./starts.ts";

export interface ScheduleStore {
  /**
   * Creates and changes schedules, and starts the runs that belong to the change. Each put is decided separately, on the locked
   * row, and is atomic with its starts: all of it, or nothing. This is the only way in which a schedule changes.
   * Preconditions: the schedule has the revision that the put names (null: there is no such schedule), and, if the put says so,
   * the newest run of its `openId` is open or not as `assumes` says. Otherwise `moved`.
   * If it terminates a run, that is the newest one of the `openId`, and open; otherwise `moved`.
   * And no run has the id of one of its starts, whoever has started that run. Otherwise `taken`, and nothing is written.
   * Idempotence key: `next`. A schedule that has that revision already is `written`, and nothing happens.
   * The starts are those of `runs.start`, without messages, parents and holds; no two starts of a call have the same id, and none has the
   * `openId` of another schedule: the ids of a schedule's runs are its own (`scheduleIdOf`).
   * `busy` if another transaction has locked the schedule, or a run that one of the starts, or the termination, is about.
   */
  putIfRevision(params: PutSchedulesParams): Promise<PutSchedulesResult>;

  /**
   * Schedules of all namespaces that somebody must look at, at most `limit`: those whose `nextAt` has come, the longest due first,
   * then those with buffered times whose run has ended or is to be stopped by their policy (`waiting`), in the order of their ids.
   * Those that are paused are not among them. Read only.
   */
  due(params: DueSchedulesParams): Promise<DueSchedulesResult>;

  /** Schedules by their ids; null for one that does not exist. Read only. */
  read(params: { readonly schedules: readonly ScheduleRef[] }): Promise<readonly (Schedule | null)[]>;

  /** What was decided about a schedule, the oldest first: the last 100 decisions. Read only. */
  decisions(params: ScheduleRef): Promise<readonly ScheduleDecision[]>;

  /** The schedules of a namespace in the order of their ids. Read only. */
  list(params: ListSchedulesParams): Promise<readonly Schedule[]>;

  /** Deletes a schedule; its runs stay. `removed` is false if there is none. Idempotent. */
  remove(params: ScheduleRef): Promise<{ readonly removed: boolean }>;
}

export interface ScheduleRef {
  readonly namespace: string;
  readonly id: string;
}

export interface PutSchedulesParams {
  readonly puts: readonly PutSchedule[];
  /** Tell the leader that it should look: left out by the leader itself. */
  readonly announce: boolean;
}

export interface PutSchedule extends ScheduleRef {
  /** What the schedule has now; null: it does not exist. */
  readonly revision: string | null;
  /** What it will have: a new UUID. */
  readonly next: string;
  /** Both are required for a new schedule; what is left out stays. */
  readonly definition?: ScheduleDefinition;
  readonly input?: Payload;
  readonly state: ScheduleState;
  /** Decisions that are added. */
  readonly decided: readonly ScheduleDecision[];
  /** Whether the run of the `openId` that the schedule has now is open; left out if that does not matter. */
  readonly assumes?: { readonly open: boolean };
  /** The open run, which makes way for the starts: it is ended as `runs.terminate` does, together with the change. */
  readonly terminates?: { readonly runId: string; readonly error: ErrorRecord };
  readonly starts: readonly StartRun[];
}

export interface PutSchedulesResult {
  readonly outcomes: readonly PutScheduleOutcome[];
  readonly now: number;
}

export interface PutScheduleOutcome {
  readonly outcome: "written" | "moved" | "busy" | "taken";
  /** The ids of its starts that runs have already: only with `taken`. */
  readonly taken?: readonly string[];
  /** The run that was terminated owes something; absent if not, and from the answer to a repeated put. */
  readonly owes?: true;
}

export interface DueSchedulesParams {
  readonly limit: number;
  /** Only those behind this position in the order of the answer. Default: from the first. */
  readonly after?: DuePosition;
}

/** A position in the order of `due`: a schedule has it, or had it when it was read. */
export interface DuePosition extends ScheduleRef {
  /** Its `nextAt` if that had come; null if it was there because of its buffered times. */
  readonly dueAt: number | null;
}

export interface DueSchedulesResult extends ScheduleOutlook {
  readonly schedules: readonly Schedule[];
  readonly now: number;
  /** The run ids of the open runs of the first `limit` schedules with buffered times, in the order of those schedules' ids. */
  readonly awaited: readonly string[];
  /** There are others behind these. */
  readonly more: boolean;
}

/** When there is something to do about schedules. */
export interface ScheduleOutlook {
  /** The earliest `nextAt` of all schedules that are not due yet; in a heartbeat, of all schedules. */
  readonly nextAt: number | null;
  /** There are schedules with buffered times that are not paused. */
  readonly waiting: boolean;
}

export interface ListSchedulesParams {
  readonly namespace: string;
  readonly limit: number;
  /** Only ids behind this one. */
  readonly after?: string;
  /** Only those whose runs have failed (the last one did, or earlier ones did whose end was looked at), or whose last one is parked. */
  readonly failing?: boolean;
}
