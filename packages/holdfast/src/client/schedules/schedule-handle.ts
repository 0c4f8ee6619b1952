import { upcoming } from "../../calendar/index.ts";
import { scheduledStart } from "../../calls/scheduled-runs.ts";
import type { AnyWorkflow } from "../../define/definitions.ts";
import { checkOptions, type OptionChecks, requireOptions, wholeNumber } from "../../errors/option-checks.ts";
import { failuresAfter, isOpen } from "../../model/decisions/schedule.ts";
import { SCHEDULE_ATTRIBUTE, scheduledRunId } from "../../model/schedule.ts";
import { readCursor } from "../list-filter.ts";
import { listRuns, type RunPage } from "../list-runs.ts";
import type { RunHandle, StartedRun } from "../run-handle.ts";
import { backfillSchedule } from "./backfill.ts";
import { changeSchedule, readSchedule, redefined, scheduleNotFound, storeNow } from "./schedule-change.ts";
import { type Knowledge, noteWorkflow, updated } from "./schedule-definition.ts";
import {
  type BackfillOptions,
  type BackfillProgress,
  PAUSE_OPTIONS,
  requireCount,
  type SchedulePauseOptions,
  type ScheduleUpdate,
  UPDATE_OPTIONS,
} from "./schedule-options.ts";
import { describeSchedule, type ScheduleDescription } from "./schedule-view.ts";

/** What handles of schedules need of their client. */
export interface ScheduleHost extends Knowledge {
  /** A handle of a run that exists. */
  readonly handle: (id: string, run: StartedRun) => RunHandle;
  /** The test engine advances its clock while a caller waits. */
  readonly during: <R>(waiting: Promise<R>) => Promise<R>;
}

/** Options of `runs` of a schedule. */
export interface ScheduleRunsOptions {
  /**
   * At most this many: up to 1000.
   * @defaultValue `100`
   */
  readonly limit?: number;
  /**
   * The `cursor` of the page before.
   * @defaultValue the first page
   */
  readonly cursor?: string;
}

const RUNS_OPTIONS: OptionChecks<ScheduleRunsOptions> = {
  limit: wholeNumber(1, 1_000),
  cursor: (value, where) => void readCursor(value, where),
};

/** A schedule, by its id: `hf.schedules.get(id)`. Nothing is read until you use it. */
export class ScheduleHandle {
  /** The id of the schedule. */
  readonly id: string;
  readonly #host: ScheduleHost;

  constructor(host: ScheduleHost, id: string) {
    this.#host = host;
    this.id = id;
  }

  /** What it is, where it stands, and its last 100 decisions. */
  async describe(): Promise<ScheduleDescription> {
    const { core } = this.#host;
    const { namespace } = core;
    const schedule = await readSchedule(core, this.id);
    const decisions = await core.call((store) => store.schedules.decisions({ namespace, id: this.id }));
    return describeSchedule(schedule, decisions, core.ports.codec);
  }

  /** Changes it. Runs that were started stay as they are, and so do its decisions. */
  update<D extends AnyWorkflow | string = string>(patch: ScheduleUpdate<D>): Promise<void>;
  async update(patch: ScheduleUpdate): Promise<void> {
    const { core } = this.#host;
    requireOptions(patch, UPDATE_OPTIONS, "schedules.update");
    await changeSchedule(core, this.id, async (schedule) => {
      const changed = await updated(this.#host, schedule, patch);
      return redefined(schedule, changed, await storeNow(core));
    });
    noteWorkflow(this.#host, patch.workflow);
  }

  /** Nothing is started until it is resumed. Times that come meanwhile are not made up for. */
  pause(options: SchedulePauseOptions = {}): Promise<void> {
    return this.#setPaused(true, options, "schedules.pause");
  }

  /** It goes on with its first time from now on. */
  resume(options: SchedulePauseOptions = {}): Promise<void> {
    return this.#setPaused(false, options, "schedules.resume");
  }

  async #setPaused(paused: boolean, options: SchedulePauseOptions, where: string): Promise<void> {
    checkOptions(options, PAUSE_OPTIONS, where);
    const { core } = this.#host;
    await changeSchedule(core, this.id, async (schedule) => {
      const { definition, input } = schedule;
      const note = options.note ?? definition.note;
      const changed = { definition: { ...definition, paused, note, by: options.by ?? null }, input };
      return redefined(schedule, changed, await storeNow(core));
    });
  }

  /**
   * Starts a run now, whether or not another one is open, and also while the schedule is paused. If no other run of the schedule is
   * open, the new one counts as the open one for the next times.
   */
  async trigger(): Promise<RunHandle> {
    const { core, handle } = this.#host;
    const { namespace } = core;
    const id = `${this.id}!${core.newId()}`;
    const now = await storeNow(core);
    let workflow = "";
    const runId = scheduledRunId(namespace, id, now);
    await changeSchedule(core, this.id, (schedule) => {
      const { state, open } = schedule;
      workflow = schedule.definition.workflow;
      const counts = isOpen(open) ? {} : { ...failuresAfter(state, open), openId: id };
      return {
        state: { ...state, ...counts, lastAt: Math.max(now, state.lastAt ?? now) },
        decided: [{ at: now, what: "fired", reason: "it was triggered", runId }],
        assumes: { open: isOpen(open) },
        starts: [scheduledStart(schedule, now, core.ports, id)],
      };
    });
    return handle(id, { runId, workflow, created: true });
  }

  /**
   * Starts a run for each time from `from` to `to` (both included) that has passed and has none. Resolves when all of them have started, or wait
   * in the schedule for the end of the open run.
   */
  backfill(options: BackfillOptions): Promise<BackfillProgress> {
    return this.#host.during(backfillSchedule(this.#host.core, this.id, options));
  }

  /** Deletes the schedule. Its runs stay, also those that are open; what was buffered is not started. */
  async delete(): Promise<void> {
    const { core } = this.#host;
    const { namespace } = core;
    let sends = 0;
    const { removed } = await core.call((store) => {
      sends += 1;
      return store.schedules.remove({ namespace, id: this.id });
    });
    // An earlier send whose answer was lost may have removed it.
    if (!removed && sends === 1) throw scheduleNotFound(core, this.id);
  }

  /** Its runs, the newest first, one page at a time. */
  async runs(options: ScheduleRunsOptions = {}): Promise<RunPage> {
    checkOptions(options, RUNS_OPTIONS, "schedules.runs");
    return listRuns(this.#host.core, { ...options, attributes: { [SCHEDULE_ATTRIBUTE]: this.id } });
  }

  /** Its next `n` times, paused or not. */
  async upcoming(n = 10): Promise<Date[]> {
    requireCount(n, "schedules.upcoming");
    const { core } = this.#host;
    const { definition } = await readSchedule(core, this.id);
    return upcoming(definition.spec, await storeNow(core), n).map((at) => new Date(at));
  }
}
