import type { BackfillProgress, Client, ScheduleOptions, ScheduleUpdate } from "holdfast";
import type { Call } from "../../command/call.ts";
import { given, readAttributes, readInput, readTime } from "../../command/values.ts";
import type { Action } from "../../command/verb.ts";
import { UsageError } from "../../io/failure.ts";
import { fullTime } from "../../output/times.ts";
import { readTimes } from "./times.ts";

export const create: Action = async (call) => {
  const id = call.argument("id");
  const workflow = call.required("workflow");
  const rules = await readRules(call);
  const hf = await call.open({ create: "empty" });
  const [paused, ifExists] = [call.flag("paused") || undefined, call.text("if-exists")];
  const options = { id, workflow, ...readTimes(call), ...rules, ...given({ paused, ifExists }) };
  await hf.schedules.create(options as unknown as ScheduleOptions);
  return report(call, hf, id, "Created");
};

export const update: Action = async (call) => {
  const id = call.argument("id");
  const patch = { ...given({ workflow: call.text("workflow") }), ...readTimes(call), ...(await readRules(call)) };
  if (Object.keys(patch).length === 0) throw new UsageError("Nothing is to be changed: give at least one option.");
  const hf = await call.open();
  await hf.schedules.update(id, patch as ScheduleUpdate<string>);
  return report(call, hf, id, "Changed");
};

async function readRules(call: Call): Promise<object> {
  const max = call.number("catch-up");
  const own = given({ queue: call.text("queue"), timeout: call.text("run-timeout"), attributes: readAttributes(call) });
  return given({
    input: await readInput(call),
    overlap: call.text("overlap"),
    catchUp: max === undefined ? undefined : { max },
    version: call.text("version-of"),
    note: call.text("note"),
    options: Object.keys(own).length === 0 ? undefined : own,
  });
}

/** In place of the next time. */
const STANDING: Readonly<Record<string, string>> = {
  paused: "paused",
  ended: "it has no further times",
  scheduled: "its last times wait for the end of the open run",
};

async function report(call: Call, hf: Client, id: string, what: string): Promise<undefined> {
  const schedule = await hf.schedules.get(id).describe();
  const { nextAt, paused, status, workflow } = schedule;
  const next = nextAt === null ? (STANDING[status] ?? status) : `next: ${fullTime(nextAt, call.io.now())}`;
  call.out.done(`${what} ${call.out.paint.bold(id)} ${call.out.paint.dim(`(${next})`)}`, {
    id,
    workflow,
    status,
    paused,
    nextAt,
  });
  return undefined;
}

export const pause: Action = async (call) => setPaused(call, "pause", "Paused");
export const resume: Action = async (call) => setPaused(call, "resume", "Resumed");

async function setPaused(call: Call, verb: "pause" | "resume", what: string): Promise<undefined> {
  const hf = await call.open();
  const id = call.argument("id");
  await hf.schedules[verb](id, given({ note: call.text("note"), by: call.text("by") }));
  return report(call, hf, id, what);
}

export const trigger: Action = async (call) => {
  const hf = await call.open();
  const schedule = call.argument("id");
  const { id, runId } = await hf.schedules.trigger(schedule);
  call.out.done(`Started ${call.out.paint.bold(id)}`, { schedule, id, runId });
  return undefined;
};

export const backfill: Action = async (call) => {
  const id = call.argument("id");
  call.required("from");
  const [from, to] = [readTime(call, "from", "ago") as Date, readTime(call, "to", "ago") ?? new Date(call.io.now())];
  const hf = await call.open();
  const onProgress = ({ times }: BackfillProgress): void => {
    if (call.out.isTerminal) call.io.stderr.write(`\r${times} times …\u001b[K`);
  };
  const options = { from, to, onProgress, ...given({ overlap: call.text("overlap") }) };
  const done = await call.unlessInterrupted(hf.schedules.backfill(id, options as never));
  if (call.out.isTerminal) call.io.stderr.write("\r\u001b[K");
  const { times, started, buffered, skipped, at } = done;
  call.out.done(`${times} times: ${started} started, ${buffered} wait, ${skipped} skipped`, {
    id,
    times,
    started,
    buffered,
    skipped,
    at,
  });
  return undefined;
};

export const remove: Action = async (call) => {
  const id = call.argument("id");
  const hf = await call.open();
  await hf.schedules.get(id).describe();
  if (!(await call.confirm(`Schedule "${id}" will be deleted; its runs stay. Go on?`))) return call.declined();
  await hf.schedules.delete(id);
  call.out.done(`Deleted ${call.out.paint.bold(id)}`, { id, deleted: true });
  return undefined;
};
