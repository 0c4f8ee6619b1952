/**
 * Values that were just written, by their bytes: the result of a step is written for the store and read for the code that waits for
 * it, within milliseconds. A flat object is all the same as what its text would be read as, so a copy that was made when it was
 * written saves reading it.
 */
import { types } from "node:util";
import type { Payload } from "../model/payload.ts";
import { TAG_KEY } from "./tag.ts";

/** Values that begin in the same stretch of this many bytes are not told apart: the later one is known. */
const STRETCH_BYTES = 8;
const NO_BYTES: Payload = new Uint8Array(0);

/** The values whose bytes lie in one buffer. Each is handed out once, because whoever gets it may change it. */
export class RecentValues {
  readonly #bytes: Payload[];
  readonly #values: (object | undefined)[];

  constructor(bufferBytes: number) {
    const stretches = Math.ceil(bufferBytes / STRETCH_BYTES);
    this.#bytes = new Array(stretches).fill(NO_BYTES);
    this.#values = new Array(stretches).fill(undefined);
  }

  put(bytes: Payload, value: object): void {
    const place = Math.floor(bytes.byteOffset / STRETCH_BYTES);
    this.#bytes[place] = bytes;
    this.#values[place] = value;
  }

  take(bytes: Payload): object | undefined {
    const place = Math.floor(bytes.byteOffset / STRETCH_BYTES);
    if (this.#bytes[place] !== bytes) return undefined;
    const value = this.#values[place];
    this.#bytes[place] = NO_BYTES;
    this.#values[place] = undefined;
    return value;
  }

  clear(): void {
    this.#bytes.fill(NO_BYTES);
    this.#values.fill(undefined);
  }
}

/** A copy of an object of which JSON keeps all that it has, and that has no objects in it; undefined for anything else. */
export function flatCopy(value: unknown): object | undefined {
  try {
    return isSimple(value) ? copyOf(value) : undefined;
  } catch {
    return undefined; // a getter that throws; who writes the value reports where
  }
}

/** Whether it can have own fields only. */
function isSimple(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || (value as { toJSON?: unknown }).toJSON !== undefined) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  // A program may have added fields to all objects.
  for (const _ in NOTHING) return false;
  return true;
}

const NOTHING = {};

function copyOf(value: Readonly<Record<string, unknown>>): object | undefined {
  const copy: Record<string, unknown> = {};
  let empty = true;
  for (const key in value) {
    const field = value[key];
    // To set a field of that name is to set the prototype.
    if (key === TAG_KEY || key === "__proto__" || !isPrimitive(field)) return undefined;
    copy[key] = field;
    empty = false;
  }
  // A proxy may answer to every name and list none.
  return empty && types.isProxy(value) ? undefined : copy;
}

/** Whether JSON reads it as what it was. */
export function isPrimitive(value: unknown): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0);
    default:
      return value === null;
  }
}
