/** Values that several verbs read from the command line. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { text as readAll } from "node:stream/consumers";
import type { Attributes, AttributeValue, ListFilter, RunStatus } from "holdfast";
import { FileFailed, UsageError } from "../io/failure.ts";
import type { Call } from "./call.ts";
import type { VerbOption } from "./verb-shape.ts";

export const INPUT_OPTION: VerbOption = {
  name: "input",
  value: "json",
  about: "the input: JSON, @file.json, or - for standard input",
};

export const YES_OPTION: VerbOption = { name: "yes", about: "do not ask" };

export const FILTER_OPTIONS: readonly VerbOption[] = [
  { name: "workflow", value: "name", about: "only runs of this workflow" },
  { name: "status", value: "status", many: true, about: "only runs with this status; may be repeated" },
  { name: "queue", value: "name", about: "only runs in this queue" },
  { name: "attribute", value: "k=v", many: true, about: "only runs with this search attribute; may be repeated" },
  { name: "id-is", value: "id", about: "all runs of one id, also those it continued from" },
  { name: "error", value: "code", about: "only runs that failed, or are parked, with this code or kind of error" },
  { name: "waiting-for", value: "op", about: "only runs that wait for this op" },
  { name: "parent", value: "run-id", about: "only children of this run" },
  { name: "after", value: "time", about: "only runs started after this time: 2026-03-01, or 2h for two hours ago" },
  { name: "before", value: "time", about: "only runs started before this time" },
];

/** `--input`: undefined if it is not given. */
export async function readInput(call: Call, name = "input"): Promise<unknown> {
  const given = call.text(name);
  if (given === undefined) return undefined;
  const { source, text } = await inputText(call, given);
  try {
    return JSON.parse(text);
  } catch (cause) {
    const hint = source === `--${name}` ? ` Text must be quoted twice: --${name} '"text"'.` : "";
    throw new UsageError(`${source} is not valid JSON: ${(cause as Error).message}.${hint}`);
  }
}

async function inputText(call: Call, given: string): Promise<{ readonly source: string; readonly text: string }> {
  if (given === "-") return { source: "standard input", text: await readAll(call.io.stdin) };
  if (!given.startsWith("@")) return { source: "--input", text: given };
  const file = path.resolve(call.io.cwd, given.slice(1));
  try {
    return { source: file, text: readFileSync(file, "utf8") };
  } catch (error) {
    throw new FileFailed(file, "read", error);
  }
}

/** `--attribute k=v`: numbers and booleans are such, unless quoted. */
export function readAttributes(call: Call): Attributes | undefined {
  const given = call.texts("attribute");
  if (given.length === 0) return undefined;
  return Object.fromEntries(
    given.map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw new UsageError(`--attribute is "${pair}"; write it as name=value.`);
      return [pair.slice(0, at), attributeValue(pair.slice(at + 1))];
    }),
  );
}

function attributeValue(text: string): AttributeValue {
  if (text === "true" || text === "false") return text === "true";
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  const [, quoted] = /^"(.*)"$/.exec(text) ?? [];
  return quoted ?? text;
}

/** Where a duration without a sign leads to: `--after 2h` looks back, `--at 2h` looks ahead. */
export type Direction = "ago" | "ahead";

/** A time: ISO, or a duration from now in the direction that the option is about; a sign says otherwise. */
export function readTime(call: Call, name: string, direction: Direction): Date | undefined {
  const text = call.text(name);
  return text === undefined ? undefined : timeOf(text, `--${name}`, call.io.now(), direction);
}

export function timeOf(text: string, what: string, now: number, direction: Direction): Date {
  const [, sign, amount, unit] = /^([+-]?)(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/.exec(text) ?? [];
  if (amount !== undefined && unit !== undefined) {
    const ms = Number(amount) * (UNIT_MS[unit] as number);
    const isAhead = sign === "" ? direction === "ahead" : sign === "+";
    return new Date(isAhead ? now + ms : now - ms);
  }
  const time = new Date(text);
  if (!Number.isNaN(time.getTime()) && /^\d{4}-/.test(text)) return time;
  const short = direction === "ahead" ? "2h for in two hours" : "2h for two hours ago";
  throw new UsageError(`${what} is "${text}"; write a time such as 2026-03-01T12:00:00Z, or ${short}.`);
}

/** A duration such as `30d` or `1h 30m`, in milliseconds. */
export function millisecondsOf(text: string, what: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)[a-z]*\s*/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text)
    throw new UsageError(`${what} is "${text}"; write a duration such as 30s, 12h or 30d.`);
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNIT_MS[unit as string] as number), 0);
}

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** The filter of the options; undefined if none of them is given. */
export function readFilter(call: Call): ListFilter | undefined {
  const status = call.texts("status").flatMap((text) => text.split(",")) as RunStatus[];
  const [workflow, queue, id, error, waitingFor, parent] = [
    "workflow",
    "queue",
    "id-is",
    "error",
    "waiting-for",
    "parent",
  ].map((name) => call.text(name));
  const attributes = readAttributes(call);
  const [createdAfter, createdBefore] = [readTime(call, "after", "ago"), readTime(call, "before", "ago")];
  const filter = given({ workflow, queue, id, error, waitingFor, parent, attributes, createdAfter, createdBefore });
  if (status.length > 0) Object.assign(filter, { status });
  return Object.keys(filter).length === 0 ? undefined : (filter as ListFilter);
}

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Without what is undefined: the core tells an option that is missing from one that is undefined. */
export function given<T extends object>(options: T): Given<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<T>;
}
