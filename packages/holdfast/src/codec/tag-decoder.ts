import { Buffer } from "node:buffer";
import { isErrorCode } from "../errors/codes.ts";
import { HoldfastError, type HoldfastErrorOptions, nameOf } from "../errors/holdfast-error.ts";
import { isErrorKind } from "../model/error-kind.ts";
import { BINARY_VIEWS, DEPTH_MAX, isBinaryViewName, TAG_KEY, type WireError } from "./tag.ts";

// Each tag adds up to three JSON levels to one level of the value.
const JSON_DEPTH_MAX = DEPTH_MAX * 4;

const ERROR_CLASSES: ReadonlyMap<string, new (message?: string) => Error> = new Map(
  [Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError].map((type) => [type.name, type]),
);

/** Replaces the tags in a parsed value, in place. Binary data is text in base64, or bytes. */
export function decodeTags(parsed: unknown): unknown {
  return revive(parsed, 0);
}

function revive(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth > JSON_DEPTH_MAX) throw unreadable("it is nested too deeply");
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) value[index] = revive(value[index], depth + 1);
    return value;
  }
  const fields = value as Record<string, unknown>;
  if (Object.hasOwn(fields, TAG_KEY)) return untag(fields[TAG_KEY], fields["v"], depth);
  // JSON.parse makes "__proto__" an own property, so assigning to it does not change a prototype.
  for (const key of Object.keys(fields)) fields[key] = revive(fields[key], depth + 1);
  return fields;
}

function untag(tag: unknown, v: unknown, depth: number): unknown {
  switch (tag) {
    case "undefined":
      return undefined;
    case "Number":
      return Number(textOf(tag, v));
    case "BigInt":
      return BigInt(textOf(tag, v));
    case "Date":
      return new Date(v === null ? Number.NaN : textOf(tag, v));
    case "URL":
      return new URL(textOf(tag, v));
    case "RegExp":
      return regExpOf(v);
    case "Map":
      return new Map(pairsOf(tag, revive(v, depth + 1)));
    case "Set":
      return new Set(listOf(tag, revive(v, depth + 1)));
    case "Object":
      // Object.fromEntries defines properties and does not assign them, so "__proto__" is safe.
      return Object.fromEntries(pairsOf(tag, revive(v, depth + 1)) as [string, unknown][]);
    case "Error":
      return errorOf(revive(v, depth + 1));
    default:
      return typeof tag === "string" ? binaryOf(tag, v) : fail(tag);
  }
}

function regExpOf(v: unknown): RegExp {
  const [source, flags] = listOf("RegExp", v);
  return new RegExp(textOf("RegExp", source), textOf("RegExp", flags));
}

function binaryOf(tag: string, v: unknown): unknown {
  if (tag !== "ArrayBuffer" && !isBinaryViewName(tag)) return fail(tag);
  // Copied out of Node's shared pool, or out of the payload: the result must own its memory.
  const { buffer } = new Uint8Array(v instanceof Uint8Array ? v : Buffer.from(textOf(tag, v), "base64"));
  return tag === "ArrayBuffer" ? buffer : new BINARY_VIEWS[tag](buffer);
}

function errorOf(v: unknown): Error {
  const wire = v as WireError | null;
  if (typeof wire?.name !== "string" || typeof wire.message !== "string") return fail("Error");
  const error = blankError(wire);
  if (error.name !== wire.name) nameOf(error, wire.name);
  define(error, "stack", wire.stack, false);
  if (Object.hasOwn(wire, "cause")) define(error, "cause", wire.cause, false);
  for (const [key, value] of Object.entries(wire.own ?? {})) define(error, key, value, true);
  return error;
}

function blankError(wire: WireError): Error {
  const code = wire.own?.["code"];
  if (wire.holdfast === true && isErrorCode(code)) return new HoldfastError(code, wire.message, holdfastOptions(wire));
  if (Array.isArray(wire.errors)) return new AggregateError(wire.errors, wire.message);
  return new (ERROR_CLASSES.get(wire.name) ?? Error)(wire.message);
}

function holdfastOptions(wire: WireError): HoldfastErrorOptions {
  const kind = wire.own?.["kind"];
  return isErrorKind(kind) ? { kind } : {};
}

function define(target: object, key: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(target, key, { value, enumerable, configurable: true, writable: true });
}

function textOf(tag: string, v: unknown): string {
  return typeof v === "string" ? v : fail(tag);
}

function listOf(tag: string, v: unknown): unknown[] {
  return Array.isArray(v) ? v : fail(tag);
}

function pairsOf(tag: string, v: unknown): [unknown, unknown][] {
  const pairs = listOf(tag, v);
  return pairs.every((pair) => Array.isArray(pair) && pair.length === 2) ? (pairs as [unknown, unknown][]) : fail(tag);
}

function fail(tag: unknown): never {
  throw unreadable(`its tag ${JSON.stringify(tag)} is unknown or has unexpected content`);
}

function unreadable(why: string): HoldfastError {
  return new HoldfastError("codec_failed", `A stored value cannot be read: ${why}`);
}
