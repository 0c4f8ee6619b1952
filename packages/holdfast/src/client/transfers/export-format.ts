/**
 * The lines of an export. The first says what it is, the last how many runs there are: a file without it was cut off. In between,
 * one run each: the row, its history, its messages and what else it has; bytes in base64, as they are stored.
 */
import { EVENT_TYPES, type HistoryEvent } from "../../model/event.ts";
import type { Message } from "../../model/message.ts";
import { bytesOfText, bytesText, type RestText, restOfText, restText } from "../../model/rest-text.ts";
import type { Run } from "../../model/run.ts";
import type { RunImage } from "../../model/transfer.ts";
import { eventMeta } from "./event-meta-checks.ts";
import {
  array,
  attributes,
  base64,
  choice,
  counter,
  errorRecord,
  Fault,
  flag,
  id,
  maybe,
  name,
  object,
  record,
  statusOfEnd,
  text,
  time,
  tuple,
  uuid,
} from "./line-checks.ts";

export const EXPORT_FORMAT = 1;

type EventLine = readonly [
  seq: number,
  type: string,
  op: string | null,
  at: number,
  payload: string | null,
  meta: object | null,
];
type MessageLine = readonly [
  number: number,
  kind: string,
  name: string,
  messageId: string,
  at: number,
  payload: string,
];

export function headerLine(namespace: string, at: number): string {
  return JSON.stringify({ holdfast: "export", format: EXPORT_FORMAT, namespace, at });
}

export function endLine(runs: number): string {
  return JSON.stringify({ end: { runs } });
}

export function runLine({ run, events, messages, rest }: RunImage): string {
  const { input, output, heldBy: _heldBy, claimId: _claimId, availableAt: _availableAt, alone: _alone, ...row } = run;
  return JSON.stringify({
    run: { ...row, input: bytesText(input), output: output === null ? null : bytesText(output) },
    events: events.map(
      ({ seq, type, op, at, payload, meta }): EventLine => [
        ...([seq, type, op, at] as const),
        payload === undefined ? null : bytesText(payload),
        meta ?? null,
      ],
    ),
    messages: messages.map(
      ({ number, kind, name, messageId, at, payload }): MessageLine => [
        ...([number, kind, name, messageId, at] as const),
        bytesText(payload),
      ],
    ),
    rest: { updates: restText(rest).updates },
  });
}

export type ExportLine =
  | { readonly type: "header" }
  | { readonly type: "end"; readonly runs: number }
  | { readonly type: "run"; readonly image: RunImage };

/** The store that the lines are for: the runs belong to its namespace, and its time is `now`. */
export interface Importing {
  readonly namespace: string;
  readonly now: number;
}

/** Clocks of two stores may differ by as much. */
const AHEAD_MS_MAX = 86_400_000;

/** Throws a `Fault` for anything that `runLine` cannot have written. */
export function readLine(bytes: Uint8Array, to: Importing): ExportLine {
  const given = parsed(bytes);
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw new Fault("is not an object");
  const line = given as Readonly<Record<string, unknown>>;
  if ("holdfast" in line) {
    choice("export")(line["holdfast"], "holdfast");
    const format = counter(line["format"], "format");
    if (format > EXPORT_FORMAT)
      throw new Fault(
        `has format ${format}, which a newer version of Holdfast has written; this one reads ${EXPORT_FORMAT}`,
      );
    return { type: "header" };
  }
  if ("end" in line) return { type: "end", runs: counter(record(line["end"], "end")["runs"], "end.runs") };
  return { type: "run", image: imageOf(line, to) };
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Fault("is not a line of JSON: the file was cut off here, or is not an export");
  }
}

const lineage = object({
  parent: object({ namespace: name, runId: uuid, id }),
  op: maybe(text),
  root: object({ runId: uuid, id }),
  depth: counter,
});
const forkedFrom = object({ runId: uuid, id });
const isEvent = tuple(counter, choice(...EVENT_TYPES), maybe(text), time, maybe(base64), maybe(eventMeta));
const isMessage = tuple(counter, text, text, text, time, base64);
const isUpdate = tuple(counter, maybe(counter), maybe(base64));

const ROW: { readonly [K in string]: (value: unknown, what: string) => unknown } = {
  ...{ namespace: name, runId: uuid, id, firstRunId: uuid, workflow: name, version: name, queue: name, seed: text },
  ...{
    status: statusOfEnd,
    epoch: counter,
    commit: counter,
    eventCount: counter,
    delivered: counter,
    consumed: counter,
  },
  ...{ deaths: counter, aloneDeaths: counter, createdAt: time, startedAt: maybe(time), endedAt: time },
  ...{
    deadlineAt: maybe(time),
    timeoutMs: maybe(time),
    compensation: maybe(choice("compensated", "compensation_failed")),
  },
  ...{ continuedFrom: maybe(uuid), continuedAs: maybe(uuid), attributes, input: base64, output: maybe(base64) },
  ...{ error: maybe(errorRecord), suspect: flag, waitingFor: array(text) },
};

