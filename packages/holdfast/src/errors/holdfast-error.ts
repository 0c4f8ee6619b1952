import type { ErrorKind } from "../model/error-kind.ts";
import { ERROR_CODES, type ErrorCode } from "./codes.ts";
import { isInstance } from "./safe-read.ts";

// From the global symbol registry, so that errors made by another copy of this package carry the same mark:
// `instanceof` fails between two copies, and names may be minified or shared.
const BRAND = Symbol.for("holdfast.error");
const JSON_CAUSE_DEPTH_MAX = 5;

/** Options of errors that your own code throws. */
export interface HoldfastErrorOptions {
  /**
   * Overrides the kind that belongs to the code.
   * @defaultValue the kind of the code
   */
  readonly kind?: ErrorKind;
  /**
   * Machine-readable details: ids, limits, paths.
   * @defaultValue `{}`
   */
  readonly data?: Readonly<Record<string, unknown>>;
  /**
   * The error that caused this one.
   * @defaultValue none
   */
  readonly cause?: unknown;
}

/** What `JSON.stringify` and structured loggers see. No stack, because this may reach the caller of an API. */
export interface ErrorJson {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly kind?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly cause?: ErrorJson;
}

/** The base class of every error that Holdfast throws. Tell errors apart by `code`. */
export class HoldfastError extends Error {
  static {
    // On the prototype, not on each instance, so that an inspected error does not list its name as data.
    nameOf(this.prototype, "HoldfastError");
    Object.defineProperty(this.prototype, BRAND, { value: true });
  }

  /** Which error this is: one of the codes in docs/errors.md. */
  readonly code: ErrorCode;
  /** What retry rules use. */
  readonly kind: ErrorKind;
  /** Machine-readable details: ids, limits, paths. */
  readonly data: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: HoldfastErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.kind = options.kind ?? ERROR_CODES[code].kind;
    this.data = Object.freeze({ ...options.data });
  }

  /** Name, message, code, kind, data and causes, without the stack. */
  toJSON(): ErrorJson {
    return errorJson(this, 0);
  }
}

/** Recognizes Holdfast errors, including those of another copy of the package. */
export function isHoldfastError(error: unknown, code?: ErrorCode): error is HoldfastError {
  if (typeof error !== "object" || error === null) return false;
  try {
    const candidate = error as { [BRAND]?: unknown; code?: unknown };
    return (
      candidate[BRAND] === true && (code === undefined ? typeof candidate.code === "string" : candidate.code === code)
    );
  } catch {
    return false; // a proxy or getter that throws is not a Holdfast error
  }
}

/** Sets the `name` of an error class or object as built-in errors do: not enumerable. */
export function nameOf(target: object, name: string): void {
  Object.defineProperty(target, "name", { value: name, configurable: true, writable: true });
}

function errorJson(error: Error, depth: number): ErrorJson {
  const ours = isHoldfastError(error) ? { code: error.code, kind: error.kind, data: error.data } : {};
  const cause = depth < JSON_CAUSE_DEPTH_MAX && isInstance(error.cause, Error) ? error.cause : undefined;
  return {
    name: error.name,
    message: error.message,
    ...ours,
    ...(cause === undefined ? {} : { cause: errorJson(cause, depth + 1) }),
  };
}
