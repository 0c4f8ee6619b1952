/** From the options of a schedule to what the store keeps of it. */
import { readSpec } from "../../calendar/index.ts";
import { type AnyWorkflow, requireWorkflow } from "../../define/definitions.ts";
import type { Payload } from "../../model/payload.ts";
import type { Schedule, ScheduleDefinition } from "../../model/schedule.ts";
import type { ClientCore } from "../client-core.ts";
import { type KnownWorkflows, newRun } from "../new-run.ts";
import {
  rulesOf,
  type ScheduleOptions,
  type ScheduleRules,
  type ScheduleUpdate,
  updatedSpec,
} from "./schedule-options.ts";

/** What a client knows of workflows. */
export interface Knowledge {
  readonly core: ClientCore;
  readonly known: KnownWorkflows;
  /** The workflows that schedules of this client were given, by name and version. */
  readonly named: Map<string, AnyWorkflow>;
}

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
  const given = { ...options, workflow, input };
  const { input: bytes, ...starts } = await startsOf(core, known, "schedules.create", given);
  return { definition: { spec, ...starts, ...rulesOf(options), by: null }, input: bytes };
}

type Starts = Pick<
  ScheduleDefinition,
  "workflow" | "version" | "fallbackVersion" | "queue" | "priority" | "key" | "attributes" | "timeoutMs"
> & { readonly input: Payload };

/** How its runs are started: checked as any start is. */
async function startsOf(
  core: ClientCore,
  known: KnownWorkflows,
  where: string,
  given: Pick<ScheduleRules, "version" | "options"> & { workflow: AnyWorkflow | string; input: unknown },
): Promise<Starts> {
  const { workflow, input, version } = given;
  if (typeof workflow !== "string") requireWorkflow(workflow, `${where}: workflow`);
  const options = { ...given.options, ...(version === undefined ? {} : { version }) };
  const run = await newRun(core, known, { workflow, input, options, starts: false });
  return {
    workflow: run.workflow,
    version: version ?? null,
    fallbackVersion: run.version,
    queue: run.queue,
    priority: run.priority,
    ...(run.key === undefined ? {} : { key: run.key }),
    attributes: run.attributes,
    timeoutMs: run.timeoutMs ?? null,
    input: run.input,
  };
}

/**
 * The schedule after an update. A new input is checked against the schema of the workflow, and an input that stays against that of a
 * workflow or version that the update names, as far as this client knows the workflow and can read the input.
 */
export async function updated(host: Knowledge, schedule: Schedule, update: ScheduleUpdate): Promise<DefinedSchedule> {
  const { definition: before } = schedule;
  const spec = updatedSpec(before.spec, update) ?? before.spec;
  const rules = updatedRules(before, update);
  const has = (option: keyof ScheduleUpdate): boolean => Object.hasOwn(update, option);
  if (!(["workflow", "input", "version", "options"] as const).some(has))
    return { definition: { ...before, spec, ...rules }, input: schedule.input };
  const version = has("version") ? update.version : (before.version ?? undefined);
  const workflow = update.workflow ?? before.workflow;
  if (typeof workflow !== "string") requireWorkflow(workflow, "schedules.update: workflow");
  const definition = typeof workflow === "string" ? found(host, workflow, version, before) : workflow;
  const kept = has("workflow") || has("version") ? keptInput(host.core, schedule) : undefined;
  const input = has("input") ? { value: update.input } : kept;
  const unchecked = definition && { ...definition, inputSchema: undefined };
  const known = (): AnyWorkflow | undefined => (input ? definition : unchecked);
  const options = has("options") ? (update.options ?? {}) : optionsOf(before);
  const { input: bytes, ...starts } = await startsOf(host.core, known, "schedules.update", {
    workflow: typeof workflow === "string" ? workflow : workflow.name,
    input: input?.value,
    options: definition || has("input") || has("workflow") ? options : { ...keyOf(before), ...options },
    ...(version === undefined ? {} : { version }),
  });
  const other = starts.workflow !== before.workflow || starts.fallbackVersion !== before.fallbackVersion;
  // What a schema makes of an input is not given to the same schema again.
  const isNew = has("input") || (other && input !== undefined && definition?.inputSchema !== undefined);
  return { definition: { ...before, spec, ...starts, ...rules }, input: isNew ? bytes : schedule.input };
}

function found(
  { known, named }: Knowledge,
  name: string,
  version: string | undefined,
  { fallbackVersion }: ScheduleDefinition,
): AnyWorkflow | undefined {
  return known(name, version) ?? named.get(workflowKey(name, version ?? fallbackVersion));
}

/** The input that stays; undefined if this client cannot decode it. */
function keptInput({ ports }: ClientCore, { input }: Schedule): { readonly value: unknown } | undefined {
  try {
    return { value: ports.codec.decode(input) };
  } catch {
    return undefined;
  }
}

function optionsOf({ queue, priority, attributes, timeoutMs }: ScheduleDefinition): ScheduleRules["options"] & object {
  return { queue, priority, attributes, ...(timeoutMs === null ? {} : { timeout: { milliseconds: timeoutMs } }) };
}

/** Of the same input the code would make the same key. */
function keyOf({ key }: ScheduleDefinition): Pick<ScheduleDefinition, "key"> {
  return key === undefined ? {} : { key };
}

/** Notes a workflow that a call has named: later updates by this client are checked against its schema. */
export function noteWorkflow({ named }: Knowledge, workflow: unknown): void {
  if (typeof workflow !== "object" || workflow === null) return;
  const definition = workflow as AnyWorkflow;
  named.set(workflowKey(definition.name, definition.version), definition);
}

/** Names have no control characters. */
function workflowKey(name: string, version: string): string {
  return `${name}\n${version}`;
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
