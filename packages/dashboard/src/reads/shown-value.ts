/** Values as a visitor may see them. Redaction happens here, before anything leaves the process. */
import type { Codec, ErrorRecord } from "holdfast/adapter";
import type { PayloadRight } from "../api/api-messages.ts";
import type { ErrorShown, ShownValue } from "../api/run-messages.ts";
import { plainText } from "./plain-json.ts";
import { StoredValue } from "./stored-value.ts";

export const PREVIEW_CHARACTERS = 200;
export const BRIEF_CHARACTERS = 4 * 1024;
export const SHOWN_CHARACTERS = 64 * 1024;
/** The first byte of a value that `encrypted(keys)` has written. */
const ENCRYPTED_MARK = 3;
const MASK = "[redacted]";

/** Where a value stands, for `redact`. */
export interface ValuePlace {
  readonly namespace: string;
  readonly workflow: string;
  /** The op, or `input`, `output`, `signal`, … */
  readonly what: string;
}

export type Redact = (value: unknown, place: ValuePlace) => unknown;

export class ShownValues {
  readonly #codec: Codec;
  readonly #right: PayloadRight;
  readonly #redact: Redact | undefined;
  readonly #decodable: boolean;

  /** `decodable`: there is a service that decodes encrypted values in the browser, so it gets their bytes. */
  constructor(codec: Codec, right: PayloadRight, redact: Redact | undefined, decodable: boolean) {
    this.#codec = codec;
    this.#right = right;
    this.#redact = redact;
    this.#decodable = decodable;
  }

  get right(): PayloadRight {
    return this.#right;
  }

  /** At most so many characters; on one line if there are few. */
  show(value: unknown, place: ValuePlace, limit: number): ShownValue {
    const bytes = value instanceof StoredValue ? value.bytes.length : 0;
    const empty = { text: "", truncated: false, bytes };
    if (value === undefined || value === null) return { form: "none", ...empty };
    if (this.#right === "hidden") return { form: "hidden", ...empty };
    if (value instanceof StoredValue && value.bytes[0] === ENCRYPTED_MARK) {
      const read = this.#decoded(value);
      if ("failed" in read) return this.#encrypted(value, limit);
    }
    const read = value instanceof StoredValue ? this.#decoded(value) : { value };
    if ("failed" in read) return { form: "unreadable", ...empty };
    const masked = this.#masked(read.value, place);
    const text = plainText(masked, limit > PREVIEW_CHARACTERS ? 2 : 0);
    const form = this.#right === "redacted" ? "redacted" : "json";
    return { form, text: cut(text, limit), truncated: text.length > limit, bytes: bytes || Buffer.byteLength(text) };
  }

  /** All of it, for a download. */
  whole(value: unknown, place: ValuePlace): string {
    return this.show(value, place, Number.POSITIVE_INFINITY).text;
  }

  error(error: ErrorRecord & { readonly at?: Date | number }): ErrorShown {
    const { at, data, cause, message, stack, ...rest } = error;
    return {
      ...rest,
      message: this.errorText(message),
      // It begins with what the error says.
      ...(stack === undefined ? {} : { stack: this.errorText(stack) }),
      ...(at === undefined ? {} : { at: Number(at) }),
      ...(data === undefined || this.#right !== "full" ? {} : { data }),
      ...(cause === undefined ? {} : { cause: this.error(cause) }),
    };
  }

  /** What an error says. */
  errorText(message: string): string {
    return this.#right === "redacted" && this.#redact ? this.#redactedText(message) : message;
  }

  #redactedText(message: string): string {
    const masked = this.#masked(message, { namespace: "", workflow: "", what: "error" });
    return typeof masked === "string" ? masked : MASK;
  }

  #encrypted({ bytes }: StoredValue, limit: number): ShownValue {
    const shown = this.#decodable && this.#right === "full" && bytes.length * 1.4 < Math.max(limit, SHOWN_CHARACTERS);
    const text = shown && limit > PREVIEW_CHARACTERS ? Buffer.from(bytes).toString("base64") : "";
    return { form: "encrypted", text, truncated: false, bytes: bytes.length };
  }

  #decoded({ bytes }: StoredValue): { readonly value: unknown } | { readonly failed: true } {
    try {
      return { value: this.#codec.decode(bytes) };
    } catch {
      return { failed: true };
    }
  }

  #masked(value: unknown, place: ValuePlace): unknown {
    if (this.#right !== "redacted") return value;
    if (!this.#redact) return masked(value, 0);
    try {
      return this.#redact(value, place);
    } catch {
      return MASK; // rather nothing than too much
    }
  }
}

/** The shape stays, and so do the keys. */
function masked(value: unknown, depth: number): unknown {
  if (value === null || value === undefined || typeof value === "boolean") return value;
  if (depth > 50 || typeof value !== "object") return MASK;
  if (Array.isArray(value)) return value.map((one) => masked(one, depth + 1));
  if (Object.getPrototypeOf(value) !== Object.prototype && Object.getPrototypeOf(value) !== null) return MASK;
  const made = Object.create(null) as object;
  for (const [key, one] of Object.entries(value))
    Object.defineProperty(made, key, { value: masked(one, depth + 1), enumerable: true });
  return made;
}

/** Never half of a pair. */
function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? limit - 1 : limit);
}
