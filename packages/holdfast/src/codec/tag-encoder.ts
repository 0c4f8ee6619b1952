import { Buffer } from "node:buffer";
import { types } from "node:util";
import { HoldfastError, isHoldfastError } from "../errors/holdfast-error.ts";
import { formatPath, type PathSegment } from "../model/value-path.ts";
import { DEPTH_MAX, isBinaryViewName, TAG_KEY, type Tagged, type WireError } from "./tag.ts";

const ERROR_FIELDS: ReadonlySet<string> = new Set(["name", "message", "stack", "cause"]);
const SIMPLE_NAME = /^[\w$.[\]]+$/;
// A path of 500 segments is unreadable; its two ends are enough.
const PATH_HEAD = 12;
const PATH_TAIL = 4;

// Objects whose content is not in their properties. Without this list they would silently be stored as {}.
const OPAQUE: ReadonlyMap<string, string> = new Map([
  ["Promise", "is a promise (is an await missing?)"],
  ["Generator", "is a generator"],
  ["AsyncGenerator", "is an async generator"],
  ["Context", "is the ctx of a workflow"],
  ["URLSearchParams", "is a URLSearchParams (store its toString())"],
  ["Response", "is a fetch Response (store the result of .json() or .text())"],
  ...[
    "Request",
    "Headers",
    "FormData",
    "Blob",
    "ReadableStream",
    "WritableStream",
    "DataView",
    "SharedArrayBuffer",
  ].map((name) => [name, `is a ${name}`] as const),
  ...["WeakMap", "WeakSet", "WeakRef"].map((name) => [name, `is a ${name}, which cannot be listed`] as const),
]);

/**
 * Turns any value into one that JSON can hold, or reports which part of it cannot be stored. `where` is the name of the
 * value in the message. With `binary: "bytes"`, binary data stays bytes, which JSON could not hold.
 */
export function encodeTags(value: unknown, where: string, binary: BinaryForm = "base64"): unknown {
  const encoder = new TagEncoder(where, binary);
  try {
    return encoder.encode(value);
  } catch (error) {
    if (isHoldfastError(error, "unserializable_value")) throw error;
    // The user's getter, proxy or toJSON threw.
    const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    throw encoder.refusal(`cannot be read: it throws ${what}`, error);
  }
}

/** What becomes of binary data. */
export type BinaryForm = "base64" | "bytes";

type ToJson = (this: object, key: string) => unknown;

class TagEncoder {
  readonly #where: string;
  readonly #binary: BinaryForm;
  readonly #path: PathSegment[] = [];
  /** The containers that enclose the current value, with the length of the path to each. */
  readonly #ancestors = new Map<object, number>();
  /** How many errors enclose the current value. The code that stores an error did not choose what is in it. */
  #errors = 0;

  constructor(where: string, binary: BinaryForm) {
    this.#where = where;
    this.#binary = binary;
  }

  encode(value: unknown): unknown {
    switch (typeof value) {
      case "string":
      case "boolean":
        return value;
      case "number":
        return Number.isFinite(value) && !Object.is(value, -0) ? value : tagged("Number", numberText(value));
      case "bigint":
        return tagged("BigInt", String(value));
      case "undefined":
        return { [TAG_KEY]: "undefined" };
      case "function":
        throw this.refusal("is a function");
      case "symbol":
        throw this.refusal("is a symbol");
      case "object":
        return value === null ? null : this.#enclosed(value);
    }
  }

