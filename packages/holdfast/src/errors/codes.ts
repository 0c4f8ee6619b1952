import { ACCESS_CODES } from "./access-codes.ts";
import { CONVERSATION_CODES } from "./conversation-codes.ts";
import { INPUT_CODES } from "./input-codes.ts";
import { RUN_CODES } from "./run-codes.ts";
import { SYSTEM_CODES } from "./system-codes.ts";
import { TASK_CODES } from "./task-codes.ts";

/**
 * Every code that a HoldfastError can have. Codes are part of the public API and of stored histories: they may be
 * added, never renamed. docs/errors.md prints this registry; a test keeps the two in step.
 */
export const ERROR_CODES = {
  ...INPUT_CODES,
  ...RUN_CODES,
  ...TASK_CODES,
  ...SYSTEM_CODES,
  ...CONVERSATION_CODES,
  ...ACCESS_CODES,
} as const;

/** A code defined by Holdfast. */
export type ErrorCode = keyof typeof ERROR_CODES;

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(ERROR_CODES, value);
}
