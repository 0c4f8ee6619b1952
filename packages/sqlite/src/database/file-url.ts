import path from "node:path";
import { fileURLToPath } from "node:url";
import { HoldfastError, hasCredentials } from "holdfast/adapter";

/**
 * The file that a URL names, as an absolute path: `file:app.db` and `sqlite:app.db` are relative to the working directory,
 * `file:/data/app.db` and `file:///data/app.db` are not.
 */
export function fileOf(url: string): string {
  const rest = url.replace(/^(?:file|sqlite):/i, "");
  if (rest === "" || rest === "//") throw fault("names no file");
  if (rest === ":memory:") throw fault("has no file; for a store in memory use memory:");
  if (hasCredentials(rest))
    throw fault(
      "seems to contain a user and a password, which a file does not have; if the @ is part of its name, write file:/// and %40 instead of it",
    );
  if (/[?#]/.test(rest))
    throw fault('has parameters ("?" or "#"), which are not supported; use the options of connect()');
  if (rest.includes("\0")) throw fault("contains a NUL character");
  if (!rest.startsWith("//")) return path.resolve(rest);
  try {
    return fileURLToPath(`file:${rest}`);
  } catch {
    // Node's error repeats the whole URL.
    throw fault("names a host, or is not encoded as a URL; use file:app.db or file:///data/app.db");
  }
}

/** The message must not show the URL: it may hold a password, if it was meant for another store. */
function fault(what: string): HoldfastError {
  const example = 'Write it like "file:app.db" or "file:/data/app.db".';
  return new HoldfastError("invalid_option", `connect: the URL of the SQLite file ${what}. ${example}`, {
    data: { option: "url" },
  });
}
