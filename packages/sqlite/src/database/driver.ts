/**
 * The SQLite driver: `node:sqlite` where this Node has it, otherwise a package with the same interface. Nothing else in
 * this package knows which one is in use; errors.ts translates what they throw.
 */
import { isBuiltin } from "node:module";
import process from "node:process";
import { HoldfastError } from "holdfast/adapter";
import { loadQuietly } from "./quiet-load.ts";

/** An SQLite value, as a parameter or in a row. */
export type SqlValue = null | number | string | Uint8Array;

/** The columns of a row, in the order of the statement. */
export type Columns = readonly SqlValue[];

export interface Statement {
  /** Rows as arrays instead of objects. Node has it since 22.16. */
  setReturnArrays?(enabled: boolean): void;
  run(...values: SqlValue[]): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint };
  get(...values: SqlValue[]): unknown;
  all(...values: SqlValue[]): unknown[];
}

export interface Database {
  readonly isTransaction?: boolean;
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

/** Zero bytes of allocated memory: Node 22 stores an empty array without allocated memory as null. */
const NO_BYTES = new Uint8Array(new ArrayBuffer(1), 0, 0);

/** A payload as a parameter; an empty payload must not become null. */
export function blob(payload: Uint8Array): Uint8Array {
  return payload.length === 0 ? NO_BYTES : payload;
}

interface Driver {
  readonly DatabaseSync: new (path: string) => Database;
}

const BUILT_IN = "node:sqlite";
const BUILT_IN_SINCE = "22.13";
/** An optional dependency that is installed only where Node has no `node:sqlite`. */
const FALLBACK = "@holdfast/sqlite-node20";

export async function openDatabase(path: string): Promise<Database> {
  const driver = isBuiltin(BUILT_IN) ? builtIn() : await loadFallback();
  const { DatabaseSync } = driver as Driver;
  return new DatabaseSync(path);
}

function builtIn(): unknown {
  return loadQuietly(() => process.getBuiltinModule(BUILT_IN));
}

/** `load` stands for import(). Bundlers ignore a name that is not a literal: a bundle cannot hold a native driver. */
export async function loadFallback(load = (name: string): unknown => import(name)): Promise<unknown> {
  try {
    return await load(FALLBACK);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new HoldfastError(
      "adapter_not_installed",
      `SQLite: Node ${process.versions.node} has no ${BUILT_IN}, and the package ${FALLBACK}, which stands in for it, cannot be loaded: ${reason}. ` +
        `Use Node ${BUILT_IN_SINCE} or later, or run: npm install ${FALLBACK}`,
      { data: { packageName: FALLBACK }, cause },
    );
  }
}
