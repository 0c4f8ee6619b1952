// Which store holds the ledger: a fresh SQLite file, unless one is named.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { booksOnPostgres } from "./books-on-postgres.ts";
import { booksOnSqlite } from "./books-on-sqlite.ts";
import { workflowsOn } from "./ledger.ts";

export interface Place {
  readonly url: string;
  /** Without the password. */
  readonly name: string;
  leave(): void;
}

export function openPlace(url: string | undefined): Place {
  if (url !== undefined) return { url, name: url.replace(/\/\/[^/]*@/, "//…@"), leave() {} };
  const folder = mkdtempSync(path.join(tmpdir(), "holdfast-ledger-"));
  const fresh = `file:${path.join(folder, "ledger.db")}`;
  return { url: fresh, name: `${fresh}, a fresh file`, leave: () => rmSync(folder, { recursive: true, force: true }) };
}

export function workflowsFor(url: string) {
  return workflowsOn(url.startsWith("file:") ? booksOnSqlite : booksOnPostgres);
}
