/**
 * Filters as text: `status:failed AND (workflow:order OR error:"card declined")`. Read by the handler, and by the page while
 * somebody types. The answer is a list of filters, one of which must match.
 */
import type { RunFilter, RunStatus } from "../api/list-messages.ts";

export interface PlainFilter extends Omit<RunFilter, "q"> {
  /** What the error of a run says: all of these. */
  readonly errorText?: readonly string[];
}

/** Where the text cannot be read, and what is wrong there. */
export class FilterError extends Error {
  readonly position: number;

  constructor(message: string, position: number) {
    super(message);
    this.name = "FilterError";
    this.position = position;
  }
}

interface Token {
  readonly kind: "(" | ")" | "and" | "or" | "clause";
  readonly at: number;
  readonly field?: string;
  readonly sign?: ":" | "=" | ">" | "<";
  readonly value?: string;
}

/** More alternatives than this would be as many reads. */
export const ALTERNATIVES_MAX = 32;
/** How the op is called in which a run waits for a signal. */
const RECEIVE = "receive:";

const OPEN: readonly RunStatus[] = ["pending", "running", "sleeping", "waiting", "compensating", "parked"];
const CLOSED: readonly RunStatus[] = [
  "completed",
  "failed",
  "canceled",
  "terminated",
  "timed_out",
  "continued",
  "moved",
];
const STATUSES: readonly string[] = [...OPEN, ...CLOSED];
const TEXT_FIELDS: Readonly<Record<string, keyof PlainFilter>> = {
  workflow: "workflow",
  version: "version",
  id: "id",
  queue: "queue",
  error: "error",
  parent: "parent",
  fork: "forkedFrom",
};
const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** The filters of which one must match; none: nothing can. `now` is for times like `-1h`. */
export function parseFilter(text: string, now: number): readonly PlainFilter[] {
  const tokens = tokensOf(text);
  if (tokens.length === 0) return [{}];
  const parser = { tokens, next: 0, now, end: text.length };
  const found = either(parser);
  const rest = tokens[parser.next];
  if (rest) throw new FilterError(rest.kind === ")" ? "There is no ( for this )." : "AND or OR is missing.", rest.at);
  return found;
}

interface Parser {
  readonly tokens: readonly Token[];
  readonly now: number;
  readonly end: number;
  next: number;
}

function either(parser: Parser): PlainFilter[] {
  const found = [...all(parser)];
  while (parser.tokens[parser.next]?.kind === "or") {
    parser.next += 1;
    found.push(...all(parser));
  }
  return limited(found, parser);
}

function all(parser: Parser): PlainFilter[] {
  let found = one(parser);
  for (;;) {
    const token = parser.tokens[parser.next];
    if (token?.kind === "and") parser.next += 1;
    else if (token?.kind !== "clause" && token?.kind !== "(") return found;
    const also = one(parser);
    found = limited(
      found.flatMap((left) => also.flatMap((right) => both(left, right) ?? [])),
      parser,
    );
  }
}

function one(parser: Parser): PlainFilter[] {
  const token = parser.tokens[parser.next];
  parser.next += 1;
  if (token?.kind === "(") {
    const found = either(parser);
    if (parser.tokens[parser.next]?.kind !== ")") throw new FilterError("A ) is missing.", token.at);
    parser.next += 1;
    return found;
  }
  if (token?.kind === "clause") return clauseOf(token, parser.now);
  throw new FilterError("A condition is missing here.", token?.at ?? parser.end);
}

function limited(found: PlainFilter[], { end }: Parser): PlainFilter[] {
  if (found.length <= ALTERNATIVES_MAX) return found;
  throw new FilterError(`These are ${found.length} alternatives; the limit is ${ALTERNATIVES_MAX}.`, end);
}

function clauseOf(token: Token, now: number): PlainFilter[] {
  const { field, sign, value = "", at } = token;
  if (field === undefined) {
    // A word alone: whatever is called like that, and errors that say it.
    return [{ id: value }, { workflow: value }, ...waitsFor(value), { error: value }, { errorText: [value] }];
  }
  if (value === "") throw new FilterError(`${field} needs a value.`, at);
  if (field.startsWith("attr.")) return [{ attributes: { [field.slice(5)]: scalarOf(value) } }];
  if (sign === ">" || sign === "<") return [timeOf(field, sign, value, at, now)];
  if (field === "status") return [{ status: statusesOf(value, at) }];
  if (field === "is") return [stateOf(value, at)];
  if (field === "waiting") return waitsFor(value);
  // No code and no kind of an error has a space.
  if (field === "message" || (field === "error" && /\s/.test(value))) return [{ errorText: [value] }];
  const known = Object.hasOwn(TEXT_FIELDS, field) ? TEXT_FIELDS[field] : undefined;
  if (known === undefined)
    throw new FilterError(
      `There is no field "${field}". Fields: ${Object.keys(TEXT_FIELDS).join(", ")}, waiting, message, status, is, attr.…, created, ended.`,
      at,
    );
  return [{ [known]: value }];
}

