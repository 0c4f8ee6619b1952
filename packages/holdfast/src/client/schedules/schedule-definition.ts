/** From the options of a schedule to what the store keeps of it. */
import { readSpec } from "../../calendar/index.ts";
import type { AnyWorkflow } from "../../define/definitions.ts";
import { limitAttributes } from "../../errors/attribute-checks.ts";
import { requireTimeout } from "../../errors/option-checks.ts";
import type { Attributes } from "../../model/event.ts";
import type { Payload } from "../../model/payload.ts";
import { type Schedule, type ScheduleDefinition, scheduleAttributes } from "../../model/schedule.ts";
import type { ClientCore } from "../client-core.ts";
import { type KnownWorkflows, newRun } from "../new-run.ts";
import {
  rulesOf,
  type ScheduleOptions,
  type ScheduleRules,
  type ScheduleUpdate,
  updatedSpec,
} from "./schedule-options.ts";

/** What a schedule is, without where it stands. */
export interface DefinedSchedule {
  readonly definition: ScheduleDefinition;
  readonly input: Payload;
}

export async function defined(
  core: ClientCore,
  known: KnownWorkflows,
  options: ScheduleOptions,
): Promise<DefinedSchedule> {
  const { workflow, input } = options;
  const spec = readSpec(options, "schedules.create");
  const { input: bytes, ...starts } = await startsOf(core, known, options.id, { ...options, workflow, input });
  return { definition: { spec, ...starts, ...rulesOf(options), by: null }, input: bytes };
}

type Starts = Pick<
  ScheduleDefinition,
  "workflow" | "version" | "fallbackVersion" | "queue" | "priority" | "attributes" | "timeoutMs"
> & { readonly input: Payload };

/** How its runs are started: checked as any start is. */
async function startsOf(
  core: ClientCore,
  known: KnownWorkflows,
  id: string,
  given: Pick<ScheduleRules, "version" | "options"> & { workflow: AnyWorkflow | string; input: unknown },
): Promise<Starts> {
  const { workflow, input, version } = given;
  const options = { ...given.options, ...(version === undefined ? {} : { version }) };
  const run = await newRun(core, known, { workflow, input, options });
  limit(id, run.attributes);
  return {
    workflow: run.workflow,
    version: version ?? null,
    fallbackVersion: run.version,
    queue: run.queue,
    priority: run.priority,
    attributes: run.attributes,
    timeoutMs: run.timeoutMs ?? null,
    input: run.input,
  };
}

/** Its runs have two attributes more. */
function limit(id: string, attributes: Attributes): void {
  limitAttributes({ ...attributes, ...scheduleAttributes(id, 0) }, `schedule "${id}"`);
}

export async function updated(
  core: ClientCore,
  known: KnownWorkflows,
  { id, definition: before, input }: Schedule,
  update: ScheduleUpdate,
): Promise<DefinedSchedule> {
  const spec = updatedSpec(before.spec, update) ?? before.spec;
  const rules = updatedRules(before, update);
  if (!["workflow", "input", "version", "options"].some((option) => Object.hasOwn(update, option)))
    return { definition: { ...before, spec, ...rules }, input };
  const { queue, priority, attributes, timeoutMs } = before;
  const timeout = timeoutMs === null ? {} : { timeout: { milliseconds: timeoutMs } };
  const workflow = update.workflow ?? before.workflow;
  const options = Object.hasOwn(update, "options")
    ? (update.options ?? {})
    : { queue, priority, attributes, ...timeout };
  const version = Object.hasOwn(update, "version") ? update.version : (before.version ?? undefined);
  // An input that stays was checked before, and may be of another encoding.
  const checked = Object.hasOwn(update, "input");
  const given = { workflow: checked ? workflow : nameOf(workflow), input: update.input, options };
  const found = checked ? known : () => undefined;
  const { input: bytes, ...starts } = await startsOf(core, found, id, {
    ...given,
    ...(version === undefined ? {} : { version }),
  });
  const definition = typeof workflow === "string" ? known(workflow, version) : workflow;
  const own = checked || !definition ? starts : { ...starts, ...defaultsOf(definition, options, version) };
  return { definition: { ...before, spec, ...own, ...rules }, input: checked ? bytes : input };
}

function nameOf(workflow: AnyWorkflow | string): string {
  return typeof workflow === "string" ? workflow : workflow.name;
}

/** What the options leave to the workflow. */
function defaultsOf(
  definition: AnyWorkflow,
  options: NonNullable<ScheduleRules["options"]>,
  version: string | undefined,
): Partial<Starts> {
  return {
    fallbackVersion: version ?? definition.version,
    queue: options.queue ?? definition.queue,
    priority: options.priority ?? definition.priority ?? 0,
    timeoutMs:
      options.timeout === undefined
        ? (definition.timeoutMs ?? null)
        : requireTimeout(options.timeout, "schedules.update"),
  };
}

function updatedRules(before: ScheduleDefinition, update: ScheduleUpdate): Partial<ScheduleDefinition> {
  const { overlap, catchUp, paused, note } = update;
  const after = rulesOf({
    ...(overlap === undefined ? {} : { overlap }),
    ...(catchUp === undefined ? {} : { catchUp }),
    ...(paused === undefined ? {} : { paused }),
    ...(note === undefined ? {} : { note }),
  });
  const has = (option: keyof ScheduleUpdate): boolean => Object.hasOwn(update, option);
  return {
    overlap: has("overlap") ? after.overlap : before.overlap,
    catchUpMax: has("catchUp") ? after.catchUpMax : before.catchUpMax,
    catchUpWindowMs: has("catchUp") ? after.catchUpWindowMs : before.catchUpWindowMs,
    paused: has("paused") ? after.paused : before.paused,
    note: has("note") ? after.note : before.note,
  };
}
