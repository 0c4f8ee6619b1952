import { type ErrorKind, isErrorKind } from "../model/error-kind.ts";
import type { ErrorRecord } from "../model/error-record.ts";
import { classifyError } from "./classify.ts";
import { isHoldfastError } from "./holdfast-error.ts";
import { isSecretKey, MASK, redactText } from "./redact.ts";
import { isOfOtherRun, RecordedError } from "./run-errors.ts";
import { isInstance, membersOf, readProperty, readText, UNREADABLE } from "./safe-read.ts";

const MESSAGE_BYTES_MAX = 8 * 1024;
const STACK_BYTES_MAX = 4 * 1024;
const NAME_BYTES_MAX = 200;
const DATA_TEXT_BYTES_MAX = 1024;
/** The total length of all texts in the data of one record, including its causes, in UTF-16 units. */
const DATA_LENGTH_MAX = 16 * 1024;
const CAUSE_DEPTH_MAX = 5;
const DATA_DEPTH_MAX = 4;
const DATA_ENTRIES_MAX = 200;
// Longer texts are cut before they are searched for credentials: one error must not cost seconds.
const SEARCHED_LENGTH_MAX = 64 * 1024;
const CUT_MARK = " … [cut]";
/** Replaces list entries that were left out, and values that are nested too deeply. */
const CUT_VALUE = CUT_MARK.trim();
/** Added to an object whose entries did not all fit: `"…": "[cut]"`. */
const CUT_KEY = "…";
const CUT_REST = "[cut]";

// Fields of an error that have a separate place in the record.
const OWN_FIELDS: ReadonlySet<string> = new Set(["name", "message", "stack", "cause", "code"]);

export interface ErrorRecordOptions {
  /** Used instead of classifying the error. */
  readonly kind?: ErrorKind;
  readonly attempts?: number;
  readonly op?: string;
  /**
   * Applied to every text after Holdfast's own masking. If it throws or returns no string, the whole text is masked.
   */
  readonly redact?: (text: string) => string;
}

/**
 * What history keeps of a thrown value. Credentials are masked, sizes are bounded, and every store can keep the text
 * (no NUL, no half surrogate pairs). Never throws.
 */
export function toErrorRecord(error: unknown, options: ErrorRecordOptions = {}): ErrorRecord {
  const { kind, attempts, op } = options;
  return {
    ...recordOf(error, new Recorder(options.redact), 0, kind),
    ...(attempts === undefined ? {} : { attempts }),
    ...(op === undefined ? {} : { op }),
  };
}

export function fromErrorRecord(record: ErrorRecord): RecordedError {
  return new RecordedError(record);
}

/** The state of making one record: the caller's redaction, and the rest of the budget for data. */
class Recorder {
  readonly #redact: ((text: string) => string) | undefined;
  #entriesLeft = DATA_ENTRIES_MAX;
  #dataLengthLeft = DATA_LENGTH_MAX;

  constructor(redact: ((text: string) => string) | undefined) {
    this.#redact = redact;
  }

