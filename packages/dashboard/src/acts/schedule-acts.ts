import type { BackfillProgress, OverlapPolicy, ScheduleOptions, ScheduleTimes, ScheduleUpdate } from "holdfast";
import { readSpec, timesBetween } from "holdfast/adapter";
import { refusal } from "../answers/refusal.ts";
import type { BackfillCount, Started } from "../api/action-messages.ts";
import type { Backfill, Backfills } from "../api/operation-messages.ts";
import type { Ask } from "../reads/scope.ts";
import { given, optionalNumber, optionalText, parsedValue, record, text, time } from "./json-input.ts";

const COUNT_MAX = 10_000;
const KEPT_MAX = 100;

function idOf({ parts }: Ask): string {
  return parts["id"] as string;
}

export async function createSchedule({ scope, body }: Ask): Promise<object> {
  const asked = record(body);
  const id = text(asked, "id");
  const options = { ...definitionOf(asked), id, workflow: text(asked, "workflow") };
  await scope.act.schedules.create(options as ScheduleOptions<string>);
  return { id };
}

export async function updateSchedule(ask: Ask): Promise<object> {
  await ask.scope.act.schedules.update(idOf(ask), definitionOf(record(ask.body)) as ScheduleUpdate<string>);
  return {};
}

function definitionOf(asked: Readonly<Record<string, unknown>>): object {
  const { cron, paused, at } = asked;
  const queue = optionalText(asked, "queue");
  return given({
    ...timesOf({ cron, at, every: optionalText(asked, "every"), timezone: optionalText(asked, "timezone") }),
    workflow: optionalText(asked, "workflow"),
    input: parsedValue(asked["input"], "input"),
    jitter: optionalText(asked, "jitter"),
    overlap: optionalText(asked, "overlap"),
    paused: typeof paused === "boolean" ? paused : undefined,
    note: optionalText(asked, "note"),
    version: optionalText(asked, "version"),
    options: queue === undefined ? undefined : { queue },
  });
}

function timesOf({ cron, at, every, timezone }: Readonly<Record<string, unknown>>): object {
  if (at !== undefined && !(Array.isArray(at) && at.every((one) => typeof one === "number")))
    throw refusal(400, "bad_request", "at is a list of times in milliseconds.");
  return given({ cron, every, timezone, at: (at as number[] | undefined)?.map((one) => new Date(one)) });
}

export async function previewSchedule({ scope, body }: Ask): Promise<object> {
  const asked = record(body);
  const times = timesOf({ cron: asked["cron"], every: asked["every"], timezone: optionalText(asked, "timezone") });
  const n = Math.min(100, optionalNumber(asked, "n") ?? 10);
  const found = await scope.view.schedules.preview(times as ScheduleTimes, n);
  return { times: found.map((at) => at.getTime()) };
}

export async function pauseSchedule(ask: Ask): Promise<object> {
  await ask.scope.act.schedules.pause(idOf(ask), noteOf(ask));
  return {};
}

export async function resumeSchedule(ask: Ask): Promise<object> {
  await ask.scope.act.schedules.resume(idOf(ask), noteOf(ask));
  return {};
}

function noteOf({ scope, body }: Ask): { readonly by: string; readonly note?: string } {
  const note = optionalText(record(body ?? {}), "note");
  return { by: scope.visitor.user, ...(note === undefined ? {} : { note }) };
}

export async function triggerSchedule(ask: Ask): Promise<Started> {
  const run = await ask.scope.act.schedules.trigger(idOf(ask));
  return { id: run.id, runId: run.runId, created: true };
}

export async function deleteSchedule(ask: Ask): Promise<object> {
  await ask.scope.act.schedules.delete(idOf(ask));
  return {};
}

/** Backfills of this process, the newest last. What a backfill has started is in the store, whatever happens here. */
const kept = new WeakMap<object, Map<string, Backfill & { readonly namespace: string }>>();

function keptOf({ scope }: Ask): Map<string, Backfill & { readonly namespace: string }> {
  const known = kept.get(scope.store.store) ?? new Map();
  kept.set(scope.store.store, known);
  return known;
}

export async function backfill(ask: Ask): Promise<Backfill> {
  const asked = record(ask.body);
  const [from, to] = [time(asked, "from"), time(asked, "to")];
  const overlap = optionalText(asked, "overlap") as OverlapPolicy | undefined;
  const { scope } = ask;
  const handle = scope.act.schedules.get(idOf(ask));
  await handle.describe();
  const all = keptOf(ask);
  const id = Buffer.from(scope.store.random.bytes(8)).toString("hex");
  const first = { id, namespace: scope.namespace, schedule: idOf(ask), from: from.getTime(), to: to.getTime() };
  const note = (
    progress: Partial<Omit<BackfillProgress, "at">> & { at?: Date | null },
    more: Partial<Backfill> = {},
  ) => {
    const { at, ...counts } = progress;
    const before = all.get(id) ?? { times: 0, started: 0, buffered: 0, skipped: 0, at: null, done: false, error: null };
    all.set(id, { ...before, ...first, ...counts, ...(at ? { at: at.getTime() } : {}), ...more });
  };
  note({});
  if (all.size > KEPT_MAX) all.delete(all.keys().next().value as string);
  const options = { from, to, onProgress: (progress: BackfillProgress) => note(progress) };
  void handle.backfill(overlap === undefined ? options : { ...options, overlap }).then(
    (progress) => note(progress, { done: true }),
    (error: unknown) => note({}, { done: true, error: error instanceof Error ? error.message : String(error) }),
  );
  return all.get(id) as Backfill;
}

export async function backfills(ask: Ask): Promise<Backfills> {
  const own = [...keptOf(ask).values()].filter(
    ({ schedule, namespace }) => schedule === idOf(ask) && namespace === ask.scope.namespace,
  );
  return { backfills: own.reverse().map(({ namespace: _, ...one }) => one) };
}

/** Times are computed, not read: past ones as if the range lay ahead. */
export async function backfillCount(ask: Ask): Promise<BackfillCount> {
  const asked = record(ask.body);
  const [from, to] = [time(asked, "from"), time(asked, "to")];
  const { spec } = await ask.scope.view.schedules.get(idOf(ask)).describe();
  const count = countBetween(ask, spec, from, to);
  return { count, capped: count >= COUNT_MAX };
}

function countBetween({ scope }: Ask, spec: ScheduleTimes, from: Date, to: Date): number {
  const { store } = scope;
  const now = store.clock.now();
  const checked = readSpec(spec, "backfill");
  return timesBetween(checked, from.getTime() - 1, Math.min(to.getTime(), now), COUNT_MAX).length;
}
