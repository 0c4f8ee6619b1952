/** The only file that knows what the driver's errors mean. */
import { statSync } from "node:fs";
import path from "node:path";
import { HoldfastError, isHoldfastError } from "holdfast/adapter";

/** SQLite's result codes, without the details in the higher bits. */
const SQLITE = {
  error: 1,
  perm: 3,
  busy: 5,
  locked: 6,
  noMemory: 7,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  schemaChanged: 17,
  tooBig: 18,
  constraint: 19,
  mismatch: 20,
  auth: 23,
  notADatabase: 26,
} as const;

const CODES_BY_TEXT: readonly (readonly [string, number])[] = [
  ["database is locked", SQLITE.busy],
  ["table is locked", SQLITE.locked],
  ["out of memory", SQLITE.noMemory],
  ["readonly database", SQLITE.readOnly],
  ["disk I/O error", SQLITE.ioError],
  ["disk image is malformed", SQLITE.corrupt],
  ["disk is full", SQLITE.full],
  ["unable to open database", SQLITE.cannotOpen],
  ["schema has changed", SQLITE.schemaChanged],
  ["not a database", SQLITE.notADatabase],
];

export interface ErrorPlace {
  /** The file, as an absolute path. */
  readonly file: string;
  /** A commit that fails with an I/O error may have reached the disk; everything before it is rolled back. */
  readonly moment: "open" | "call" | "commit";
}

/** Another connection holds the lock: the same statement may succeed later. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === SQLITE.busy || code === SQLITE.locked || code === SQLITE.schemaChanged;
}

export function stillBusy(file: string, waitedMs: number, cause: unknown): HoldfastError {
  const seconds = Math.round(waitedMs / 1000);
  return new HoldfastError(
    "store_unavailable",
    `SQLite: another connection has kept ${file} locked for ${seconds} s. Find the program that has a transaction open on it and end it: sqlite3, a backup, a migration, or this program itself, with a transaction of its own (inTransaction) that it has neither committed nor rolled back.`,
    { data: { file }, cause },
  );
}

/** A check has found damage in the file. */
export function damaged(file: string, found: string): HoldfastError {
  return new HoldfastError("store_refused", `SQLite: ${damageAdvice(file)}`, { data: { file, found } });
}

function damageAdvice(file: string): string {
  return `${file} is damaged. Stop every process that uses it, keep a copy with its -wal file, then restore a backup or run: sqlite3 "${file}" .recover`;
}

/** Turns a driver error into one that says what to do. Any other error is returned unchanged. */
export function storeError(error: unknown, place: ErrorPlace): unknown {
  const code = resultCode(error);
  if (code === undefined || isHoldfastError(error)) return error;
  const { file, moment } = place;
  const refused = moment === "open" ? "store_refused" : "store_unavailable";
  const make = (kind: "store_refused" | "store_unavailable" | "store_outcome_unknown", text: string): HoldfastError =>
    new HoldfastError(kind, `SQLite: ${text}`, { data: { file, errcode: code, ...lasting(code) }, cause: error });
  switch (code) {
    case SQLITE.cannotOpen:
      return make(...cannotOpen(file, refused));
    case SQLITE.readOnly:
    case SQLITE.perm:
    case SQLITE.auth:
      return make(
        refused,
        `this process may not write ${file}. Allow it to write the file and its folder: SQLite keeps two more files beside it (-wal and -shm).`,
      );
    case SQLITE.notADatabase:
      return make(refused, `${file} is not an SQLite database, or it is damaged or encrypted. Name another file.`);
    case SQLITE.corrupt:
      return make(refused, damageAdvice(file));
    case SQLITE.full:
      return make(
        "store_unavailable",
        `the disk of ${file} is full; nothing was written. Free some space: work then resumes without a restart.`,
      );
    case SQLITE.ioError:
      return make(
        moment === "commit" ? "store_outcome_unknown" : "store_unavailable",
        `reading or writing ${file} failed (${messageOf(error)}). Check the disk and the file system.`,
      );
    case SQLITE.tooBig:
    case SQLITE.constraint:
    case SQLITE.mismatch:
      return make("store_refused", `${file} cannot keep this data (${messageOf(error)}).`);
    case SQLITE.noMemory:
    case SQLITE.busy:
    case SQLITE.locked:
    case SQLITE.schemaChanged:
      return make("store_unavailable", `${file}: ${messageOf(error)}. Try again.`);
    default:
      return withoutMeaning(error, file);
  }
}

/** Marks errors that do not go away without a person, so that callers do not wait for that. */
function lasting(code: number): { readonly lasting?: true } {
  const { readOnly, perm, auth, notADatabase, corrupt } = SQLITE;
  return ([readOnly, perm, auth, notADatabase, corrupt] as number[]).includes(code) ? { lasting: true } : {};
}

function withoutMeaning(cause: unknown, file: string): HoldfastError {
  const text = messageOf(cause);
  if (/no such (?:table|column)|has no column/.test(text)) {
    const advice = "Another program changed Holdfast's tables. Restore the file, or use another one.";
    return new HoldfastError("store_refused", `SQLite: ${file}: ${text}. ${advice}`, { data: { file }, cause });
  }
  return new HoldfastError("invariant_broken", `SQLite: ${file}: ${text}`, { data: { file }, cause });
}

function cannotOpen(
  file: string,
  refused: "store_refused" | "store_unavailable",
): ["store_refused" | "store_unavailable", string] {
  const folder = path.dirname(file);
  if (kindOf(file) === "folder")
    return [refused, `${file} is a folder. Name a file in it, such as ${path.join(file, "holdfast.db")}.`];
  if (kindOf(folder) === "missing")
    return [
      "store_unavailable",
      `${file} cannot be created: the folder ${folder} does not exist. Create it, or correct the URL.`,
    ];
  if (kindOf(folder) === "other") return [refused, `${file} cannot be created: ${folder} is not a folder.`];
  return [refused, `${file} cannot be opened. Allow this process to read and write the file and its folder.`];
}

function kindOf(place: string): "folder" | "missing" | "other" {
  try {
    return statSync(place).isDirectory() ? "folder" : "other";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? "missing" : "other";
  }
}

function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const { errcode, code } = error as { errcode?: unknown; code?: unknown };
  if (typeof errcode === "number") return errcode & 0xff;
  return code === "ERR_SQLITE_ERROR" ? codeByText(error.message) : undefined;
}

/** Errors of `all` in @photostructure/sqlite carry no number. SQLite's texts do not change. */
function codeByText(message: string): number {
  return CODES_BY_TEXT.find(([text]) => message.includes(text))?.[1] ?? SQLITE.error;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
