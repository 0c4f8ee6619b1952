/** SQLite prepares the first statement of a text and ignores the rest, which would then silently not happen. */
import { HoldfastError } from "holdfast/adapter";

/** What has no statement in it: spaces, comments (SQLite lets the text end inside one) and semicolons. */
export const BLANK = /^(?:\s+|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|;)*/;
/** Where a statement may end: a semicolon outside of texts, names and comments. At a NUL, SQLite stops reading. */
const PIECES = /'[^']*'|"[^"]*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|[;\0]/g;
const SHOWN_LENGTH_MAX = 60;

/**
 * Throws if a text that SQLite has prepared goes on after its first statement. Triggers have semicolons inside: a part of one
 * cannot be prepared, so `prepares` tells whether the statement is complete at a semicolon.
 */
export function requireOneStatement(sql: string, prepares: (sql: string) => boolean): void {
  const start = BLANK.exec(sql)?.[0].length ?? 0;
  for (const { 0: piece, index } of sql.slice(start).matchAll(PIECES)) {
    if (piece !== ";" && piece !== "\0") continue;
    const end = start + index;
    const rest = sql.slice(end).replace(BLANK, "");
    if (rest === "") return;
    if (prepares(sql.slice(0, end))) throw tooMany(rest);
  }
}

function tooMany(rest: string): HoldfastError {
  const shown = JSON.stringify(rest.length > SHOWN_LENGTH_MAX ? `${rest.slice(0, SHOWN_LENGTH_MAX)}…` : rest);
  const message = `SQLite transaction: the text has more than one statement, and SQLite would ignore what follows the first: ${shown}. Use one call for each statement.`;
  return new HoldfastError("transaction_misused", message);
}