/** An op by its name; a signal by its own, too. */
function waitsFor(value: string): PlainFilter[] {
  return value.includes(":") ? [{ waitingFor: value }] : [{ waitingFor: value }, { waitingFor: RECEIVE + value }];
}

function statusesOf(value: string, at: number): RunStatus[] {
  return value.split(",").map((status) => {
    if (!STATUSES.includes(status))
      throw new FilterError(`There is no status "${status}". It is one of ${STATUSES.join(", ")}.`, at);
    return status as RunStatus;
  });
}

function stateOf(value: string, at: number): PlainFilter {
  if (value === "retrying") return { retrying: true };
  if (value === "paused") return { status: ["parked"], error: "paused" };
  if (value === "open") return { status: OPEN };
  if (value === "closed") return { status: CLOSED };
  throw new FilterError(`is:${value} is unknown. It is one of retrying, paused, open, closed.`, at);
}

/** `created>2026-01-01`, `ended<-1h`, `waiting>10m`: for longer than ten minutes. */
function timeOf(field: string, sign: ">" | "<", value: string, at: number, now: number): PlainFilter {
  const length = /^-?(\d+(?:\.\d+)?)([smhdw])$/.exec(value);
  const time = length ? now - Number(length[1]) * (UNITS[length[2] as string] as number) : Date.parse(value);
  if (Number.isNaN(time)) throw new FilterError(`"${value}" is no time. Write 2026-01-31, or -1h for an hour ago.`, at);
  const ms = Math.floor(time);
  if (field === "created") return sign === ">" ? { createdAfter: ms } : { createdBefore: ms };
  if (field === "ended") return sign === ">" ? { endedAfter: ms } : { endedBefore: ms };
  if (field === "waiting" && sign === ">") return { waitingSince: ms };
  throw new FilterError(`${field}${sign} is unknown. Use created, ended, or waiting>.`, at);
}

function scalarOf(value: string): string | number | boolean {
  if (value === "true" || value === "false") return value === "true";
  return /^-?\d+(?:\.\d+)?$/.test(value) && `${Number(value)}` === value ? Number(value) : value;
}

/** What matches both; undefined if nothing can. */
function both(left: PlainFilter, right: PlainFilter): PlainFilter | undefined {
  const made: Record<string, unknown> = { ...left };
  for (const [field, value] of Object.entries(right)) {
    const known = made[field];
    const joined = known === undefined ? value : joinedValue(field, known, value);
    if (joined === undefined) return undefined;
    made[field] = joined;
  }
  return made as PlainFilter;
}

function joinedValue(field: string, left: unknown, right: unknown): unknown {
  if (field === "status") {
    const common = listOf(left).filter((status) => listOf(right).includes(status));
    return common.length === 0 ? undefined : common;
  }
  if (field === "attributes") {
    const attributes = { ...(left as object) } as Record<string, unknown>;
    for (const [name, value] of Object.entries(right as object)) {
      if (Object.hasOwn(attributes, name) && attributes[name] !== value) return undefined;
      attributes[name] = value;
    }
    return attributes;
  }
  if (field === "errorText") return [...(left as string[]), ...(right as string[])];
  if (field.endsWith("After")) return Math.max(left as number, right as number);
  if (field.endsWith("Before") || field === "waitingSince") return Math.min(left as number, right as number);
  return left === right ? left : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

const FIELD = /^([A-Za-z][\w.-]*)([:=<>])/;

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const rest = text.slice(at);
    const space = /^\s+/.exec(rest);
    if (space) at += space[0].length;
    else {
      const { token, length } = tokenAt(rest, at);
      tokens.push(token);
      at += length;
    }
  }
  return tokens;
}

function tokenAt(rest: string, at: number): { readonly token: Token; readonly length: number } {
  const first = rest[0] as string;
  if (first === "(" || first === ")") return { token: { kind: first, at }, length: 1 };
  const word = /^(AND|OR)(?=[\s()]|$)/.exec(rest);
  if (word) return { token: { kind: word[1] === "AND" ? "and" : "or", at }, length: word[0].length };
  const head = FIELD.exec(rest);
  const begin = head?.[0].length ?? 0;
  const { value, length } = valueAt(rest.slice(begin), at + begin);
  const named = head ? { field: head[1] as string, sign: head[2] as ":" } : {};
  return { token: { kind: "clause", at, ...named, value }, length: begin + length };
}

/** Up to a space or a parenthesis; in quotes, anything, with `\"` for a quote. */
function valueAt(rest: string, at: number): { readonly value: string; readonly length: number } {
  if (rest[0] !== '"') {
    const value = /^[^\s()]*/.exec(rest)?.[0] ?? "";
    return { value, length: value.length };
  }
  const quoted = /^"((?:[^"\\]|\\.)*)"/.exec(rest);
  if (!quoted) throw new FilterError('The closing " is missing.', at);
  return { value: (quoted[1] as string).replace(/\\(.)/g, "$1"), length: quoted[0].length };
}