  text(raw: string, bytesMax: number): string {
    return cut(storable(this.#mask(raw.slice(0, SEARCHED_LENGTH_MAX))), bytesMax, raw.length > SEARCHED_LENGTH_MAX);
  }

  dataText(raw: string): string {
    if (this.#dataLengthLeft <= 0) return CUT_VALUE;
    const text = this.text(raw, DATA_TEXT_BYTES_MAX);
    this.#dataLengthLeft -= text.length;
    return text;
  }

  takeEntry(): boolean {
    return this.#entriesLeft-- > 0;
  }

  #mask(text: string): string {
    const masked = redactText(text);
    if (this.#redact === undefined) return masked;
    // Text that could not be redacted is not kept.
    try {
      const cleaned: unknown = this.#redact(masked);
      if (typeof cleaned === "string") return cleaned;
      // An async function: its promise is not awaited, and its rejection must not end the process.
      void Promise.resolve(cleaned).catch(() => {});
    } catch {}
    return MASK;
  }
}

function recordOf(error: unknown, recorder: Recorder, depth: number, givenKind?: ErrorKind): ErrorRecord {
  try {
    const kind = givenKind ?? classifyError(error).kind;
    if (typeof error !== "object" || error === null) {
      return { name: "ThrownValue", message: recorder.text(describePrimitive(error), MESSAGE_BYTES_MAX), kind };
    }
    return recordOfObject(error, recorder, depth, kind);
  } catch {
    // A proxy can make even `instanceof` throw. The failure itself must still be recorded.
    return { name: "ThrownValue", message: UNREADABLE, kind: givenKind ?? "Unknown" };
  }
}

function recordOfObject(error: object, recorder: Recorder, depth: number, kind: ErrorKind): ErrorRecord {
  const recorded = isHoldfastError(error) && "recordedCode" in error;
  const code = readProperty(error, recorded ? "recordedCode" : "code");
  const rawName = readText(error, "name") ?? (isInstance(error, Error) ? "Error" : "ThrownValue");
  const rawMessage = readProperty(error, "message");
  const name = recorder.text(rawName, NAME_BYTES_MAX);
  const message = recorder.text(typeof rawMessage === "string" ? rawMessage : describeObject(error), MESSAGE_BYTES_MAX);
  const rawStack = readText(error, "stack");
  const attempts = recorded ? readProperty(error, "attempts") : undefined;
  const ofOther = isOfOtherRun(error);
  const op = recorded || ofOther ? readText(error, "op") : undefined;
  const task = recorded ? readText(error, "task") : undefined;
  const run = recorded ? readText(error, "run") : ofOther ? readText(error.data, "id") : undefined;
  const data = dataOf(error, recorder);
  const cause = readProperty(error, "cause");
  return {
    name,
    message,
    kind,
    ...(typeof code === "string" || typeof code === "number" ? { code: recorder.text(`${code}`, NAME_BYTES_MAX) } : {}),
    // A stack that only repeats the message belongs to an error that was restored without one.
    ...(rawStack === undefined || rawStack === `${rawName}: ${String(rawMessage)}`
      ? {}
      : { stack: recorder.text(rawStack, STACK_BYTES_MAX) }),
    ...(typeof attempts === "number" ? { attempts } : {}),
    ...(op === undefined ? {} : { op }),
    ...(task === undefined ? {} : { task }),
    ...(run === undefined ? {} : { run }),
    ...(data === undefined ? {} : { data }),
    ...(cause === undefined || cause === null || depth >= CAUSE_DEPTH_MAX
      ? {}
      : { cause: recordOf(cause, recorder, depth + 1) }),
  };
}

/** `data` of a HoldfastError; for any other error its own enumerable fields, and the members of an AggregateError. */
function dataOf(error: object, recorder: Recorder): Record<string, unknown> | undefined {
  const source = isHoldfastError(error) ? error.data : error;
  const members = membersOf(readProperty(error, "errors"));
  const data = plainEntries(fieldsOf(error, source, members), recorder, 1);
  return Object.keys(data).length === 0 ? undefined : data;
}

function* fieldsOf(error: object, source: object, members: readonly unknown[]): Iterable<readonly [string, unknown]> {
  if (members.length > 0) yield ["errors", members.map(memberSummary)];
  for (const key of ownKeys(source)) {
    if (key === "errors" && members.length > 0) continue;
    const value = readProperty(source, key);
    if (source === error && (OWN_FIELDS.has(key) || (key === "kind" && isErrorKind(value)))) continue;
    yield [key, value];
  }
}

function memberSummary(member: unknown): unknown {
  if (!isInstance(member, Error)) return member;
  return { name: readText(member, "name"), message: readText(member, "message"), kind: classifyError(member).kind };
}

/** All entries of an object get space before their contents do, so a long list does not push out its neighbors. */
function plainEntries(
  entries: Iterable<readonly [string, unknown]>,
  recorder: Recorder,
  depth: number,
): Record<string, unknown> {
  const kept: (readonly [string, unknown])[] = [];
  let complete = true;
  for (const entry of entries) {
    const [key, value] = entry;
    if (value === undefined || (!isData(value) && !isSecretKey(key))) continue;
    complete = recorder.takeEntry();
    if (!complete) break;
    kept.push(entry);
  }
  const plain: Record<string, unknown> = {};
  for (const [key, value] of kept) {
    const shown = isSecretKey(key) ? MASK : plainValue(value, recorder, depth);
    if (shown !== undefined) put(plain, recorder.text(key, NAME_BYTES_MAX), shown);
  }
  if (!complete) put(plain, CUT_KEY, CUT_REST);
  return plain;
}

function put(target: Record<string, unknown>, key: string, value: unknown): void {
  // An assignment to "__proto__" would change the object's prototype instead.
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

function isData(value: unknown): boolean {
  return typeof value !== "function" && typeof value !== "symbol";
}

/** The part of a value that is plain data; undefined for functions and class instances. */
function plainValue(value: unknown, recorder: Recorder, depth: number): unknown {
  if (typeof value === "string") return recorder.dataText(value);
  if (typeof value === "number") return Number.isFinite(value) ? value + 0 : String(value); // + 0: JSON has no -0
  if (typeof value === "boolean" || value === null) return value;
  if (typeof value === "bigint") return recorder.dataText(String(value));
  if (typeof value !== "object") return undefined;
  try {
    return plainObject(value, recorder, depth);
  } catch {
    return UNREADABLE; // keep the rest of the error
  }
}

function plainObject(value: object, recorder: Recorder, depth: number): unknown {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (value instanceof URL) return recorder.dataText(value.href);
  const isList = Array.isArray(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!isList && prototype !== Object.prototype && prototype !== null) return undefined;
  if (depth > DATA_DEPTH_MAX) return CUT_VALUE;
  if (isList) return plainList(value, recorder, depth);
  return plainEntries(entriesOf(value), recorder, depth + 1);
}

function* entriesOf(value: object): Iterable<readonly [string, unknown]> {
  for (const key of ownKeys(value)) yield [key, readProperty(value, key)];
}

function plainList(values: readonly unknown[], recorder: Recorder, depth: number): unknown[] {
  let room = 0;
  while (room < values.length && recorder.takeEntry()) room += 1;
  const plain: unknown[] = [];
  for (let i = 0; i < room; i++) plain.push(plainValue(values[i], recorder, depth + 1) ?? null);
  if (room < values.length) plain.push(CUT_VALUE);
  return plain;
}

function ownKeys(value: object): string[] {
  try {
    return Object.keys(value);
  } catch {
    return [];
  }
}

function describePrimitive(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "function") return "a function was thrown";
  return `${String(value)} was thrown`;
}

/** For thrown objects without a message. Their fields are in `data`; this only says what was thrown. */
function describeObject(value: object): string {
  const constructorName = readText(readProperty(value, "constructor"), "name");
  const what = Array.isArray(value) ? "an array" : `an object of class ${constructorName ?? "unknown"}`;
  return `${what} was thrown`;
}

/** PostgreSQL refuses NUL in text and jsonb, and UTF-8 cannot encode half a surrogate pair. */
function storable(text: string): string {
  return text.replace(/\u0000|\p{Surrogate}/gu, "\ufffd");
}

/** Cuts to a number of UTF-8 bytes, including the mark, never inside a character. */
function cut(text: string, bytesMax: number, alreadyCut: boolean): string {
  // Each UTF-16 unit takes at most three bytes.
  if (!alreadyCut && text.length * 3 <= bytesMax) return text;
  const bytes = new TextEncoder().encode(text);
  if (!alreadyCut && bytes.length <= bytesMax) return text;
  const room = new Uint8Array(bytesMax - new TextEncoder().encode(CUT_MARK).length);
  const { read } = new TextEncoder().encodeInto(text, room);
  return text.slice(0, read) + CUT_MARK;
}