  /** Call it only while the path still points at the culprit: the path is not shortened when an error passes. */
  refusal(what: string, cause?: unknown): HoldfastError {
    const path = formatPath(this.#path);
    return new HoldfastError("unserializable_value", `${this.#location()} ${what}: it cannot be stored`, {
      data: { where: this.#where, path },
      cause,
    });
  }

  #location(): string {
    const { length } = this.#path;
    if (length === 0) return this.#where;
    const isLong = length > PATH_HEAD + PATH_TAIL;
    const path = isLong
      ? `${formatPath(this.#path.slice(0, PATH_HEAD))} … ${formatPath(this.#path.slice(-PATH_TAIL))}`
      : formatPath(this.#path);
    if (!SIMPLE_NAME.test(this.#where)) return `${path} in ${this.#where}`;
    return `${this.#where}${/^[[.]/.test(path) ? "" : "."}${path}`;
  }

  #enclosed(value: object): unknown {
    const earlier = this.#ancestors.get(value);
    if (earlier !== undefined) {
      const target = formatPath(this.#path.slice(0, earlier)) || "the whole value";
      throw this.refusal(`is a cycle: it leads back to ${target}`);
    }
    if (this.#ancestors.size >= DEPTH_MAX) throw this.refusal(`is nested more than ${DEPTH_MAX} levels deep`);
    this.#ancestors.set(value, this.#path.length);
    const encoded = this.#container(value);
    this.#ancestors.delete(value);
    return encoded;
  }

  #container(value: object): unknown {
    const isList = Array.isArray(value);
    if (isList && Object.getPrototypeOf(value) === Array.prototype) return this.#list(value);
    const isPlain = !isList && hasPlainPrototype(value);
    const extended = isPlain || this.#errors > 0 ? undefined : extendedBuiltIn(value);
    if (extended !== undefined) return this.#extension(value, extended);
    if (isList) return this.#list(value);
    const special = isPlain ? undefined : this.#special(value);
    if (special !== undefined) return special;
    const toJson: unknown = (value as { toJSON?: unknown }).toJSON;
    if (typeof toJson !== "function") {
      if (!isPlain && this.#errors === 0) throw this.refusal(whatInstance(value));
      return this.#fields(value);
    }
    return this.#standIn(value, toJson as ToJson);
  }

  /** An instance of a class that extends a built-in one: it would come back as a plain one. */
  #extension(value: object, builtIn: object): unknown {
    const toJson: unknown = (value as { toJSON?: unknown }).toJSON;
    const isOwn = typeof toJson === "function" && toJson !== (builtIn as { toJSON?: unknown }).toJSON;
    if (isOwn) return this.#standIn(value, toJson as ToJson);
    throw this.refusal(whatInstance(value, nameOf(builtIn)));
  }

  #standIn(value: object, toJson: ToJson): unknown {
    const stands = toJson.call(value, this.#lastKey());
    // As in JSON.stringify, toJSON is not called on the result of toJSON.
    if (typeof stands !== "object" || stands === null) return this.encode(stands);
    if (Array.isArray(stands)) return this.#list(stands);
    return this.#special(stands) ?? this.#fields(stands);
  }

  #special(value: object): unknown {
    const tag = Object.prototype.toString.call(value).slice(8, -1);
    if (isError(value, tag)) return tagged("Error", this.#error(value));
    if (isMap(value, tag)) return tagged("Map", this.#mapEntries(value));
    if (isSet(value, tag)) return tagged("Set", this.#setValues(value));
    const leaf = leafOf(value, tag, this.#binary);
    if (leaf !== undefined) return leaf;
    const opaque = OPAQUE.get(tag);
    // A user's class may have any of these names; then it has fields.
    if (opaque !== undefined && Object.keys(value).length === 0) throw this.refusal(opaque);
    if (tag.endsWith("Iterator") && Object.keys(value).length === 0)
      throw this.refusal("is an iterator (store its values in an array)");
    return undefined;
  }

  #list(values: readonly unknown[]): unknown[] {
    // By index: a hole becomes undefined; forEach and map would skip it.
    const encoded = new Array<unknown>(values.length);
    for (let index = 0; index < values.length; index++) encoded[index] = this.#at(index, values[index]);
    return encoded;
  }

  #fields(value: object): unknown {
    const keys = Object.keys(value);
    if (keys.length === 0 && types.isProxy(value)) throw this.refusal("is a proxy that shows no fields");
    const read = (key: string): unknown => {
      this.#path.push(key);
      const encoded = this.encode((value as Record<string, unknown>)[key]);
      this.#path.pop();
      return encoded;
    };
    // A user's own "$hf" key must not be read back as a tag.
    if (keys.includes(TAG_KEY))
      return tagged(
        "Object",
        keys.map((key) => [key, read(key)]),
      );
    const fields: Record<string, unknown> = {};
    for (const key of keys) {
      if (key === "__proto__") Object.defineProperty(fields, key, { value: read(key), enumerable: true });
      else fields[key] = read(key);
    }
    return fields;
  }

  #mapEntries(map: Map<unknown, unknown>): unknown[] {
    return [...map].map(([key, value], index) => {
      const text = typeof key === "string" ? `.get(${JSON.stringify(key)})` : `.values()[${index}]`;
      return [this.#at({ text: `.keys()[${index}]` }, key), this.#at({ text }, value)];
    });
  }

  #setValues(set: Set<unknown>): unknown[] {
    return [...set].map((value, index) => this.#at({ text: `.values()[${index}]` }, value));
  }

  #error(error: Error): WireError {
    this.#errors += 1;
    const own: Record<string, unknown> = {};
    for (const key of Object.keys(error)) if (!ERROR_FIELDS.has(key)) this.#offer(own, key, error);
    const parts: Record<string, unknown> = {};
    if (Object.hasOwn(error, "cause")) this.#offer(parts, "cause", error);
    // The members of an AggregateError are not enumerable; in other errors, a field of that name is an ordinary one.
    if (Object.hasOwn(error, "errors") && !Object.hasOwn(own, "errors")) this.#offer(parts, "errors", error);
    this.#errors -= 1;
    return {
      name: String(error.name),
      message: String(error.message),
      ...(typeof error.stack === "string" ? { stack: error.stack } : {}),
      ...parts,
      ...(Object.keys(own).length > 0 ? { own } : {}),
      ...(isHoldfastError(error) ? { holdfast: true } : {}),
    };
  }

  /**
   * Errors of libraries carry sockets, requests and functions that the code storing the error did not choose. What
   * cannot be stored is left out, so that a run that only returns an error does not fail.
   */
  #offer(target: Record<string, unknown>, key: string, source: object): void {
    const pathLength = this.#path.length;
    const depth = this.#ancestors.size;
    const errors = this.#errors;
    try {
      const value = this.#at(key, (source as unknown as Record<string, unknown>)[key]);
      Object.defineProperty(target, key, { value, enumerable: true });
    } catch {
      this.#path.length = pathLength;
      this.#errors = errors;
      for (const inner of [...this.#ancestors.keys()].slice(depth)) this.#ancestors.delete(inner);
    }
  }

  #at(segment: PathSegment, value: unknown): unknown {
    this.#path.push(segment);
    const encoded = this.encode(value);
    this.#path.pop();
    return encoded;
  }

  #lastKey(): string {
    const last = this.#path.at(-1);
    return typeof last === "string" || typeof last === "number" ? String(last) : "";
  }
}

/** An object literal of any realm (a test runner's sandbox has its own), or an object without a prototype. */
function hasPlainPrototype(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return true;
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, "isPrototypeOf");
}

/**
 * The prototype of the array, Map, Set, Date, RegExp or URL that the value's class extends; undefined if it extends none. The
 * prototypes of built-in classes, of any realm, inherit from Object.prototype alone.
 */
function extendedBuiltIn(value: object): object | undefined {
  const { isMap, isSet, isDate, isRegExp } = types;
  const isBuiltIn =
    Array.isArray(value) || isMap(value) || isSet(value) || isDate(value) || isRegExp(value) || value instanceof URL;
  if (!isBuiltIn) return undefined;
  const first = prototypeOf(value);
  let builtIn = first;
  for (let next = builtIn && prototypeOf(builtIn); next && prototypeOf(next); next = prototypeOf(next)) builtIn = next;
  return builtIn === null || builtIn === first ? undefined : builtIn;
}

function prototypeOf(value: object): object | null {
  return Object.getPrototypeOf(value) as object | null;
}

/**
 * Why an instance is refused: it would be stored as {} or lose its methods, and the loss would show only much later.
 */
function whatInstance(value: object, builtIn?: string): string {
  if (typeof (value as { then?: unknown }).then === "function") return "is a promise (is an await missing?)";
  const name = nameOf(value);
  const plain = builtIn === undefined ? "object, such as { ...value }" : builtIn;
  const advice = `(store a plain ${plain}, or give the class a toJSON)`;
  if (name === "Object") return `inherits from another object ${advice}`;
  return `is an instance of ${name === "" ? "a class" : `class ${name}`}, and would come back without its methods ${advice}`;
}

function nameOf(value: object): string {
  const maker: unknown = (value as { constructor?: unknown }).constructor;
  return typeof maker === "function" ? maker.name : "";
}

/** Objects without parts. `tag` can be forged; the methods of the prototype then throw. */
function leafOf(value: object, tag: string, binary: BinaryForm): unknown {
  try {
    if (ArrayBuffer.isView(value)) return isBinaryViewName(tag) ? tagged(tag, binaryOf(value, binary)) : undefined;
    switch (tag) {
      case "Date":
        return tagged("Date", dateText(Date.prototype.getTime.call(value)));
      case "RegExp":
        return typeof (value as RegExp).source === "string"
          ? tagged("RegExp", [(value as RegExp).source, (value as RegExp).flags])
          : undefined;
      case "URL":
        return typeof (value as URL).href === "string" ? tagged("URL", (value as URL).href) : undefined;
      case "ArrayBuffer":
        return tagged("ArrayBuffer", binaryOf(new Uint8Array(ArrayBuffer.prototype.slice.call(value, 0)), binary));
      case "Number":
      case "String":
      case "Boolean":
        return unboxed(value, tag);
      default:
        return undefined;
    }
  } catch {
    return undefined;
  }
}

/** `new Number(5)` is stored as 5, as in JSON.stringify. */
function unboxed(value: object, tag: "Number" | "String" | "Boolean"): unknown {
  if (tag === "String") return String.prototype.valueOf.call(value);
  if (tag === "Boolean") return Boolean.prototype.valueOf.call(value);
  return new TagEncoder("number", "base64").encode(Number.prototype.valueOf.call(value));
}

// Not by `instanceof` alone: it fails for values from another realm, such as a test runner's sandbox.
function isError(value: object, tag: string): value is Error {
  return value instanceof Error || (tag === "Error" && typeof (value as Error).message === "string");
}

function isMap(value: object, tag: string): value is Map<unknown, unknown> {
  return value instanceof Map || (tag === "Map" && succeeds(() => Map.prototype.has.call(value, 0)));
}

function isSet(value: object, tag: string): value is Set<unknown> {
  return value instanceof Set || (tag === "Set" && succeeds(() => Set.prototype.has.call(value, 0)));
}

function succeeds(probe: () => unknown): boolean {
  try {
    probe();
    return true;
  } catch {
    return false;
  }
}

function tagged(tag: string, v: unknown): Tagged {
  return { [TAG_KEY]: tag, v };
}

function numberText(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

function dateText(ms: number): string | null {
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

function binaryOf(view: ArrayBufferView, form: BinaryForm): string | Uint8Array {
  const bytes = Buffer.from(view.buffer, view.byteOffset, view.byteLength);
  return form === "bytes" ? bytes : bytes.toString("base64");
}
