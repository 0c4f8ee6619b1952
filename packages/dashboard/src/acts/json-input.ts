/** What people type: JSON, with the place of a mistake; and fields of a body, checked. */
import { refusal } from "../answers/refusal.ts";

/** The value of a text; undefined if it is empty. */
export function parsedValue(text: unknown, field: string): unknown {
  if (text === undefined || text === null) return undefined;
  if (typeof text !== "string") throw refusal(400, "bad_request", `${field} is JSON as text.`);
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    const place = /position (\d+)/.exec(String(error))?.[1];
    const position = place === undefined ? scanned(text) : Number(place);
    throw refusal(400, "bad_json", `${field} is not valid JSON: ${(error as Error).message}`, {
      data: { field, position },
    });
  }
}

/** The longest beginning that could still become JSON ends there. */
function scanned(text: string): number {
  const tokens = /\s*(?:[{}[\],:]|"(?:[^"\\\u0000-\u001f]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;
  let end = 0;
  while (tokens.exec(text)) end = tokens.lastIndex;
  const space = /^\s*/.exec(text.slice(end))?.[0].length ?? 0;
  return end + space;
}

export function record(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return body as Record<string, unknown>;
  throw refusal(400, "bad_request", "The body is not a JSON object.");
}

/** A field that nobody reads is a mistake: what it was meant to say would be lost. */
export function requireKnown(body: unknown, fields: readonly string[]): void {
  const unknown = Object.keys(record(body)).find((field) => !fields.includes(field));
  if (unknown === undefined) return;
  const known = fields.length === 0 ? "It takes none" : `Known are ${fields.join(", ")}`;
  throw refusal(400, "bad_request", `There is no field "${unknown.slice(0, 100)}". ${known}.`);
}

export function text(body: Readonly<Record<string, unknown>>, field: string): string {
  const value = body[field];
  if (typeof value === "string" && value !== "") return value;
  throw refusal(400, "bad_request", `${field} is missing.`);
}

export function optionalText(body: Readonly<Record<string, unknown>>, field: string): string | undefined {
  const value = body[field];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string") return value;
  throw refusal(400, "bad_request", `${field} is not text.`);
}

export function optionalNumber(body: Readonly<Record<string, unknown>>, field: string): number | undefined {
  const value = body[field];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw refusal(400, "bad_request", `${field} is not a number.`);
}

export function time(body: Readonly<Record<string, unknown>>, field: string): Date {
  const value = optionalNumber(body, field);
  if (value === undefined) throw refusal(400, "bad_request", `${field} is missing.`);
  return new Date(value);
}

/** Without what was left out: options that are `undefined` may mean something else than those that are missing. */
export function given<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}
