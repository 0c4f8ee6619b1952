/** What a person or a program is told when something goes wrong, and the exit code that goes with it. */
import type { ErrorJson } from "holdfast";
import { EXIT, type ExitCode } from "./exit-code.ts";

/** An error of the command itself. Its code is not in the registry of the core, because nothing of it is ever stored. */
export class CommandError extends Error {
  readonly code: string;
  readonly kind: string;
  readonly exitCode: ExitCode;
  readonly data: Readonly<Record<string, unknown>>;

  constructor(
    message: string,
    about: {
      readonly code: string;
      readonly exitCode: ExitCode;
      readonly kind?: string;
      readonly data?: Readonly<Record<string, unknown>>;
      readonly cause?: unknown;
    },
  ) {
    super(message, about.cause === undefined ? undefined : { cause: about.cause });
    this.code = about.code;
    this.kind = about.kind ?? "BadRequest";
    this.exitCode = about.exitCode;
    this.data = about.data ?? {};
  }
}

/** The command line is wrong: nothing was done. */
export class UsageError extends CommandError {
  constructor(message: string, data?: Readonly<Record<string, unknown>>) {
    super(message, { code: "usage", exitCode: EXIT.usage, ...(data === undefined ? {} : { data }) });
  }
}

/** A file or folder that cannot be read or written: what the system says, without a stack. */
export class FileFailed extends CommandError {
  constructor(file: string, verb: "read" | "written", cause: unknown, advice = "") {
    const { code = "", message } = cause as NodeJS.ErrnoException;
    const reason = REASONS[code] ?? message;
    const missing = code === "ENOENT" && verb === "read";
    super(`${file} cannot be ${verb}: ${reason}.${advice === "" ? "" : ` ${advice}`}`, {
      code: "file_failed",
      exitCode: missing ? EXIT.notFound : EXIT.usage,
      data: { file },
      cause,
    });
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "you have no permission",
  EPERM: "you have no permission",
  EROFS: "the file system is read-only",
  ENOENT: "there is no such file or folder",
  ENOTDIR: "a part of its path is a file, not a folder",
  EISDIR: "it is a folder, not a file",
  ENOSPC: "the disk is full",
  EDQUOT: "your quota is used up",
};

/** Ctrl-C in the middle of something that nobody else goes on with. */
export class Interrupted extends CommandError {
  constructor() {
    super("Interrupted.", { code: "interrupted", exitCode: EXIT.interrupted, kind: "Unknown" });
  }
}

/** An error as programs see it: `{ code, kind, message, data }`. */
export interface Failure {
  readonly code: string;
  readonly kind: string;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly exitCode: ExitCode;
}

/** By what the caller does next, as the registry of error codes says. */
const BY_ACTION: Readonly<Record<string, ExitCode>> = {
  fix_input: EXIT.usage,
  not_found: EXIT.notFound,
  unavailable: EXIT.unreachable,
  retry_later: EXIT.unreachable,
  lost_lease: EXIT.conflict,
  conflict: EXIT.conflict,
};

const BY_CODE: Readonly<Record<string, ExitCode>> = {
  replay_divergence: EXIT.divergence,
  result_timeout: EXIT.timeout,
  update_timeout: EXIT.timeout,
  query_timeout: EXIT.timeout,
  run_not_begun: EXIT.timeout,
  handler_not_found: EXIT.notFound,
  update_rejected: EXIT.conflict,
  fork_refused: EXIT.conflict,
  workflow_mismatch: EXIT.conflict,
  queue_full: EXIT.conflict,
  run_still_needed: EXIT.conflict,
  too_many_signals: EXIT.conflict,
  run_moved: EXIT.conflict,
};

interface Registry {
  readonly [code: string]: { readonly caller: string } | undefined;
}

export function failureOf(error: unknown, registry: Registry): Failure {
  if (error instanceof CommandError) {
    const { code, kind, message, data, exitCode } = error;
    return { code, kind, message, data, exitCode };
  }
  const { code, kind, data, message } = (error ?? {}) as Partial<ErrorJson>;
  // A code that is not in the registry comes from a newer server or adapter: it is still more than nothing.
  if (error instanceof Error && typeof code === "string" && typeof kind === "string") {
    return { code, kind, message: error.message, data: data ?? {}, exitCode: exitCodeOf(code, kind, data, registry) };
  }
  const text = error instanceof Error ? error.message : String(message ?? error);
  return { code: "unknown", kind: "Unknown", message: text, data: {}, exitCode: EXIT.failed };
}

function exitCodeOf(code: string, kind: string, data: ErrorJson["data"], registry: Registry): ExitCode {
  if (kind === "Unauthorized") return EXIT.notAllowed;
  // The tables are older than this program: `migrate` is what helps.
  if (code === "store_refused" && data?.["needed"] !== undefined) return EXIT.conflict;
  return BY_CODE[code] ?? BY_ACTION[registry[code]?.caller ?? ""] ?? EXIT.failed;
}
