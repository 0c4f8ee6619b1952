import { isDeepStrictEqual } from "node:util";
import { readSpec, upcoming } from "../../calendar/index.ts";
import type { AnyWorkflow } from "../../define/definitions.ts";
import { HoldfastError, isHoldfastError } from "../../errors/holdfast-error.ts";
import { checkOptions, invalidOption, requireOptions } from "../../errors/option-checks.ts";
import type { ScheduleTimes } from "../../model/calendar-spec.ts";
import type { ScheduleRef } from "../../ports/store.ts";
import type { RunPage } from "../list-runs.ts";
import type { RunHandle } from "../run-handle.ts";
import { changeSchedule, firstState, putSchedule, readSchedule, redefined, storeNow } from "./schedule-change.ts";
import { type DefinedSchedule, defined, noteWorkflow } from "./schedule-definition.ts";
import { ScheduleHandle, type ScheduleHost, type ScheduleRunsOptions } from "./schedule-handle.ts";
import {
  type BackfillOptions,
  type BackfillProgress,
  CREATE_OPTIONS,
  readScheduleCursor,
  requireCount,
  requireScheduleId,
  SCHEDULE_LIST_OPTIONS,
  type ScheduleListOptions,
  type ScheduleOptions,
  type SchedulePauseOptions,
  type ScheduleUpdate,
  TIMES_OPTIONS,
  writeScheduleCursor,
} from "./schedule-options.ts";
import { type SchedulePage, summarizeSchedule } from "./schedule-view.ts";

const LIST_LIMIT_DEFAULT = 100;

/** Schedules: workflows that are started at certain times. Made by the client: `hf.schedules`. */
export class Schedules {
  readonly #host: ScheduleHost;

  constructor(host: Omit<ScheduleHost, "named">) {
    this.#host = { ...host, named: new Map() };
  }

  /**
   * Creates a schedule. Resolves when it is durable. An id that exists is refused with `schedule_already_exists`, unless `ifExists` says
   * that the schedule is to be updated.
   */
  create<D extends AnyWorkflow | string>(options: ScheduleOptions<D>): Promise<ScheduleHandle>;
  async create(options: ScheduleOptions): Promise<ScheduleHandle> {
    const { core, known } = this.#host;
    core.life.assertOpen();
    requireOptions(options, CREATE_OPTIONS, "schedules.create");
    requireScheduleId(options.id);
    if (options.workflow === undefined)
      throw invalidOption("schedules.create", "workflow", "is missing: say what to start");
    const { id } = options;
    const { namespace } = core;
    const made = await defined(core, known, options);
    const state = firstState(made, await storeNow(core));
    const put = { namespace, id, revision: null, next: core.newId(), ...made, state, decided: [], starts: [] };
    const { outcome, sends } = await putSchedule(core, put);
    const exists = outcome.outcome !== "written";
    if (exists && options.ifExists === "update") {
      if (!(await this.#replaced(id, made))) return this.create(options);
    } else if (exists && !(sends > 1 && (await this.#isSame(put)))) {
      // Otherwise an earlier send whose answer was lost has created it, and the leader has fired it since.
      const message = `Schedule "${id}" already exists. Change it with hf.schedules.update("${id}", …), or choose another id.`;
      throw new HoldfastError("schedule_already_exists", message, { data: { id, namespace } });
    }
    noteWorkflow(this.#host, options.workflow);
    return this.get(id);
  }

  /** The schedule becomes what was defined. False: it was deleted meanwhile. */
  async #replaced(id: string, made: DefinedSchedule): Promise<boolean> {
    const { core } = this.#host;
    try {
      await changeSchedule(core, id, async (schedule) => {
        const isSame = isDeepStrictEqual([schedule.definition, schedule.input], [made.definition, made.input]);
        return isSame ? undefined : redefined(schedule, made, await storeNow(core));
      });
      return true;
    } catch (error) {
      if (isHoldfastError(error, "schedule_not_found")) return false;
      throw error;
    }
  }

  async #isSame({ id, definition, input }: ScheduleRef & DefinedSchedule): Promise<boolean> {
    const known = await readSchedule(this.#host.core, id);
    return isDeepStrictEqual([known.definition, known.input], [definition, input]);
  }

  /** The schedule of this id. Nothing is read until you use the handle. */
  get(id: string): ScheduleHandle {
    this.#host.core.life.assertOpen();
    requireScheduleId(id);
    return new ScheduleHandle(this.#host, id);
  }

  /** The schedules of the namespace in the order of their ids, one page at a time. */
  async list(options: ScheduleListOptions = {}): Promise<SchedulePage> {
    checkOptions(options, SCHEDULE_LIST_OPTIONS, "schedules.list");
    const { core } = this.#host;
    const limit = options.limit ?? LIST_LIMIT_DEFAULT;
    const after = options.cursor === undefined ? {} : { after: readScheduleCursor(options.cursor, "schedules.list") };
    const params = { namespace: core.namespace, limit: limit + 1, ...after };
    const found = await core.call((store) => store.schedules.list(params));
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const cursor = found.length > limit && last ? writeScheduleCursor(last.id) : null;
    return { schedules: page.map(summarizeSchedule), cursor };
  }

  /** The next `n` times of a schedule that need not exist, without jitter. */
  async preview(times: ScheduleTimes, n = 10): Promise<Date[]> {
    requireOptions(times, TIMES_OPTIONS, "schedules.preview");
    requireCount(n, "schedules.preview");
    const spec = readSpec(times, "schedules.preview");
    return upcoming(spec, await storeNow(this.#host.core), n).map((at) => new Date(at));
  }

  /** Changes a schedule. */
  update<D extends AnyWorkflow | string = string>(id: string, patch: ScheduleUpdate<D>): Promise<void> {
    return this.get(id).update(patch);
  }

  /** Nothing is started until it is resumed. */
  pause(id: string, options?: SchedulePauseOptions): Promise<void> {
    return this.get(id).pause(options);
  }

  /** It goes on with its first time from now on. */
  resume(id: string, options?: SchedulePauseOptions): Promise<void> {
    return this.get(id).resume(options);
  }

  /** Starts a run now. */
  trigger(id: string): Promise<RunHandle> {
    return this.get(id).trigger();
  }

  /** Starts what the schedule would have started in a span of time. */
  backfill(id: string, options: BackfillOptions): Promise<BackfillProgress> {
    return this.get(id).backfill(options);
  }

  /** Deletes a schedule. Its runs stay. */
  delete(id: string): Promise<void> {
    return this.get(id).delete();
  }

  /** The runs of a schedule, the newest first. */
  runs(id: string, options?: ScheduleRunsOptions): Promise<RunPage> {
    return this.get(id).runs(options);
  }

  /** The next `n` times of a schedule. */
  upcoming(id: string, n?: number): Promise<Date[]> {
    return this.get(id).upcoming(n);
  }
}
