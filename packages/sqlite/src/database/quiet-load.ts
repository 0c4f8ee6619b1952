import process from "node:process";

/** Node 22 warns of this once per process, but users have chosen a store, not a driver. */
const SQLITE_IS_EXPERIMENTAL = "SQLite is an experimental feature";

/** Loads Node's driver without the warning that it is experimental. Every other warning is passed on. */
export function loadQuietly<T>(load: () => T): T {
  const { emitWarning } = process;
  const own = Object.getOwnPropertyDescriptor(process, "emitWarning");
  process.emitWarning = ((...values: Parameters<typeof emitWarning>) => {
    const [warning] = values;
    const text = typeof warning === "string" ? warning : warning.message;
    if (!text.startsWith(SQLITE_IS_EXPERIMENTAL)) Reflect.apply(emitWarning, process, values);
  }) as typeof emitWarning;
  try {
    // Synchronous, so no other warning can be emitted in between.
    return load();
  } finally {
    if (own) Object.defineProperty(process, "emitWarning", own);
    else Reflect.deleteProperty(process, "emitWarning");
  }
}