function imageOf(line: Readonly<Record<string, unknown>>, { namespace, now }: Importing): RunImage {
  const row = record(line["run"], "run");
  for (const [field, check] of Object.entries(ROW)) check(row[field], `run.${field}`);
  const priority = row["priority"];
  if (!Number.isInteger(priority) || Math.abs(priority as number) > 9)
    throw new Fault("run.priority is not from -9 to 9");
  if (row["lineage"] !== undefined) lineage(row["lineage"], "run.lineage");
  if (row["forkedFrom"] !== undefined) forkedFrom(row["forkedFrom"], "run.forkedFrom");
  if (row["key"] !== undefined) name(row["key"], "run.key");
  const given = row as unknown as Run & { readonly input: unknown; readonly output: string | null };
  const events = array(isEvent)(line["events"], "events").map((event) => eventOf(event as never));
  const messages = array(isMessage)(line["messages"], "messages").map((message) =>
    messageOf(message as never, given.runId),
  );
  requireOrder(events, messages, given);
  requirePast(events, messages, given, now);
  if (given.continuedAs === given.runId) throw new Fault("has run.continuedAs that is the run itself");
  if (given.continuedFrom === given.runId) throw new Fault("has run.continuedFrom that is the run itself");
  const updates = array(isUpdate)(record(line["rest"], "rest")["updates"], "rest.updates") as RestText["updates"];
  // Only what an ended run has: whatever else the line says, nothing of it can be executed.
  const run: Run = {
    ...rowOf(given),
    namespace,
    input: bytesOfText(given.input as unknown as string),
    output: given.output === null ? null : bytesOfText(given.output as unknown as string),
  };
  const nothing = { availableAt: null, waitingFor: [], error: null, parkedBy: null, knownIds: [], tasks: [] };
  return { run, events, messages, rest: restOfText({ ...nothing, status: run.status, updates }) };
}

function rowOf(row: Run): Omit<Run, "input" | "output"> {
  const { runId, id, firstRunId, workflow, version, queue, priority, seed, status, epoch, commit, eventCount } = row;
  const { delivered, consumed, deaths, aloneDeaths, createdAt, startedAt, endedAt, deadlineAt, timeoutMs } = row;
  const { attributes: given, compensation, continuedFrom, continuedAs, error, namespace } = row;
  return {
    ...{
      namespace,
      runId,
      id,
      firstRunId,
      workflow,
      version,
      queue,
      priority,
      seed,
      status,
      epoch,
      commit,
      eventCount,
    },
    ...{ delivered, consumed, deaths, aloneDeaths, createdAt, startedAt, endedAt, deadlineAt, timeoutMs },
    ...{ attributes: given, compensation, continuedFrom, continuedAs, error },
    ...{ heldBy: null, claimId: null, availableAt: null, alone: false, suspect: false, waitingFor: [] },
    ...(row.lineage && { lineage: row.lineage }),
    ...(row.forkedFrom && { forkedFrom: row.forkedFrom }),
    ...(row.key !== undefined && { key: row.key }),
  };
}

function eventOf([seq, type, op, at, payload, meta]: EventLine): HistoryEvent {
  const event = { seq, type: type as HistoryEvent["type"], op, at };
  return { ...event, ...(payload !== null && { payload: bytesOfText(payload) }), ...(meta !== null && { meta }) };
}

function messageOf([number, kind, given, messageId, at, payload]: MessageLine, runId: string): Message {
  return { runId, number, kind: kind as Message["kind"], name: given, messageId, at, payload: bytesOfText(payload) };
}

/** What has happened lies in the past. */
function requirePast(events: readonly HistoryEvent[], messages: readonly Message[], run: Run, now: number): void {
  const { createdAt, startedAt, endedAt } = run;
  const times = [createdAt, startedAt ?? 0, endedAt ?? 0, ...[...events, ...messages].map(({ at }) => at)];
  const late = times.find((at) => at > now + AHEAD_MS_MAX);
  if (late !== undefined) throw new Fault(`has the time ${late}, which is more than a day ahead`);
}

/** Events are numbered from 1 without gaps; messages in order, and no more than were delivered. */
function requireOrder(events: readonly HistoryEvent[], messages: readonly Message[], run: Run): void {
  if (events.length !== run.eventCount)
    throw new Fault(`has ${events.length} events, but run.eventCount is ${run.eventCount}`);
  events.forEach(({ seq }, i) => {
    if (seq !== i + 1) throw new Fault(`has event ${seq} in place ${i + 1}`);
  });
  let last = 0;
  for (const { number } of messages) {
    if (number <= last || number > run.delivered) throw new Fault(`has message ${number} in the wrong place`);
    last = number;
  }
  if (run.consumed > run.delivered) throw new Fault("has consumed more messages than were delivered");
}
