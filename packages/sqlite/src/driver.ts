/**
 * The SQLite driver: `node:sqlite` where this Node has it, otherwise a package with the same interface. Nothing else in
 * this package knows which one it is; what they throw is translated in errors.ts.
 */
import { createRequire, isBuiltin } from "node:module";
import { loadQuietly } from "./quiet-load.ts";

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

/** No bytes, at an address: Node 22 stores an empty array whose memory is at none as null. */
const NO_BYTES = new Uint8Array(new ArrayBuffer(1), 0, 0);

/** A payload as a value, which stays one when it is empty. */
export function blob(payload: Uint8Array): Uint8Array {
  return payload.length === 0 ? NO_BYTES : payload;
}

interface Driver {
  readonly DatabaseSync: new (path: string) => Database;
}

const BUILT_IN = "node:sqlite";

export async function openDatabase(path: string): Promise<Database> {
  const { DatabaseSync } = (isBuiltin(BUILT_IN) ? builtIn() : await import("@photostructure/sqlite")) as Driver;
  return new DatabaseSync(path);
}

function builtIn(): unknown {
  return loadQuietly(() => createRequire(import.meta.url)(BUILT_IN));
}
